use std::error::Error;
use std::fmt;

use super::ActorId;

/// A part of an [`ActorId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ActorIdField {
    /// The text before `::`.
    Namespace,
    /// The text between `::` and `/`.
    ActorType,
    /// The text after `/`.
    Key,
}

impl fmt::Display for ActorIdField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Namespace => "namespace",
            Self::ActorType => "actor_type",
            Self::Key => "key",
        })
    }
}

/// Why a text is not a valid [`ActorId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ActorIdError {
    /// The text is not `namespace::actor_type/key`.
    InvalidFormat,
    /// A field is empty.
    EmptyField(ActorIdField),
    /// A field contains `::` or `/`, or has a `:` next to the `::`.
    ReservedDelimiter(ActorIdField),
    /// It is longer than [`ActorId::LONGEST`].
    TooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// The path is not that of a virtual actor.
    NotVirtual,
}

impl fmt::Display for ActorIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidFormat => f.write_str("an actor id reads `namespace::actor_type/key`"),
            Self::EmptyField(field) => write!(f, "the {field} of the actor id is empty"),
            Self::ReservedDelimiter(field) => {
                write!(f, "the {field} of the actor id contains a delimiter, `::` or `/`")
            }
            Self::TooLong { length } => {
                write!(f, "the actor id has {length} bytes, more than {}", ActorId::LONGEST)
            }
            Self::NotVirtual => f.write_str("the path is not `/system/virtual/<type>/<key>`"),
        }
    }
}

impl Error for ActorIdError {}

/// What makes a valid [`ActorId`] awkward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ActorIdWarning {
    /// It is longer than [`ActorId::LONG`].
    Long {
        /// Its length in bytes.
        length: usize,
    },
    /// A field has characters other than ASCII letters, digits, `-` and `_`.
    UnusualCharacter {
        /// Which field.
        field: ActorIdField,
        /// The position of the first such byte.
        position: usize,
    },
}

impl fmt::Display for ActorIdWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Long { length } => {
                write!(f, "the actor id has {length} bytes, more than {} is awkward", ActorId::LONG)
            }
            Self::UnusualCharacter { field, position } => {
                write!(f, "the {field} of the actor id has an unusual character at byte {position}")
            }
        }
    }
}
