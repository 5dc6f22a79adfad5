//! The outcome of a handler, and what follows.

use crate::base::panic::{Panic, contain};
use crate::delivery::obligation::{ReplyObligation, ReplyStatus};
use crate::{Failure, Outcome};

/// The outcome of a handler. Its asker has been answered.
#[derive(Debug)]
pub(crate) enum Handled {
    Done,
    /// The asker was gone when the reply was ready.
    AskerGone,
    /// The handler had deferred its reply, but returned one as well: it is dropped.
    ReplyDropped,
    /// The status says whether the asker got the failure.
    Failed(Failure, ReplyStatus),
    Panicked(Panic),
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
                ReplyStatus::AskerGone => Handled::AskerGone,
                ReplyStatus::Deferred => Handled::ReplyDropped,
                ReplyStatus::Delivered | ReplyStatus::NotAsked => Handled::Done,
            },
            Self::Returned(Err(failure)) if failure.is_promise() => {
                obligation.pass_on();
                Handled::Done
            }
            Self::Returned(Err(failure)) => {
                let status = obligation.failed(&failure);
                Handled::Failed(failure, status)
            }
            Self::Panicked(panic) => {
                obligation.panicked(&panic);
                Handled::Panicked(panic)
            }
            Self::Aborted => Handled::Done,
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
        contain(|| self.conclude(End::Panicked(panic))).unwrap_or(Handled::Panicked(first))
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
