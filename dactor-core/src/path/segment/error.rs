use std::error::Error;
use std::fmt;

use crate::path::ActorPath;

/// Why a name cannot be in an actor path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SegmentReason {
    /// It is empty.
    Empty,
    /// It is longer than any path may be.
    TooLong,
    /// It begins with `$`, which is for names that the system makes up.
    Reserved,
    /// It has a character that no name may have.
    IllegalCharacter,
    /// A `%` is not followed by two hexadecimal digits.
    BadEscape,
    /// An escape stands for a control character.
    Control,
    /// An escape stands for a byte beyond ASCII.
    NonAscii,
    /// Without its escapes it would lead to a parent: `..%2F..`, `%2E%2E`.
    Traversal,
    /// What follows `#` is not the decimal number of an incarnation, or what comes before it is not one name.
    Uid,
}

/// A name that cannot be in an actor path: why, and at which byte of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SegmentError {
    reason: SegmentReason,
    position: usize,
}

impl SegmentError {
    pub(in crate::path) fn new(reason: SegmentReason, position: usize) -> Self {
        Self { reason, position }
    }

    /// What is wrong with it.
    pub fn reason(&self) -> SegmentReason {
        self.reason
    }

    /// The byte of the name at which it goes wrong.
    pub fn position(&self) -> usize {
        self.position
    }
}

impl fmt::Display for SegmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.position;
        match self.reason {
            SegmentReason::Empty => f.write_str("it is empty"),
            SegmentReason::TooLong => write!(f, "it has more than {} bytes", ActorPath::LONGEST),
            SegmentReason::Reserved => f.write_str("a leading `$` is for names that the system makes up"),
            SegmentReason::IllegalCharacter => write!(f, "the character at byte {at} is not allowed"),
            SegmentReason::BadEscape => {
                write!(f, "the `%` at byte {at} is not followed by two hexadecimal digits")
            }
            SegmentReason::Control => write!(f, "the escape at byte {at} stands for a control character"),
            SegmentReason::NonAscii => write!(f, "the escape at byte {at} stands for a byte beyond ASCII"),
            SegmentReason::Traversal => write!(f, "the escape at byte {at} hides a `..`"),
            SegmentReason::Uid => {
                write!(f, "the UID at byte {at} is not a number, or no name comes before it")
            }
        }
    }
}

impl Error for SegmentError {}
