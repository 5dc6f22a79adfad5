mod display;
mod kind;
#[cfg(feature = "wire")]
mod remote;
mod wire_name;

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use display::chain;
pub use kind::ErrorKind;
#[cfg(feature = "wire")]
pub(crate) use remote::RemoteError;

use crate::base::foreign::Foreign;
use crate::base::label::Labelled;

/// The result of a call into dactor.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error type of the API: a [kind](ErrorKind) for programs, context for people, and a source.
///
/// One pointer wide and cheap to clone, so that every waiter can get a failure.
#[derive(Clone)]
pub struct Error {
    inner: Arc<Inner>,
}

#[derive(Debug, Clone)]
struct Inner {
    kind: ErrorKind,
    context: Vec<(Cow<'static, str>, String)>,
    retry_after: Option<Duration>,
    /// Whether a handler may have seen the message, if known more precisely than by the kind.
    handled: Option<bool>,
    source: Option<Foreign>,
}

impl Error {
    /// Creates an error of this kind, without context.
    pub fn new(kind: ErrorKind) -> Self {
        let inner = Inner { kind, context: Vec::new(), retry_after: None, handled: None, source: None };
        Self { inner: Arc::new(inner) }
    }

    /// Adds a named piece of context.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        Arc::make_mut(&mut self.inner).context.push((Cow::Borrowed(name), value.to_string()));
        self
    }

    /// Adds the actor: its path, and its type, which the path of an unnamed actor does not show.
    pub(crate) fn about(self, actor: &(impl Labelled + ?Sized)) -> Self {
        self.with("actor", actor.label()).with("type", actor.actor_type())
    }

    /// Sets the error that caused this one.
    #[must_use]
    pub fn because(self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.because_shared(Foreign::new(source.into().into()))
    }

    pub(crate) fn because_shared(mut self, source: Foreign) -> Self {
        Arc::make_mut(&mut self.inner).source = Some(source);
        self
    }

    /// Sets the time after which a retry makes sense.
    pub(crate) fn with_retry_after(mut self, after: Duration) -> Self {
        Arc::make_mut(&mut self.inner).retry_after = Some(after);
        self.with("retry after", format!("{after:?}"))
    }

    /// The time after which a retry makes sense, if known.
    pub fn retry_after(&self) -> Option<Duration> {
        self.inner.retry_after
    }

    /// Whether a handler may have seen the message that this error is about. If not, a retry is safe.
    ///
    /// `false` is certain: no handler was given the message, and none will be. `true` means that a handler
    /// has run, or may have, partly or completely: check before you repeat a payment.
    ///
    /// | kind | may have been handled |
    /// | --- | --- |
    /// | `Interrupted`, `Failed`, `Panicked`, `NoReply`, `AskerGone` | yes |
    /// | `Disconnected` | yes, unless the message had not been sent |
    /// | `Timeout`, `Cancelled`, `AskCycle` | yes, unless the message was withdrawn from the mailbox or was never sent |
    /// | `InterceptorPanicked` | yes, unless it panicked in `on_send` or `on_receive` |
    /// | `Dropped` | no, unless an interceptor aborted the handler |
    /// | `AskedItself` | no, unless the ask had been [enqueued](crate::Ask::enqueue) before it was awaited |
    /// | `Stopped`, `MailboxFull`, `Overloaded`, `Rejected`, `RetryLater`, `Detached`, `NoSuchActor`, `WrongIncarnation`, `WrongActorType`, `Unresolved`, `Quarantined`, `UidReserved` | no |
    /// | `Other` | as the process says that the error came from |
    /// | all others: nothing was sent | no |
    ///
    /// An error of any kind may have been handled if a handler passed the message on with
    /// [`forward`](crate::Context::forward), [`stash`](crate::Context::stash) or
    /// [`reply_later`](crate::Context::reply_later): what that handler did before counts.
    pub fn may_have_been_handled(&self) -> bool {
        self.inner.handled.unwrap_or_else(|| self.inner.kind.may_have_been_handled())
    }

    /// Whether the error is temporary, so that the same call may succeed later.
    ///
    /// `MailboxFull`, `Overloaded`, `RetryLater`, `StashFull`, `Timeout` and `Disconnected` are temporary. Everything else ends in the same
    /// way until something changes: the actor has stopped, an interceptor refused the message, the call is
    /// invalid. A handler's own error ([`Failed`](ErrorKind::Failed)) is not temporary: only the application knows.
    ///
    /// Whether a retry is safe is another question: see
    /// [`may_have_been_handled`](Self::may_have_been_handled). When to retry is given by
    /// [`retry_after`](Self::retry_after), if known.
    pub fn is_temporary(&self) -> bool {
        self.inner.kind.is_temporary()
    }

    /// Whether an ask that ended with this error says something about the actor's health.
    pub(crate) fn is_about_actor(&self) -> bool {
        self.inner.kind.is_about_actor()
    }

    /// Marks the message as not seen by any handler.
    pub(crate) fn unhandled(mut self) -> Self {
        Arc::make_mut(&mut self.inner).handled = Some(false);
        self
    }

    /// Marks the message as possibly seen by a handler, whatever the kind says.
    pub(crate) fn perhaps_handled(mut self) -> Self {
        Arc::make_mut(&mut self.inner).handled = Some(true);
        self
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// The first error of type `E` in the chain of [sources](StdError::source): the handler's own error, or
    /// another cause.
    ///
    /// ```
    /// # use dactor_core::{Error, ErrorKind};
    /// # use std::num::ParseIntError;
    /// # let parsed = "x".parse::<u8>().unwrap_err();
    /// # let error = Error::new(ErrorKind::Failed).because(parsed);
    /// if let Some(parse) = error.downcast_ref::<ParseIntError>() {
    ///     eprintln!("not a number: {parse}");
    /// }
    /// # assert!(error.downcast_ref::<ParseIntError>().is_some());
    /// ```
    pub fn downcast_ref<E: StdError + 'static>(&self) -> Option<&E> {
        display::causes(self).find_map(|cause| cause.downcast_ref())
    }

    /// The pieces of context: which actor, which message, and so on. A key means the same in every error:
    ///
    /// | key | value |
    /// | --- | --- |
    /// | `actor` | the path of the actor that the error is about |
    /// | `id` | its id, where the path is not available |
    /// | `type` | the type of that actor |
    /// | `message` | the type of the message |
    /// | `reason` | the reason: an actor's [`StopReason`](crate::StopReason), or an interceptor's for a rejection |
    /// | `because` | details, where the kind alone does not say enough |
    /// | `call` | the method that was called |
    /// | `in` | where in the system it happened |
    /// | `hook` | the actor's hook that failed |
    /// | `restart` | why no restart followed |
    /// | `parent`, `child` | the path of the parent, of the child |
    /// | `incarnation` | the UID of the live actor at the path |
    /// | `cycle` | the actors of an ask cycle, in order |
    /// | `interceptor` | the types of the interceptors, outermost first |
    /// | `header`, `bytes`, `limit` | the name of the header, its size, and the size allowed |
    /// | `system`, `backend` | the name of the system, of the backend |
    /// | `name` | a name that is not valid |
    /// | `selection` | the text of the selection |
    /// | `phase`, `task` | the phase of a shutdown, and its task |
    /// | `timer` | the timer |
    /// | `capacity`, `buffer`, `level` | the size of a mailbox or stash, of the buffer of a stream, the level of a priority |
    /// | `reads`, `interleaved` | the limits of concurrent reads |
    /// | `item`, `number` | the type of the items of a stream, and the number of the item that was lost |
    /// | `expected` | what would have been right |
    /// | `after`, `deadline` | the time that ran out: its length, whose it was |
    /// | `retry after` | when to try again: see [`retry_after`](Self::retry_after) |
    /// | `wire name` | the name of a message on the wire |
    /// | `value`, `codec` | the type that cannot be encoded or decoded, and how it should have been |
    /// | `at byte`, `version` | where in a frame it is wrong, and the version of the frame |
    /// | `other` | the type of the other message with the same wire name |
    /// | others | of [`ShutdownIncomplete`](ErrorKind::ShutdownIncomplete): what did not end by itself, as in `killed`; of [`Other`](ErrorKind::Other): the name of the kind, as `kind` |
    pub fn context(&self) -> impl Iterator<Item = (&str, &str)> {
        self.inner.context.iter().map(|(name, value)| (&**name, value.as_str()))
    }

    /// The value of one piece of context.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.context().find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.inner.source.as_ref().map(|source| source.get() as &(dyn StdError + 'static))
    }
}

/// A refused message, returned with the reason.
#[derive(Clone)]
#[non_exhaustive]
pub struct SendError<M> {
    /// The message, unchanged.
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
