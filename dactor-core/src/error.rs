use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::envelope::Labelled;

/// The result of a call into dactor.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, for programs to branch on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The actor is stopping or has stopped: the message was not, and will not be, handled.
    Stopped,
    /// The mailbox is full, and its [`Overflow`](crate::Overflow) refuses more.
    MailboxFull,
    /// The mailbox sheds load for now: [`Error::retry_after`] says when to try again.
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
    /// The stream that a message came from was detached before the message was handled.
    Detached,
    /// The reply did not arrive within the time the asker allowed.
    Timeout,
    /// The asker cancelled the ask.
    Cancelled,
    /// The handler promised a reply for later, and it was dropped.
    NoReply,
    /// An interceptor refused the message; the context says for what reason.
    Rejected,
    /// An interceptor refused the message for now: [`Error::retry_after`] says when to try again.
    RetryLater,
    /// An interceptor dropped the message.
    Dropped,
    /// An interceptor panicked over the message.
    InterceptorPanicked,
    /// A header cannot be read, or cannot leave the process.
    InvalidHeader,
    /// The actor awaited an ask to itself inside its own turn, which could never be answered.
    AskedItself,
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
    fn text(self) -> &'static str {
        match self {
            Self::Stopped => "the actor has stopped",
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
            Self::AskedItself => "an actor cannot await its own reply inside its own turn",
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

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// The one error of the API: a [kind](ErrorKind) for programs, context for people, and a source.
///
/// It is one pointer wide and cheap to clone, so that a failure can be given to every waiter.
#[derive(Clone)]
pub struct Error {
    inner: Arc<Inner>,
}

#[derive(Debug, Clone)]
struct Inner {
    kind: ErrorKind,
    context: Vec<(&'static str, String)>,
    retry_after: Option<Duration>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error of this kind, without context.
    pub fn new(kind: ErrorKind) -> Self {
        Self { inner: Arc::new(Inner { kind, context: Vec::new(), retry_after: None, source: None }) }
    }

    /// Adds a named piece of context.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        Arc::make_mut(&mut self.inner).context.push((name, value.to_string()));
        self
    }

    /// Says which actor it is about: its path, and its type, which the path of an unnamed actor does not tell.
    pub(crate) fn about(self, actor: &(impl Labelled + ?Sized)) -> Self {
        self.with("actor", actor.label()).with("type", actor.actor_type())
    }

    /// Sets the error that caused this one.
    #[must_use]
    pub fn because(self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.because_shared(source.into().into())
    }

    pub(crate) fn because_shared(mut self, source: Arc<dyn StdError + Send + Sync>) -> Self {
        Arc::make_mut(&mut self.inner).source = Some(source);
        self
    }

    /// Says when it makes sense to try again.
    pub(crate) fn with_retry_after(mut self, after: Duration) -> Self {
        Arc::make_mut(&mut self.inner).retry_after = Some(after);
        self.with("retry after", format!("{after:?}"))
    }

    /// After how long it makes sense to try again, if that is known.
    pub fn retry_after(&self) -> Option<Duration> {
        self.inner.retry_after
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// The pieces of context: which actor, which message, and so on.
    pub fn context(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.inner.context.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// The value of one piece of context.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.context().find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.inner.kind.text())?;
        if let Some(source) = &self.inner.source {
            write!(f, ": {source}")?;
        }
        for (index, (name, value)) in self.context().enumerate() {
            write!(f, "{}{name}: {value}", if index == 0 { " (" } else { ", " })?;
        }
        if self.inner.context.is_empty() { Ok(()) } else { f.write_str(")") }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.inner.kind)
            .field("context", &self.inner.context)
            .field("source", &self.inner.source)
            .finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.inner.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

/// A refused message, handed back with the reason.
#[derive(Clone)]
#[non_exhaustive]
pub struct SendError<M> {
    /// The message, untouched.
    pub message: M,
    /// Why it was refused.
    pub reason: Error,
}

impl<M> fmt::Debug for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendError").field("reason", &self.reason).finish_non_exhaustive()
    }
}

impl<M> fmt::Display for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.reason, f)
    }
}

impl<M> StdError for SendError<M> {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        StdError::source(&self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_to_a_clone_is_there_and_nowhere_else() {
        let first = Error::new(ErrorKind::Failed).with("actor", "a");
        let second = first.clone().with("restart", "refused").because("no");
        assert_eq!((first.get("restart"), second.get("restart")), (None, Some("refused")));
        assert_eq!(second.get("actor"), Some("a"));
        assert!(first.source().is_none() && second.source().is_some());
    }
}
