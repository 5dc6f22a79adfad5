//! The path of a live actor.
//!
//! Only the length of a path is stored: it is built from the names of the actor and its ancestors on demand,
//! so an actor costs no memory for an unused path.

use smallvec::SmallVec;

use crate::base::text::shown;
use crate::base::uid::uid_of;
use crate::kernel::actor_core::{ActorMeta, DynActor};
use crate::path::ActorPath;
use crate::path::canonical::{Name, of_actor};
use crate::{Error, ErrorKind, Pid, Result};

/// Longest path of a live actor, in bytes: it must parse back with any UID appended.
const LONGEST: usize = ActorPath::LONGEST - "#18446744073709551615".len();

impl ActorMeta {
    /// The actor's path, with its UID.
    pub(crate) fn path(&self) -> ActorPath {
        if let Some(place) = self.far() {
            return place.path().clone();
        }
        let mut lineage: SmallVec<[&Self; 8]> = SmallVec::new();
        let mut next = Some(self);
        while let Some(meta) = next {
            lineage.push(meta);
            next = meta.parent().map(|parent| &**parent).map(DynActor::meta);
        }
        let names = lineage.iter().rev().map(|meta| name_of(meta.name().map(|name| &**name), meta.pid()));
        let length = self.path_length();
        of_actor(self.system().parts(), self.guardian(), names, length, uid_of(self.pid()))
    }
}

fn name_of(chosen: Option<&str>, pid: Pid) -> Name<'_> {
    chosen.map_or(Name::Generated(pid.get()), Name::Chosen)
}

/// Validates a name for an actor. Any text is allowed, because it is escaped in paths, except the few with a
/// special meaning there.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let why = match name {
        "" => "it is empty",
        "." | ".." => "it is a step of a relative path",
        _ if name.starts_with('$') => "names with a leading `$` are reserved for the system",
        _ => return Ok(()),
    };
    Err(invalid_name(name, why))
}

/// The length of a new actor's path, or an error if it is too long.
pub(crate) fn path_length(above: usize, name: Option<&str>, pid: Pid, system: &str) -> Result<u16> {
    let length = above + "/".len() + name_of(name, pid).length();
    match u16::try_from(length) {
        Ok(fits) if length <= LONGEST => Ok(fits),
        _ => {
            let why = format!("its path would have {length} bytes, more than {LONGEST}");
            Err(invalid_name(name.unwrap_or_default(), why).with("system", system))
        }
    }
}

fn invalid_name(name: &str, why: impl ToString) -> Error {
    Error::new(ErrorKind::InvalidName).with("name", shown(name)).with("because", why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for good in ["a", "x.y_z", "a$b", "...", "%20", "a/b", "a b", "é", "a\n", "*", "%2E%2E", "../a"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", "$a", "$17", ".", ".."] {
            let error = check_name(bad).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidName, "{bad}");
            assert!(error.get("because").is_some() && error.to_string().len() < 300);
            assert!(!error.to_string().contains('\n'));
        }
    }

    #[test]
    fn a_path_leaves_room_for_any_uid() {
        let (system, longest) = (
            crate::system::test_actors::system(),
            ActorPath::LONGEST - "#".len() - u64::MAX.to_string().len(),
        );
        let length = |above| path_length(above, Some("a"), Pid::next(), system.name());
        assert_eq!(length(longest - 2).unwrap(), longest as u16);
        assert_eq!(length(longest - 1).unwrap_err().kind(), ErrorKind::InvalidName);
    }
}
