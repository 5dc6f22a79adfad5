use std::error::Error;
use std::fmt;

use super::{ActorPath, AuthorityError, SegmentError, SegmentReason, UriError};

/// Why a text is not a valid actor path.
///
/// `index` counts the segments from 0, which is the guardian.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ActorPathError {
    /// It is not a valid URI.
    InvalidUri(UriError),
    /// The scheme is neither `pekko` nor `pekko.tcp`.
    InvalidScheme,
    /// The name or address of the system is missing or malformed.
    UnsupportedAuthority(AuthorityError),
    /// A segment is invalid.
    InvalidSegment {
        /// Which segment.
        index: usize,
        /// Why it is invalid.
        error: SegmentError,
    },
    /// The escapes of a segment decode to something invalid.
    PercentDecode {
        /// Which segment.
        index: usize,
        /// Why it is invalid.
        error: SegmentError,
    },
    /// A `..` leads above the guardian.
    RelativeEscape {
        /// Which step of the relative path.
        index: usize,
    },
    /// The path, or its text, is longer than [`ActorPath::LONGEST`].
    TooLong {
        /// Its length in bytes.
        length: usize,
    },
}

impl ActorPathError {
    /// The error of an invalid segment.
    pub(super) fn segment(index: usize, error: SegmentError) -> Self {
        match error.reason() {
            SegmentReason::Control | SegmentReason::NonAscii | SegmentReason::Traversal => {
                Self::PercentDecode { index, error }
            }
            _ => Self::InvalidSegment { index, error },
        }
    }

    /// Checks the length of a text before it is parsed.
    pub(super) fn check_length(length: usize) -> Result<(), Self> {
        if length > ActorPath::LONGEST { Err(Self::TooLong { length }) } else { Ok(()) }
    }
}

impl fmt::Display for ActorPathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidUri(error) => write!(f, "the actor path is not a URI: {error}"),
            Self::InvalidScheme => {
                f.write_str("the scheme of the actor path is neither `pekko` nor `pekko.tcp`")
            }
            Self::UnsupportedAuthority(error) => write!(f, "the actor path names no system: {error}"),
            Self::InvalidSegment { index, error } | Self::PercentDecode { index, error } => {
                write!(f, "segment {index} of the actor path is not valid: {error}")
            }
            Self::RelativeEscape { index } => {
                write!(f, "the `..` in step {index} of the relative path leads above the guardian")
            }
            Self::TooLong { length } => {
                write!(f, "the actor path has {length} bytes, more than {}", ActorPath::LONGEST)
            }
        }
    }
}

impl Error for ActorPathError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::InvalidUri(error) => Some(error),
            Self::UnsupportedAuthority(error) => Some(error),
            Self::InvalidSegment { error, .. } | Self::PercentDecode { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl From<UriError> for ActorPathError {
    fn from(error: UriError) -> Self {
        Self::InvalidUri(error)
    }
}

impl From<AuthorityError> for ActorPathError {
    fn from(error: AuthorityError) -> Self {
        Self::UnsupportedAuthority(error)
    }
}
