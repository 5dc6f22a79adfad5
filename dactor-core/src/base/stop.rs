use std::fmt;

use crate::Error;

/// How an actor is asked to end: see [`ActorRef::end`](crate::ActorRef::end).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// See [`ActorRef::drain`](crate::ActorRef::drain).
    Drain,
    /// See [`ActorRef::stop`](crate::ActorRef::stop).
    Stop,
    /// See [`ActorRef::kill`](crate::ActorRef::kill).
    Kill,
}

impl End {
    /// The name of the method.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Drain => "drain",
            Self::Stop => "stop",
            Self::Kill => "kill",
        }
    }
}

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
    /// It lived in another system, which is quarantined: the actor may still run there, and its messages are no longer
    /// delivered.
    Unreachable,
    /// It lived in another system and had ended before this system asked. The reason is not known.
    Unknown,
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
            Self::Unreachable => f.write_str("unreachable"),
            Self::Unknown => f.write_str("ended for an unknown reason"),
            Self::Failed(error) if f.alternate() => write!(f, "failed: {error:#}"),
            Self::Failed(error) => write!(f, "failed: {error}"),
        }
    }
}
