//! Where an actor is in the tree of its system.
//!
//! Nothing of a path is kept but its length: the names of the actor and of its ancestors are put together when somebody
//! asks, so an actor costs no memory for a path that nobody looks at.

use smallvec::SmallVec;

use crate::path::canonical::{Name, of_actor};
use crate::path::{ActorPath, ActorUid};
use crate::shared::{Control, Head};
use crate::{Error, ErrorKind, Pid, Result, System};

/// Longest path of a live actor, in bytes: one that parses back with any UID behind it.
const LONGEST: usize = ActorPath::LONGEST - "#18446744073709551615".len();

/// How much of a refused text an error shows.
const SHOWN: usize = 64;

impl Head {
    /// The actor's path, with the actor's number as its UID: numbers are never reused.
    pub(crate) fn path(&self) -> ActorPath {
        let mut lineage: SmallVec<[&Self; 8]> = SmallVec::new();
        let mut next = Some(self);
        while let Some(head) = next {
            lineage.push(head);
            next = head.parent.as_deref().map(Control::head);
        }
        let names = lineage.iter().rev().map(|head| name_of(head.name.as_deref(), head.pid));
        let length = usize::from(self.path_length);
        of_actor(self.system.parts(), self.guardian, names, length, ActorUid::new(self.pid.get()))
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
pub(crate) fn path_length(above: usize, name: Option<&str>, pid: Pid, system: &System) -> Result<u16> {
    let length = above + "/".len() + name_of(name, pid).length();
    match u16::try_from(length) {
        Ok(fits) if length <= LONGEST => Ok(fits),
        _ => {
            let why = format!("its path would have {length} bytes, more than {LONGEST}");
            Err(invalid_name(name.unwrap_or_default(), why).with("system", system.name()))
        }
    }
}

fn invalid_name(name: &str, why: impl ToString) -> Error {
    Error::new(ErrorKind::InvalidName).with("name", shown(name)).with("because", why.to_string())
}

/// A text from outside, as an error may show it: quoted, without control characters, and not all of a long one.
pub(crate) fn shown(text: &str) -> String {
    let mut characters = text.chars();
    let begin: String = characters.by_ref().take(SHOWN).collect();
    if characters.next().is_some() { format!("{begin:?}…") } else { format!("{begin:?}") }
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
        let (system, longest) =
            (crate::puppet::system(), ActorPath::LONGEST - "#".len() - u64::MAX.to_string().len());
        let length = |above| path_length(above, Some("a"), Pid::next(), &system);
        assert_eq!(length(longest - 2).unwrap(), longest as u16);
        assert_eq!(length(longest - 1).unwrap_err().kind(), ErrorKind::InvalidName);
    }

    #[test]
    fn a_text_from_outside_is_shown_with_care() {
        assert_eq!(shown("a\nb"), r#""a\nb""#);
        let long = "x".repeat(SHOWN);
        assert_eq!(shown(&long), format!("\"{long}\""));
        assert_eq!(shown(&format!("{long}y")), format!("\"{long}\"…"));
    }
}
