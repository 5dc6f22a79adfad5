use std::fmt;

use super::SelectionElement;
use crate::path::{ActorPathError, ActorUid};

/// The steps of a selection, relative to its anchor.
///
/// ```
/// use dactor_core::path::SelectionPath;
///
/// let path = SelectionPath::compile("../worker-?/*").unwrap();
/// assert_eq!(path.elements().len(), 3);
/// assert_eq!(path.to_string(), "/../worker-?/*");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SelectionPath(Vec<SelectionElement>);

impl SelectionPath {
    /// Parses steps separated by `/`. Empty steps are skipped.
    ///
    /// Here `?` is a wildcard; in the text of an [`ActorSelection`](super::ActorSelection), which is a URI,
    /// it begins a query.
    pub fn compile(path: &str) -> Result<Self, ActorPathError> {
        ActorPathError::check_length(path.len())?;
        path.split('/')
            .filter(|step| !step.is_empty())
            .enumerate()
            .map(|(index, step)| {
                SelectionElement::read(step).map_err(|error| ActorPathError::segment(index, error))
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The steps.
    pub fn elements(&self) -> &[SelectionElement] {
        &self.0
    }

    /// Checks that no `..` leads above the guardian, starting at this depth.
    pub(super) fn check_confined(&self, depth: usize) -> Result<(), ActorPathError> {
        let mut depth = depth;
        for (index, element) in self.0.iter().enumerate() {
            match element {
                SelectionElement::Parent if depth <= 1 => {
                    return Err(ActorPathError::RelativeEscape { index });
                }
                SelectionElement::Parent => depth -= 1,
                stay if stay.stays() => {}
                _ => depth += 1,
            }
        }
        Ok(())
    }

    /// Adds a UID to the last step, if that is a name.
    pub(super) fn set_uid(&mut self, incarnation: ActorUid) -> bool {
        match self.0.last_mut() {
            Some(SelectionElement::Child { name, uid }) if &**name != "." => {
                *uid = Some(incarnation);
                true
            }
            _ => false,
        }
    }
}

impl fmt::Display for SelectionPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("/");
        }
        self.0.iter().try_for_each(|element| write!(f, "/{element}"))
    }
}
