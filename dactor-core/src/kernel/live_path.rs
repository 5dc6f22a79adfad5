//! Where an actor is in the tree of its system.
//!
//! Nothing of a path is kept but its length: the names of the actor and of its ancestors are put together when somebody
//! asks, so an actor costs no memory for a path that nobody looks at.

use smallvec::SmallVec;

use crate::base::text::shown;
use crate::base::uid::uid_of;
use crate::kernel::actor_core::{ActorMeta, DynActor};
use crate::path::ActorPath;
use crate::path::canonical::{Name, of_actor};
use crate::{Error, ErrorKind, Pid, Result};

/// Longest path of a live actor, in bytes: one that parses back with any UID behind it.
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

/// Checks a name that was chosen for an actor. Any text can be one, because it is escaped in paths, but for the few that
/// mean something else there.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let why = match name {
        "" => "it is empty",
        "." | ".." => "it means a step in a relative path",
        _ if name.starts_with('$') => "names with a leading `$` are the system's own",
        _ => return Ok(()),
    };
    Err(invalid_name(name, why))
}

/// How long the path of a new actor is, unless it is too long.
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
