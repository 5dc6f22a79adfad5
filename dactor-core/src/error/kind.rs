use std::fmt;

/// What went wrong, for programs to branch on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The actor is stopping or has stopped: the message was not, and will not be, handled.
    Stopped,
    /// The actor was killed, or its runtime ended, while its handler was at work on the message. How far the handler
    /// came is not known.
    Interrupted,
    /// The mailbox is full, and its [`Overflow`](crate::Overflow) refuses more.
    MailboxFull,
    /// The mailbox sheds load for now: [`Error::retry_after`](crate::Error::retry_after) says when to try again.
    Overloaded,
    /// A mailbox cannot have this capacity, or cannot shed load like this.
    InvalidCapacity,
    /// There is no such level of priority.
    InvalidPriority,
    /// The asker had given up when the reply was ready.
    AskerGone,
    /// The handler returned an error.
    Failed,
    /// The handler, a hook or a factory panicked.
    Panicked,
    /// A child failed, and left it to its parent.
    ChildFailed,
    /// An actor cannot be watched by itself.
    InvalidWatch,
    /// A timer cannot have this time.
    InvalidTimer,
    /// The actor has stashed as many messages as it may.
    StashFull,
    /// The stream or the [piped](crate::Context::pipe) future that a message came from was given up before the message was
    /// handled.
    Detached,
    /// The reply did not arrive within the time the asker allowed.
    Timeout,
    /// The asker cancelled the ask.
    Cancelled,
    /// The handler promised a reply for later, and it was dropped.
    NoReply,
    /// An interceptor refused the message; the context says for what reason.
    Rejected,
    /// An interceptor refused the message for now: [`Error::retry_after`](crate::Error::retry_after) says when to try again.
    RetryLater,
    /// An interceptor dropped the message.
    Dropped,
    /// An interceptor panicked over the message.
    InterceptorPanicked,
    /// A header cannot be read, or cannot leave the process.
    InvalidHeader,
    /// The actor awaited inside its own turn what could only come after it: the reply to an ask to itself, its own end,
    /// or the end of its system.
    AskedItself,
    /// The ask closed a cycle of asks, in which each actor waits for the next: the context lists them. See
    /// [`SystemBuilder::detect_ask_cycles`](crate::SystemBuilder::detect_ask_cycles).
    AskCycle,
    /// The actor did not start.
    StartFailed,
    /// Another live actor of the system has this name.
    NameTaken,
    /// A system or actor name is empty, has a character that names may not have, or makes a path too long.
    InvalidName,
    /// A path or a selection is malformed, or leads out of where it may lead.
    InvalidPath,
    /// A message was for selected actors, and there is none.
    NoSuchActor,
    /// The system has been shut down and spawns nothing more.
    SystemShutDown,
    /// Some actors did not end by themselves within the grace period of the shutdown, or a phase of it was not done.
    ShutdownIncomplete,
    /// A phase of the shutdown has no name, a name that another one has, or is not there.
    InvalidPhase,
    /// The call needs a tokio runtime and was made outside of one.
    NoRuntime,
    /// The system was built without a backend.
    NoBackend,
    /// The backend could not do what it was asked.
    Backend,
    /// The backend, or the way in which it was called, cannot do this.
    Unsupported,
}

impl ErrorKind {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Stopped => "the actor has stopped",
            Self::Interrupted => "the actor was killed while it handled the message",
            Self::MailboxFull => "the mailbox is full",
            Self::Overloaded => "the actor is overloaded",
            Self::InvalidCapacity => "the mailbox capacity is not valid",
            Self::InvalidPriority => "the priority is not valid",
            Self::AskerGone => "nobody waits for the reply any more",
            Self::Failed => "the handler failed",
            Self::Panicked => "the handler panicked",
            Self::ChildFailed => "a child failed",
            Self::InvalidWatch => "an actor cannot watch itself",
            Self::InvalidTimer => "the timer is not valid",
            Self::StashFull => "the stash is full",
            Self::Detached => "its stream has been detached",
            Self::Timeout => "no reply in time",
            Self::Cancelled => "the ask was cancelled",
            Self::NoReply => "the promised reply was dropped",
            Self::Rejected => "the message was rejected",
            Self::RetryLater => "the message was refused for now",
            Self::Dropped => "the message was dropped",
            Self::InterceptorPanicked => "an interceptor panicked",
            Self::InvalidHeader => "the header is not valid",
            Self::AskedItself => "an actor cannot await its own reply or end inside its own turn",
            Self::AskCycle => "the ask closed a cycle of actors that wait for each other",
            Self::StartFailed => "the actor did not start",
            Self::NameTaken => "the name is taken",
            Self::InvalidName => "the name is not valid",
            Self::InvalidPath => "the actor path is not valid",
            Self::NoSuchActor => "there is no such actor",
            Self::SystemShutDown => "the system has been shut down",
            Self::ShutdownIncomplete => "not everything ended by itself",
            Self::InvalidPhase => "the phase of the shutdown is not valid",
            Self::NoRuntime => "there is no tokio runtime here",
            Self::NoBackend => "the system has no backend",
            Self::Backend => "the backend failed",
            Self::Unsupported => "this is not supported",
        }
    }
}

impl ErrorKind {
    /// Whether a handler may have had the message, as far as the kind alone tells: see
    /// [`Error::may_have_been_handled`](super::Error::may_have_been_handled).
    pub(super) fn may_have_been_handled(self) -> bool {
        match self {
            Self::Interrupted
            | Self::AskerGone
            | Self::Failed
            | Self::Panicked
            | Self::Timeout
            | Self::Cancelled
            | Self::NoReply
            | Self::AskCycle
            | Self::InterceptorPanicked => true,
            // The message was refused, or taken back.
            Self::Stopped
            | Self::MailboxFull
            | Self::Overloaded
            | Self::Detached
            | Self::Rejected
            | Self::RetryLater
            | Self::Dropped
            | Self::AskedItself
            | Self::NoSuchActor => false,
            // It is about no message.
            Self::InvalidCapacity
            | Self::InvalidPriority
            | Self::ChildFailed
            | Self::InvalidWatch
            | Self::InvalidTimer
            | Self::StashFull
            | Self::InvalidHeader
            | Self::StartFailed
            | Self::NameTaken
            | Self::InvalidName
            | Self::InvalidPath
            | Self::SystemShutDown
            | Self::ShutdownIncomplete
            | Self::InvalidPhase
            | Self::NoRuntime
            | Self::NoBackend
            | Self::Backend
            | Self::Unsupported => false,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

#[cfg(test)]
mod tests {
    use ErrorKind as K;

    use super::*;

    /// Every kind, in order, and whether a handler may have had the message.
    const TABLE: [(ErrorKind, bool); 36] = [
        (K::Stopped, false),
        (K::Interrupted, true),
        (K::MailboxFull, false),
        (K::Overloaded, false),
        (K::InvalidCapacity, false),
        (K::InvalidPriority, false),
        (K::AskerGone, true),
        (K::Failed, true),
        (K::Panicked, true),
        (K::ChildFailed, false),
        (K::InvalidWatch, false),
        (K::InvalidTimer, false),
        (K::StashFull, false),
        (K::Detached, false),
        (K::Timeout, true),
        (K::Cancelled, true),
        (K::NoReply, true),
        (K::Rejected, false),
        (K::RetryLater, false),
        (K::Dropped, false),
        (K::InterceptorPanicked, true),
        (K::InvalidHeader, false),
        (K::AskedItself, false),
        (K::AskCycle, true),
        (K::StartFailed, false),
        (K::NameTaken, false),
        (K::InvalidName, false),
        (K::InvalidPath, false),
        (K::NoSuchActor, false),
        (K::SystemShutDown, false),
        (K::ShutdownIncomplete, false),
        (K::InvalidPhase, false),
        (K::NoRuntime, false),
        (K::NoBackend, false),
        (K::Backend, false),
        (K::Unsupported, false),
    ];

    #[test]
    fn which_kinds_leave_open_whether_a_handler_ran() {
        for (index, (kind, handled)) in TABLE.into_iter().enumerate() {
            assert_eq!(kind as usize, index, "{kind:?}: the table has every kind, in order");
            let error = super::super::Error::new(kind);
            assert_eq!(error.may_have_been_handled(), handled, "{kind:?}");
            assert!(!error.clone().perhaps_handled().unhandled().may_have_been_handled(), "{kind:?}");
            assert!(error.unhandled().perhaps_handled().may_have_been_handled(), "{kind:?}");
        }
        assert_eq!(TABLE.last().map(|(kind, _)| *kind), Some(K::Unsupported), "the last kind of all");
    }
}
