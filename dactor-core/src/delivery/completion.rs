//! The outcome of a handler, and what follows.

use crate::base::panic::{Panic, contain};
use crate::delivery::current_message::CurrentMessage;
use crate::delivery::obligation::{ReplyObligation, ReplyStatus};
use crate::{Failure, Message, Outcome};

/// The outcome of a handler. Its asker has been answered.
pub(crate) type Handled = Result<(), Incident>;

/// Why the actor has to do something about a message that was handled.
#[derive(Debug)]
pub(crate) enum Incident {
    /// The asker was gone when the reply was ready.
    AskerGone,
    /// The handler had deferred its reply, but returned one as well: it is dropped.
    ReplyDropped,
    /// The status says whether the asker got the failure.
    Failed(Failure, ReplyStatus),
    Panicked(Panic),
}

/// The output of a running handler. Every message has one, so it is two words, and the name of a message is looked up only
/// when it is needed.
pub(crate) type Finished = Result<Option<TypeName>, Box<Report>>;

/// [`Message::type_name`] of a message that was handled; there is none when it was skipped.
pub(crate) type TypeName = fn() -> &'static str;

/// An incident, with the message that caused it.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) message: &'static str,
    pub(crate) incident: Incident,
    /// What came with the message, if its context is gone: for `on_error`.
    pub(crate) current: CurrentMessage,
}

impl Report {
    #[cold]
    pub(crate) fn new(message: &'static str, incident: Incident) -> Box<Self> {
        Box::new(Self { message, incident, current: CurrentMessage::default() })
    }
}

/// The output of the handler of an `M`.
#[inline(always)]
pub(crate) fn finished<M: Message>(handled: Handled) -> Finished {
    match handled {
        Ok(()) => Ok(Some(M::type_name)),
        Err(incident) => Err(Report::new(M::type_name(), incident)),
    }
}

/// The outcome of a handler, before the asker is answered.
pub(crate) enum End<R> {
    Returned(Outcome<R>),
    Panicked(Panic),
    /// The asker has given up, which aborted the handler.
    Aborted,
}

impl<R> End<R> {
    /// Answers the asker, if any.
    #[inline]
    pub(crate) fn settle(self, obligation: &mut impl ReplyObligation<R>) -> Handled {
        match self {
            Self::Returned(Ok(reply)) => match obligation.give(Ok(reply)) {
                ReplyStatus::AskerGone => Err(Incident::AskerGone),
                ReplyStatus::Deferred => Err(Incident::ReplyDropped),
                ReplyStatus::Delivered | ReplyStatus::NotAsked => Ok(()),
            },
            Self::Returned(Err(failure)) if failure.is_promise() => {
                obligation.pass_on();
                Ok(())
            }
            Self::Returned(Err(failure)) => {
                let status = obligation.failed(&failure);
                Err(Incident::Failed(failure, status))
            }
            Self::Panicked(panic) => {
                obligation.panicked(&panic);
                Err(Incident::Panicked(panic))
            }
            Self::Aborted => Ok(()),
        }
    }
}

/// What follows when a handler has ended.
pub(crate) trait Continuation<R>: Send {
    type Obligation: ReplyObligation<R>;

    fn obligation(&mut self) -> &mut Self::Obligation;
    /// May panic in user code: an unwanted reply is dropped here.
    fn conclude(&mut self, end: End<R>) -> Handled;

    /// Concludes after a panic, including one in [`conclude`](Self::conclude) itself. Does not panic.
    #[cold]
    fn panicked(&mut self, panic: Panic) -> Handled {
        let first = panic.clone();
        contain(|| self.conclude(End::Panicked(panic))).unwrap_or(Err(Incident::Panicked(first)))
    }
}

/// Answers directly: the message has no interceptors.
pub(crate) struct DirectReply<O>(pub(crate) O);

impl<R, O: ReplyObligation<R>> Continuation<R> for DirectReply<O> {
    type Obligation = O;

    fn obligation(&mut self) -> &mut O {
        &mut self.0
    }

    #[inline]
    fn conclude(&mut self, end: End<R>) -> Handled {
        end.settle(&mut self.0)
    }
}
