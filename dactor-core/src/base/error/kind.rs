use std::fmt;

/// What went wrong, for programs to match on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The actor is stopping or has stopped: the message was not, and will not be, handled.
    Stopped,
    /// The actor was killed or its runtime ended while it handled the message, or, for a stream, the actor
    /// stopped or was restarted. How far the handler got is unknown.
    Interrupted,
    /// The mailbox is full, and its [`Overflow`](crate::Overflow) policy refuses more.
    MailboxFull,
    /// The mailbox sheds load for now: [`Error::retry_after`](crate::Error::retry_after) says when to try again. Or as many
    /// [interleaved](crate::Interleaved) reads run as may run at once.
    Overloaded,
    /// A mailbox cannot have this capacity, or cannot shed load like this. Or an actor cannot have this limit of reads.
    InvalidCapacity,
    /// The priority level is invalid.
    InvalidPriority,
    /// The asker had given up before the reply was ready.
    AskerGone,
    /// The handler returned an error.
    Failed,
    /// The handler, a hook or a factory panicked.
    Panicked,
    /// A child failed, and its failure was escalated to the parent.
    ChildFailed,
    /// An actor cannot watch itself.
    InvalidWatch,
    /// The duration of a timer is invalid.
    InvalidTimer,
    /// The stash is full.
    StashFull,
    /// The stream or the [piped](crate::Context::pipe) future of a message was detached before the message
    /// was handled.
    Detached,
    /// The consumer of a stream is gone: the item was not, and will not be, received.
    ConsumerGone,
    /// The producer of a stream was dropped before it finished the stream: items may be missing.
    Unfinished,
    /// The reply did not arrive before the asker's timeout or deadline.
    Timeout,
    /// The asker cancelled the ask.
    Cancelled,
    /// The handler deferred its reply, and the deferred reply was dropped.
    NoReply,
    /// An interceptor rejected the message; the context has the reason.
    Rejected,
    /// An interceptor refused the message for now: [`Error::retry_after`](crate::Error::retry_after) says
    /// when to retry.
    RetryLater,
    /// An interceptor dropped the message.
    Dropped,
    /// An interceptor panicked.
    InterceptorPanicked,
    /// A header cannot be decoded or encoded.
    InvalidHeader,
    /// The actor awaited inside its own turn what could only come after it: the reply to an ask to itself, its own end,
    /// or the end of its system. A read gets it for an ask to its own actor that cannot run beside it.
    AskedItself,
    /// Deadlock: the ask closed a cycle of actors that wait for each other; the context lists them. See
    /// [`SystemBuilder::detect_ask_cycles`](crate::SystemBuilder::detect_ask_cycles).
    AskCycle,
    /// The actor did not start.
    StartFailed,
    /// Another live actor of the system has this name.
    NameTaken,
    /// The name of a system or actor is empty, has an invalid character, or makes a path too long.
    InvalidName,
    /// A path or a selection is malformed, or leads above the guardian.
    InvalidPath,
    /// No live actor is at the path, or a selection matched none.
    NoSuchActor,
    /// The actor at the path has another UID: the addressed incarnation has ended.
    WrongIncarnation,
    /// The actor at the path has another type than requested.
    WrongActorType,
    /// The path or selection belongs to another system, which this system cannot reach.
    Unresolved,
    /// The other system is quarantined: no message is exchanged with this incarnation of it. A new incarnation may
    /// start at its address.
    Quarantined,
    /// The path and its UID are reserved: they were shown to another system or quarantined, and no actor may be meant by
    /// them for now.
    UidReserved,
    /// The way to the other system was lost while the message was under way.
    Disconnected,
    /// The system has been shut down: spawning fails.
    SystemShutDown,
    /// Some actors did not end within the grace period of the shutdown, or a phase was not completed.
    ShutdownIncomplete,
    /// A shutdown phase has no name, a duplicate name, or does not exist.
    InvalidPhase,
    /// The call needs a tokio runtime and was made outside one.
    NoRuntime,
    /// The system was built without a backend.
    NoBackend,
    /// The backend returned an error.
    Backend,
    /// The backend, or this kind of call, does not support the operation.
    Unsupported,
    /// The message cannot leave the process: it has no wire name. Derive it with `#[message(wire = "..")]`.
    NotRemotable,
    /// The actor does not accept this message from another process: see `Remote::accepts`.
    UnknownMessage,
    /// A wire name is empty, too long, or taken by another message of the same actor.
    InvalidWireName,
    /// A message, an item or a reply cannot be encoded.
    EncodeFailed,
    /// What came from another process is not the encoding of the message, item or reply that it should be.
    DecodeFailed,
    /// What came from another process is not a frame, or one of a later version of the protocol.
    InvalidFrame,
    /// A kind that this version does not know, from a newer version in another process. The context names it as `kind`.
    Other,
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
            Self::AskerGone => "the asker has given up",
            Self::Failed => "the handler failed",
            Self::Panicked => "the handler panicked",
            Self::ChildFailed => "a child failed",
            Self::InvalidWatch => "an actor cannot watch itself",
            Self::InvalidTimer => "the timer is not valid",
            Self::StashFull => "the stash is full",
            Self::Detached => "the stream was detached",
            Self::ConsumerGone => "the consumer of the stream is gone",
            Self::Unfinished => "the producer was dropped before it finished the stream",
            Self::Timeout => "no reply in time",
            Self::Cancelled => "the ask was cancelled",
            Self::NoReply => "the deferred reply was dropped",
            Self::Rejected => "the message was rejected",
            Self::RetryLater => "the message was refused for now",
            Self::Dropped => "the message was dropped",
            Self::InterceptorPanicked => "an interceptor panicked",
            Self::InvalidHeader => "the header is not valid",
            Self::AskedItself => "an actor cannot await its own reply or end inside its own turn",
            Self::AskCycle => "the ask closed a cycle of actors waiting for each other",
            Self::StartFailed => "the actor did not start",
            Self::NameTaken => "the name is taken",
            Self::InvalidName => "the name is not valid",
            Self::InvalidPath => "the actor path is not valid",
            Self::NoSuchActor => "there is no such actor",
            Self::WrongIncarnation => "another incarnation is at the path",
            Self::WrongActorType => "the actor is of another type",
            Self::Unresolved => "the path belongs to another system",
            Self::Quarantined => "the other system is quarantined",
            Self::UidReserved => "the UID of the path is reserved",
            Self::Disconnected => "the way to the other system was lost",
            Self::SystemShutDown => "the system has been shut down",
            Self::ShutdownIncomplete => "the shutdown was incomplete",
            Self::InvalidPhase => "the phase of the shutdown is not valid",
            Self::NoRuntime => "there is no tokio runtime here",
            Self::NoBackend => "the system has no backend",
            Self::Backend => "the backend failed",
            Self::Unsupported => "this is not supported",
            Self::NotRemotable => "the message cannot leave the process",
            Self::UnknownMessage => "the actor does not accept this message from another process",
            Self::InvalidWireName => "the wire name is not valid",
            Self::EncodeFailed => "the value cannot be encoded",
            Self::DecodeFailed => "the payload cannot be decoded",
            Self::InvalidFrame => "the frame is not valid",
            Self::Other => "an error of a kind that is not known here",
        }
    }
}

impl ErrorKind {
    /// Whether a handler may have seen the message, judging by the kind alone: see
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
            | Self::Disconnected
            | Self::InterceptorPanicked => true,
            // Another process says it better.
            Self::Other => true,
            // The message was refused or withdrawn.
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
            | Self::Unresolved
            | Self::Quarantined
            | Self::UidReserved
            | Self::NotRemotable
            | Self::UnknownMessage
            | Self::EncodeFailed
            | Self::DecodeFailed => false,
            // Not about a message.
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
            | Self::InvalidWireName
            | Self::InvalidFrame
            | Self::Unsupported => false,
        }
    }
}

impl ErrorKind {
    /// Whether the error is temporary: see [`Error::is_temporary`](super::Error::is_temporary).
    pub(super) fn is_temporary(self) -> bool {
        match self {
            Self::MailboxFull
            | Self::Overloaded
            | Self::RetryLater
            | Self::StashFull
            | Self::Timeout
            | Self::Disconnected => true,
            // The actor is gone, or failed on the message: a retry meets the same actor or none.
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
            | Self::Quarantined
            | Self::UidReserved
            | Self::StartFailed
            | Self::NameTaken
            | Self::SystemShutDown
            | Self::ShutdownIncomplete
            | Self::Backend
            | Self::Other => false,
            // The sender gave up, or an interceptor decided against the message.
            Self::AskerGone
            | Self::Detached
            | Self::ConsumerGone
            | Self::Cancelled
            | Self::Rejected
            | Self::Dropped
            | Self::InterceptorPanicked => false,
            // The call itself is invalid.
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
            | Self::NotRemotable
            | Self::UnknownMessage
            | Self::InvalidWireName
            | Self::EncodeFailed
            | Self::DecodeFailed
            | Self::InvalidFrame
            | Self::Unsupported => false,
        }
    }

    /// Whether an ask that ended like this says something about the actor's health. If not, the ask never
    /// reached the actor's code, because of its caller or an interceptor.
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
            | Self::Quarantined
            | Self::UidReserved
            | Self::Disconnected
            | Self::SystemShutDown
            | Self::ShutdownIncomplete
            | Self::Backend
            | Self::Other => true,
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
            | Self::NotRemotable
            | Self::UnknownMessage
            | Self::EncodeFailed
            | Self::DecodeFailed
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
            | Self::InvalidWireName
            | Self::InvalidFrame
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
mod tests;
