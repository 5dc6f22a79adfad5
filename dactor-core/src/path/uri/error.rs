use std::error::Error;
use std::fmt;

/// How a text violates the grammar of RFC 2396, and at which byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UriError {
    /// The scheme is missing, or is not `alpha *( alpha | digit | "+" | "-" | "." )`.
    InvalidScheme {
        /// The first byte that does not belong.
        position: usize,
    },
    /// The authority is empty where it may not be, or neither a server nor a registry name.
    InvalidAuthority {
        /// The first byte that does not belong.
        position: usize,
    },
    /// The path is missing, or has an invalid character.
    InvalidPath {
        /// The first byte that does not belong.
        position: usize,
    },
    /// The query has an invalid character.
    InvalidQuery {
        /// The first byte that does not belong.
        position: usize,
    },
    /// The fragment has an invalid character.
    InvalidFragment {
        /// The first byte that does not belong.
        position: usize,
    },
    /// A `%` is not followed by two hexadecimal digits.
    InvalidPercentEncoding {
        /// Where the `%` is.
        position: usize,
    },
}

impl UriError {
    /// The byte position of the error.
    pub fn position(&self) -> usize {
        match *self {
            Self::InvalidScheme { position }
            | Self::InvalidAuthority { position }
            | Self::InvalidPath { position }
            | Self::InvalidQuery { position }
            | Self::InvalidFragment { position }
            | Self::InvalidPercentEncoding { position } => position,
        }
    }
}

impl fmt::Display for UriError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Self::InvalidScheme { .. } => "the scheme is missing or malformed",
            Self::InvalidAuthority { .. } => "the authority is missing or malformed",
            Self::InvalidPath { .. } => "the path is missing or malformed",
            Self::InvalidQuery { .. } => "the query is malformed",
            Self::InvalidFragment { .. } => "the fragment is malformed",
            Self::InvalidPercentEncoding { .. } => "a `%` is not followed by two hexadecimal digits",
        };
        write!(f, "{what}, at byte {}", self.position())
    }
}

impl Error for UriError {}
