use std::fmt;

use crate::Error;

/// Why an actor ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum StopReason {
    /// It was asked to stop, or stopped itself.
    Stopped,
    /// It handled all accepted messages and then stopped.
    Drained,
    /// It was killed: by [`kill`](crate::ActorRef::kill), by the native runtime, or because the runtime
    /// that ran it was dropped.
    Killed,
    /// It failed and was not, or could not be, restarted.
    Failed(Error),
}

impl StopReason {
    /// The error, when the actor failed.
    pub fn failure(&self) -> Option<&Error> {
        match self {
            Self::Failed(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => f.write_str("stopped"),
            Self::Drained => f.write_str("drained"),
            Self::Killed => f.write_str("killed"),
            Self::Failed(error) if f.alternate() => write!(f, "failed: {error:#}"),
            Self::Failed(error) => write!(f, "failed: {error}"),
        }
    }
}
