//! Derives paths from others: children, parents, relative paths, other addresses.

use super::canonical::{self, Names};
use super::generated::GeneratedName;
use super::{
    ActorPath, ActorPathError, ActorPathParts, ActorUid, Guardian, PathSegment, SegmentError, SegmentReason,
};

impl ActorPath {
    /// The path of a child, without a UID.
    ///
    /// Only guardians are below the root: any other name there is a child of the user guardian.
    pub fn child(&self, name: PathSegment<'_>) -> Result<Self, ActorPathError> {
        if self.is_root() {
            return canonical::assemble(self.address(), &[name.as_str()], None);
        }
        let length = self.text.len() + 1 + name.as_str().len();
        ActorPathError::check_length(length)?;
        let mut text = String::with_capacity(length);
        text.push_str(&self.text);
        text.push('/');
        text.push_str(name.as_str());
        let mut ends = self.ends.clone();
        ends.push(canonical::end_of(&text));
        Ok(Self { text: text.into_boxed_str(), layout: self.layout, ends, uid: None })
    }

    /// The path of a child with an untrusted name, optionally with a UID: `name` or `name#7`.
    ///
    /// Below `/system` and `/temp` the name may begin with `$`, elsewhere only if it is a generated name:
    /// `$17`.
    ///
    /// ```
    /// use dactor_core::path::ActorPath;
    ///
    /// let user: ActorPath = "pekko://app/user".parse().unwrap();
    /// assert_eq!(user.join("bank#7").unwrap().uid().unwrap().get(), 7);
    /// assert!(user.join("$a").is_err());
    /// assert!(user.join("a/b").is_err());
    /// ```
    pub fn join(&self, name: &str) -> Result<Self, ActorPathError> {
        let index = self.ends.len();
        ActorPathError::check_length(name.len())?;
        let (name, uid) = split_uid(name).map_err(|error| ActorPathError::segment(index, error))?;
        let name =
            check_name(self.guardian(), name).map_err(|error| ActorPathError::segment(index, error))?;
        let child = self.child(name)?;
        Ok(Self { uid, ..child })
    }

    /// The parent's path; the root for a guardian, `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        let mut names: Names<'_> = self.names().collect();
        names.pop()?;
        canonical::assemble(self.address(), &names, None).ok()
    }

    /// Resolves a relative path, which may be untrusted input.
    ///
    /// `.` stays, `..` goes to the parent but never above the guardian, a name goes to a child, and empty
    /// names are skipped. A path with a leading `/` starts at the root. Escapes are not decoded: `..%2F..` is
    /// refused, not followed.
    ///
    /// ```
    /// use dactor_core::path::{ActorPath, ActorPathError};
    ///
    /// let worker: ActorPath = "pekko://app/user/pool/worker".parse().unwrap();
    /// assert_eq!(worker.resolve("../../audit").unwrap().without_address(), "/user/audit");
    /// assert_eq!(worker.resolve("/system/log").unwrap().without_address(), "/system/log");
    /// assert_eq!(worker.resolve("../../.."), Err(ActorPathError::RelativeEscape { index: 2 }));
    /// ```
    pub fn resolve(&self, relative: &str) -> Result<Self, ActorPathError> {
        ActorPathError::check_length(relative.len())?;
        let mut names: Names<'_> =
            if relative.starts_with('/') { Names::new() } else { self.names().collect() };
        let mut uid = None;
        let mut moved = relative.starts_with('/');
        for (index, step) in relative.split('/').filter(|step| !step.is_empty()).enumerate() {
            if step == "." {
                continue;
            }
            moved = true;
            uid = None;
            if step == ".." {
                if names.len() <= 1 {
                    return Err(ActorPathError::RelativeEscape { index });
                }
                names.pop();
                continue;
            }
            let guardian = names.first().and_then(|first| Guardian::named(first));
            let (name, incarnation) =
                split_uid(step).map_err(|error| ActorPathError::segment(index, error))?;
            check_name(guardian, name).map_err(|error| ActorPathError::segment(index, error))?;
            names.push(name);
            uid = incarnation;
        }
        if moved { canonical::assemble(self.address(), &names, uid) } else { Ok(self.clone()) }
    }

    /// The same path with this address, unless it already has one.
    pub fn with_address(&self, parts: &ActorPathParts) -> Result<Self, ActorPathError> {
        if self.host().is_some() {
            return Ok(self.clone());
        }
        let names: Names<'_> = self.names().collect();
        canonical::assemble(parts.address(), &names, self.uid)
    }
}

impl ActorPath {
    /// The same names and UID in another system.
    pub fn in_system(&self, parts: &ActorPathParts) -> Result<Self, ActorPathError> {
        let names: Names<'_> = self.names().collect();
        canonical::assemble(parts.address(), &names, self.uid)
    }
}

/// Validates an untrusted name below this guardian.
pub(super) fn check_name(guardian: Option<Guardian>, name: &str) -> Result<PathSegment<'_>, SegmentError> {
    let is_generated =
        |guardian: Guardian| guardian.has_generated_names() || GeneratedName::number_in(name).is_some();
    if guardian.is_some_and(is_generated) { PathSegment::generated(name) } else { PathSegment::new(name) }
}

/// Splits `name#7`.
pub(super) fn split_uid(name: &str) -> Result<(&str, Option<ActorUid>), SegmentError> {
    match name.split_once('#') {
        None => Ok((name, None)),
        Some((name, digits)) => match ActorUid::read(digits) {
            Some(uid) => Ok((name, Some(uid))),
            None => Err(SegmentError::new(SegmentReason::Uid, name.len() + 1)),
        },
    }
}
