use std::error::Error;
use std::fmt;

use crate::path::ActorPath;

/// Why a name is not valid in an actor path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SegmentReason {
    /// It is empty.
    Empty,
    /// It is longer than the longest path.
    TooLong,
    /// It begins with `$`, which is reserved for generated names.
    Reserved,
    /// It has an invalid character.
    IllegalCharacter,
    /// A `%` is not followed by two hexadecimal digits.
    BadEscape,
    /// An escape decodes to a control character.
    Control,
    /// An escape decodes to a non-ASCII byte.
    NonAscii,
    /// Decoded, it would lead to a parent: `..%2F..`, `%2E%2E`.
    Traversal,
    /// The text after `#` is not a decimal UID, or the text before it is not a single name.
    Uid,
}

/// An invalid name: why, and at which byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SegmentError {
    reason: SegmentReason,
    position: usize,
}

impl SegmentError {
    pub(in crate::path) fn new(reason: SegmentReason, position: usize) -> Self {
        Self { reason, position }
    }

    /// The reason.
    pub fn reason(&self) -> SegmentReason {
        self.reason
    }

    /// The byte position of the error.
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
