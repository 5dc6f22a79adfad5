//! The paths of virtual actors: `/system/virtual/<type>/<key>`.

use std::borrow::Cow;

use super::canonical::assemble;
use super::escape::{escape_any, unescape_any};
use super::{ActorPath, ActorPathError, ActorPathParts, Guardian, SegmentError, SegmentReason};

/// Below the guardian of the system's own actors.
const VIRTUAL: &str = "virtual";

impl ActorPath {
    /// The path of the virtual actor with this type and key: `/system/virtual/<type>/<key>`.
    ///
    /// Both are any text but the empty one. They are escaped into ASCII like the [names](super::PathSegment::escape) of other
    /// actors; beyond that, a leading `$` becomes `~24`, and `.` and `..` are escaped, too. So each pair has one path, and
    /// [`virtual_actor`](Self::virtual_actor) gives it back.
    ///
    /// ```
    /// use dactor_core::path::{ActorPath, ActorPathParts};
    ///
    /// let bank = ActorPathParts::new("bank").unwrap();
    /// let path = ActorPath::of_virtual_actor(&bank, "Account", "Zo\u{eb}/savings").unwrap();
    /// assert_eq!(path.to_string(), "pekko://bank/system/virtual/Account/Zo~C3~AB~2Fsavings");
    ///
    /// let read: ActorPath = path.to_string().parse().unwrap();
    /// let (actor_type, key) = read.virtual_actor().unwrap();
    /// assert_eq!((&*actor_type, &*key), ("Account", "Zo\u{eb}/savings"));
    /// ```
    ///
    /// # Errors
    ///
    /// [`InvalidSegment`](ActorPathError::InvalidSegment) for an empty type or key, and
    /// [`TooLong`](ActorPathError::TooLong).
    pub fn of_virtual_actor(
        parts: &ActorPathParts,
        actor_type: &str,
        key: &str,
    ) -> Result<Self, ActorPathError> {
        for (index, text) in [(2, actor_type), (3, key)] {
            if text.is_empty() {
                return Err(ActorPathError::segment(index, SegmentError::new(SegmentReason::Empty, 0)));
            }
            // Before it is escaped, which takes up to three times as much memory.
            ActorPathError::check_length(text.len())?;
        }
        let names = [Guardian::System.as_str(), VIRTUAL, &escape_any(actor_type), &escape_any(key)];
        assemble(parts.address(), &names, None)
    }

    /// The type and the key of the virtual actor whose path this is. `None` for the path of another actor.
    pub fn virtual_actor(&self) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
        let mut names = self.names();
        let is_virtual = names.len() == 4
            && names.next() == Some(Guardian::System.as_str())
            && names.next() == Some(VIRTUAL);
        if !is_virtual {
            return None;
        }
        Some((unescape_any(names.next()?)?, unescape_any(names.next()?)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(actor_type: &str, key: &str) -> Result<ActorPath, ActorPathError> {
        ActorPath::of_virtual_actor(&ActorPathParts::new("bank").unwrap(), actor_type, key)
    }

    #[test]
    fn awkward_keys() {
        for (key, segment) in [
            ("alice", "alice"),
            (".", "~2E"),
            ("..", "~2E~2E"),
            ("...", "..."),
            ("$", "~24"),
            ("$17", "~2417"),
            ("a$", "a$"),
            ("~24", "%7E24"),
            ("/", "~2F"),
            ("#7", "%237"),
            ("\u{4e2d}", "~E4~B8~AD"),
            ("\0", "~00"),
        ] {
            let made = path("Account", key).unwrap();
            assert_eq!(made.without_address(), format!("/system/virtual/Account/{segment}"));
            let read: ActorPath = made.to_string().parse().unwrap();
            assert_eq!(read, made);
            assert_eq!(read.virtual_actor(), Some(("Account".into(), key.into())));
        }
    }

    #[test]
    fn other_paths_are_of_no_virtual_actor() {
        for other in ["user/virtual/a/b", "system/virtual/a", "system/virtual/a/b/c", "system/other/a/b"] {
            let path: ActorPath = format!("pekko://bank/{other}").parse().unwrap();
            assert_eq!(path.virtual_actor(), None, "{other}");
        }
        for misspelt in ["~61", "%41", "~2e", "~FF"] {
            let path: ActorPath = format!("pekko://bank/system/virtual/a/{misspelt}").parse().unwrap();
            assert_eq!(path.virtual_actor(), None, "{misspelt}");
        }
    }

    #[test]
    fn refusals() {
        for (actor_type, key, at) in [("", "a", 2), ("A", "", 3)] {
            let error = path(actor_type, key).unwrap_err();
            assert!(matches!(error, ActorPathError::InvalidSegment { index, .. } if index == at), "{error}");
        }
        for long in ["x".repeat(ActorPath::LONGEST), "\n".repeat(ActorPath::LONGEST / 2), "x".repeat(1 << 24)]
        {
            assert!(matches!(path("A", &long), Err(ActorPathError::TooLong { .. })));
        }
    }
}
