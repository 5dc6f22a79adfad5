//! How a handler ended, and what follows from it.

use crate::base::panic::{Panic, contain};
use crate::delivery::obligation::{ReplyObligation, ReplyStatus};
use crate::{Failure, Outcome};

/// How a handler ended. An asker has been answered by then.
#[derive(Debug)]
pub(crate) enum Handled {
    Done,
    /// The asker was gone when the reply was ready.
    AskerGone,
    /// The handler had deferred its reply, and returned one all the same: it is dropped.
    ReplyDropped,
    /// The status says whether the asker got the failure.
    Failed(Failure, ReplyStatus),
    Panicked(Panic),
}

/// How a handler ended, before anyone is told.
pub(crate) enum End<R> {
    Returned(Outcome<R>),
    Panicked(Panic),
    /// The asker has given up, and the handler with it.
    Aborted,
}

impl<R> End<R> {
    /// Answers, if an answer is owed.
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
    /// Runs code of the user's that may panic: a reply that nobody waits for is dropped here.
    fn conclude(&mut self, end: End<R>) -> Handled;

    /// Concludes after a panic, also after one in [`conclude`](Self::conclude) itself, and does not panic.
    #[cold]
    fn panicked(&mut self, panic: Panic) -> Handled {
        let first = panic.clone();
        contain(|| self.conclude(End::Panicked(panic))).unwrap_or(Handled::Panicked(first))
    }
}

/// Answers at once: the message has no interceptors.
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
