use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use dactor_core::{Error, ErrorKind, Failure};
use dactor_engine::{EntityId, NodeId, StorageError};

/// Why a virtual actor was not activated or cannot serve.
///
/// A caller gets it from its [`Error`] by [`downcast_ref`](Error::downcast_ref).
#[derive(Debug)]
#[non_exhaustive]
pub enum ClusterError {
    /// Another node owns the actor, for example another process with the same database.
    OwnedElsewhere {
        /// The owner.
        node: NodeId,
        /// When to retry: when the lease of the owner expires, unless it is renewed.
        retry_after: Duration,
    },
    /// The placement strategy of the type allows no member of the cluster.
    NoCandidate,
    /// The node has lost its lease, and does not serve until it has rejoined.
    LeaseLost {
        /// The node, in the incarnation that has lost its lease.
        node: NodeId,
    },
    /// The activation has lost its ownership, or the outcome of a save is unknown. The next message reloads
    /// the state.
    ActivationLost,
    /// The cluster or its system is being shut down.
    ShuttingDown,
    /// The storage engine failed.
    Storage(StorageError),
    /// The stored state is not usable. It is not overwritten.
    State(StateError),
    /// [`activate`](crate::VirtualActor::activate) returned an error or panicked.
    Activate(Failure),
    /// The activation exceeded the timeout of its type.
    TooSlow(Duration),
    /// The actor repeatedly ended before handling a message.
    EndsAtOnce,
}

impl fmt::Display for ClusterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OwnedElsewhere { node, retry_after } => {
                write!(f, "the actor is owned by the node {node}; retry after {retry_after:?}")
            }
            Self::NoCandidate => f.write_str("no member of the cluster may run the actor"),
            Self::LeaseLost { node } => write!(f, "the node {node} has lost its lease"),
            Self::ActivationLost => f.write_str("the activation has lost its ownership"),
            Self::ShuttingDown => f.write_str("the cluster is being shut down"),
            Self::Storage(error) => write!(f, "the storage failed: {error}"),
            Self::State(error) => write!(f, "the stored state cannot be used: {error}"),
            Self::Activate(failure) => write!(f, "activate failed: {failure}"),
            Self::TooSlow(limit) => write!(f, "the activation took longer than {limit:?}"),
            Self::EndsAtOnce => f.write_str("the actor ends before it handles a message"),
        }
    }
}

impl StdError for ClusterError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Storage(error) => Some(error),
            Self::State(error) => Some(error),
            Self::Activate(failure) => Some(failure.source()),
            _ => None,
        }
    }
}

impl From<StorageError> for ClusterError {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

impl From<StateError> for ClusterError {
    fn from(error: StateError) -> Self {
        Self::State(error)
    }
}

impl ClusterError {
    /// The error of a message that was not handled.
    pub(crate) fn unhandled(self, id: &EntityId) -> Error {
        let kind = match self {
            Self::LeaseLost { .. } | Self::ActivationLost => ErrorKind::Stopped,
            Self::ShuttingDown => ErrorKind::SystemShutDown,
            _ => ErrorKind::StartFailed,
        };
        Error::new(kind).with("virtual actor", id).because(self)
    }

    /// The error of an unanswered message that may have been handled.
    pub(crate) fn interrupted(self, id: &EntityId) -> Error {
        Error::new(ErrorKind::Interrupted).with("virtual actor", id).because(self)
    }
}

/// Why a stored state is not usable.
#[derive(Debug)]
#[non_exhaustive]
pub enum StateError {
    /// The bytes are not a state written by this crate.
    Corrupt(&'static str),
    /// The stored version is newer than the program's.
    Newer {
        /// The stored version.
        stored: u32,
        /// The version of the program.
        known: u32,
    },
    /// The content cannot be decoded.
    Decode(Box<dyn StdError + Send + Sync>),
    /// [`upgrade`](crate::VirtualActor::upgrade) failed.
    Upgrade {
        /// The stored version.
        stored: u32,
        /// The cause.
        failure: Failure,
    },
    /// Code that creates the state panicked: [`upgrade`](crate::VirtualActor::upgrade), `Deserialize` or
    /// `Default`.
    Panicked(Failure),
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Corrupt(why) => f.write_str(why),
            Self::Newer { stored, known } => {
                write!(f, "its version is {stored}, and this program knows versions up to {known}")
            }
            Self::Decode(error) => write!(f, "it cannot be decoded: {error}"),
            Self::Upgrade { stored, failure } => {
                write!(f, "the upgrade from version {stored} failed: {failure}")
            }
            Self::Panicked(failure) => write!(f, "it cannot be made: {failure}"),
        }
    }
}

impl StdError for StateError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Decode(error) => Some(&**error),
            Self::Upgrade { failure, .. } | Self::Panicked(failure) => Some(failure.source()),
            Self::Corrupt(_) | Self::Newer { .. } => None,
        }
    }
}
