use std::fmt;

use super::SegmentPattern;
use crate::path::navigate::split_uid;
use crate::path::{ActorUid, PathSegment, SegmentError, SegmentReason};

/// One step of a selection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SelectionElement {
    /// `..`, to the parent.
    Parent,
    /// A name, to that child, and with a UID only to that incarnation. The name `.` stays.
    Child {
        /// The child's name as written.
        name: Box<str>,
        /// The UID of one incarnation, if given.
        uid: Option<ActorUid>,
    },
    /// A name with `*` or `?`, to all children whose names match.
    Pattern(SegmentPattern),
}

impl SelectionElement {
    /// Parses one step. Names with a leading `$` can be selected: no actor is created from them.
    pub(super) fn read(text: &str) -> Result<Self, SegmentError> {
        if text == ".." {
            return Ok(Self::Parent);
        }
        if text.contains(['*', '?']) {
            return SegmentPattern::new(text).map(Self::Pattern);
        }
        let (name, uid) = split_uid(text)?;
        if (name == "." || name == "..") && uid.is_some() {
            return Err(SegmentError::new(SegmentReason::Uid, name.len()));
        }
        let name = PathSegment::generated(name)?.as_str().into();
        Ok(Self::Child { name, uid })
    }

    /// Whether it stays where it is.
    pub(super) fn stays(&self) -> bool {
        matches!(self, Self::Child { name, .. } if &**name == ".")
    }
}

impl fmt::Display for SelectionElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parent => f.write_str(".."),
            Self::Child { name, uid: None } => f.write_str(name),
            Self::Child { name, uid: Some(uid) } => write!(f, "{name}#{uid}"),
            Self::Pattern(pattern) => fmt::Display::fmt(pattern, f),
        }
    }
}
