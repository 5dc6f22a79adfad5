//! Errors of the MessagePack decoder.

use std::fmt::{self, Display};
use std::str::Utf8Error;

use super::MAX_DEPTH;

/// Why and where decoding failed. Boxed to one word, because every step of the decoder returns it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed(Box<(Reason, usize)>);

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// Nested [`MAX_DEPTH`] levels or deeper.
    Nested,
    /// The payload ends inside a value.
    Short,
    /// The payload continues after the value.
    Long,
    /// A container has more or fewer values than its type.
    Length,
    /// An unexpected or invalid marker.
    Marker(u8),
    /// A string is not valid UTF-8.
    Utf8(Utf8Error),
    /// An error of the type's `Deserialize`.
    Custom(String),
}

impl Malformed {
    #[cold]
    pub(super) fn new(reason: Reason, at: usize) -> Self {
        Self(Box::new((reason, at)))
    }

    #[cfg(test)]
    pub(super) fn reason(&self) -> &Reason {
        &self.0.0
    }
}

impl Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (reason, at) = &*self.0;
        match reason {
            Reason::Nested => write!(f, "it is nested {MAX_DEPTH} levels deep, or deeper"),
            Reason::Short => write!(f, "it ends inside of a value, at byte {at}"),
            Reason::Long => write!(f, "the value ends at byte {at}, and more follows"),
            Reason::Length => {
                write!(f, "the value before byte {at} does not have the length that its type has")
            }
            Reason::Marker(0xc1) => write!(f, "byte {} is not a marker of MessagePack", at.saturating_sub(1)),
            Reason::Marker(marker) => {
                write!(
                    f,
                    "the marker {marker:#04x} before byte {at} does not belong to the type that is read"
                )
            }
            Reason::Utf8(error) => write!(f, "the text before byte {at} is not UTF-8: {error}"),
            Reason::Custom(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Malformed {}

impl serde::de::Error for Malformed {
    #[cold]
    fn custom<T: Display>(text: T) -> Self {
        Self::new(Reason::Custom(text.to_string()), 0)
    }
}
