use std::fmt;

/// What went wrong, for programs to branch on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The actor is stopping or has stopped: the message was not, and will not be, handled.
    Stopped,
    /// The actor was killed, its runtime ended, or, for a stream, the actor stopped or was restarted, while it was at work
    /// on the message. How far it came is not known.
    Interrupted,
    /// The mailbox is full, and its [`Overflow`](crate::Overflow) refuses more.
    MailboxFull,
    /// The mailbox sheds load for now: [`Error::retry_after`](crate::Error::retry_after) says when to try again. Or as many
    /// [interleaved](crate::Interleaved) reads run as may run at once.
    Overloaded,
    /// A mailbox cannot have this capacity, or cannot shed load like this. Or an actor cannot have this limit of reads.
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
    /// The consumer of a stream is gone: the item was not, and will not be, received.
    ConsumerGone,
    /// The producer of a stream was dropped before it finished the stream: items may be missing.
    Unfinished,
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
    /// or the end of its system. A read gets it for an ask to its own actor that cannot run beside it.
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
    /// No live actor is at the path, or a selection reached none.
    NoSuchActor,
    /// Another incarnation than the one with the path's UID is at the path: the actor that was meant has ended.
    WrongIncarnation,
    /// The actor at the path is of another type than the one that was asked for.
    WrongActorType,
    /// The path or the selection is about another system, and this system knows no way there.
    Unresolved,
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
            Self::Interrupted => "the actor ended while it handled the message",
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
            Self::ConsumerGone => "the consumer of the stream is gone",
            Self::Unfinished => "the producer was dropped before it finished the stream",
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
            Self::WrongIncarnation => "another incarnation is at the path",
            Self::WrongActorType => "the actor is of another type",
            Self::Unresolved => "the address leads to another system",
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
            | Self::Unfinished
            | Self::AskCycle
            | Self::InterceptorPanicked => true,
            // The message was refused, or taken back.
            Self::Stopped
            | Self::MailboxFull
            | Self::Overloaded
            | Self::Detached
            | Self::ConsumerGone
            | Self::Rejected
            | Self::RetryLater
            | Self::Dropped
            | Self::AskedItself
            | Self::NoSuchActor
            | Self::WrongIncarnation
            | Self::WrongActorType
            | Self::Unresolved => false,
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

impl ErrorKind {
    /// Whether the condition can pass by itself: see [`Error::is_temporary`](super::Error::is_temporary).
    pub(super) fn is_temporary(self) -> bool {
        match self {
            Self::MailboxFull | Self::Overloaded | Self::RetryLater | Self::StashFull | Self::Timeout => true,
            // The actor is gone, or failed on the message: the next attempt meets the same actor or none.
            Self::Stopped
            | Self::Interrupted
            | Self::Failed
            | Self::Panicked
            | Self::ChildFailed
            | Self::NoReply
            | Self::Unfinished
            | Self::NoSuchActor
            | Self::WrongIncarnation
            | Self::WrongActorType
            | Self::Unresolved
            | Self::StartFailed
            | Self::NameTaken
            | Self::SystemShutDown
            | Self::ShutdownIncomplete
            | Self::Backend => false,
            // The sender gave it up, or an interceptor decided against it.
            Self::AskerGone
            | Self::Detached
            | Self::ConsumerGone
            | Self::Cancelled
            | Self::Rejected
            | Self::Dropped
            | Self::InterceptorPanicked => false,
            // The call itself is wrong.
            Self::InvalidCapacity
            | Self::InvalidPriority
            | Self::InvalidWatch
            | Self::InvalidTimer
            | Self::InvalidHeader
            | Self::AskedItself
            | Self::AskCycle
            | Self::InvalidName
            | Self::InvalidPath
            | Self::InvalidPhase
            | Self::NoRuntime
            | Self::NoBackend
            | Self::Unsupported => false,
        }
    }

    /// Whether an ask that ended like this shows how the actor is. If not, the ask never met the actor's code, by the
    /// choice of its caller or of an interceptor.
    pub(super) fn is_about_actor(self) -> bool {
        match self {
            Self::Stopped
            | Self::Interrupted
            | Self::MailboxFull
            | Self::Overloaded
            | Self::AskerGone
            | Self::Failed
            | Self::Panicked
            | Self::ChildFailed
            | Self::StashFull
            | Self::Detached
            | Self::Timeout
            | Self::NoReply
            | Self::Unfinished
            | Self::StartFailed
            | Self::NoSuchActor
            | Self::WrongIncarnation
            | Self::WrongActorType
            | Self::Unresolved
            | Self::SystemShutDown
            | Self::ShutdownIncomplete
            | Self::Backend => true,
            Self::Cancelled
            | Self::ConsumerGone
            | Self::Rejected
            | Self::RetryLater
            | Self::Dropped
            | Self::InterceptorPanicked
            | Self::InvalidHeader
            | Self::AskedItself
            | Self::AskCycle
            | Self::NoRuntime
            | Self::Unsupported => false,
            // No ask ends with these.
            Self::InvalidCapacity
            | Self::InvalidPriority
            | Self::InvalidWatch
            | Self::InvalidTimer
            | Self::NameTaken
            | Self::InvalidName
            | Self::InvalidPath
            | Self::InvalidPhase
            | Self::NoBackend => false,
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

    /// Every kind, in order: whether a handler may have had the message, whether it is temporary, whether it is about
    /// the actor.
    const TABLE: [(ErrorKind, bool, bool, bool); 41] = [
        (K::Stopped, false, false, true),
        (K::Interrupted, true, false, true),
        (K::MailboxFull, false, true, true),
        (K::Overloaded, false, true, true),
        (K::InvalidCapacity, false, false, false),
        (K::InvalidPriority, false, false, false),
        (K::AskerGone, true, false, true),
        (K::Failed, true, false, true),
        (K::Panicked, true, false, true),
        (K::ChildFailed, false, false, true),
        (K::InvalidWatch, false, false, false),
        (K::InvalidTimer, false, false, false),
        (K::StashFull, false, true, true),
        (K::Detached, false, false, true),
        (K::ConsumerGone, false, false, false),
        (K::Unfinished, true, false, true),
        (K::Timeout, true, true, true),
        (K::Cancelled, true, false, false),
        (K::NoReply, true, false, true),
        (K::Rejected, false, false, false),
        (K::RetryLater, false, true, false),
        (K::Dropped, false, false, false),
        (K::InterceptorPanicked, true, false, false),
        (K::InvalidHeader, false, false, false),
        (K::AskedItself, false, false, false),
        (K::AskCycle, true, false, false),
        (K::StartFailed, false, false, true),
        (K::NameTaken, false, false, false),
        (K::InvalidName, false, false, false),
        (K::InvalidPath, false, false, false),
        (K::NoSuchActor, false, false, true),
        (K::WrongIncarnation, false, false, true),
        (K::WrongActorType, false, false, true),
        (K::Unresolved, false, false, true),
        (K::SystemShutDown, false, false, true),
        (K::ShutdownIncomplete, false, false, true),
        (K::InvalidPhase, false, false, false),
        (K::NoRuntime, false, false, false),
        (K::NoBackend, false, false, false),
        (K::Backend, false, false, true),
        (K::Unsupported, false, false, false),
    ];

    #[test]
    fn kinds_are_classified() {
        for (index, (kind, handled, temporary, about_actor)) in TABLE.into_iter().enumerate() {
            assert_eq!(kind as usize, index, "{kind:?}: the table has every kind, in order");
            let error = super::super::Error::new(kind);
            assert_eq!(error.may_have_been_handled(), handled, "{kind:?}");
            assert_eq!((error.is_temporary(), error.is_about_actor()), (temporary, about_actor), "{kind:?}");
            assert!(!error.clone().perhaps_handled().unhandled().may_have_been_handled(), "{kind:?}");
            assert!(error.unhandled().perhaps_handled().may_have_been_handled(), "{kind:?}");
        }
        assert_eq!(TABLE.last().map(|(kind, ..)| *kind), Some(K::Unsupported), "the last kind of all");
    }
}
