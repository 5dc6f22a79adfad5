//! How a handler ended, and what follows from it.

use crate::Outcome;
use crate::envelope::Handled;
use crate::owed::{Owed, Told};
use crate::panic::{Panic, contain};

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
    pub(crate) fn settle(self, owed: &mut impl Owed<R>) -> Handled {
        match self {
            Self::Returned(Ok(reply)) => match owed.give(Ok(reply)) {
                Told::Nobody => Handled::Unheard,
                Told::Somebody | Told::NotAsked => Handled::Done,
            },
            Self::Returned(Err(failure)) if failure.is_promise() => {
                owed.pass_on();
                Handled::Done
            }
            Self::Returned(Err(failure)) => {
                let told = owed.failed(&failure);
                Handled::Failed(failure, told)
            }
            Self::Panicked(panic) => {
                owed.panicked(&panic);
                Handled::Panicked(panic)
            }
            Self::Aborted => Handled::Done,
        }
    }
}

/// What follows when a handler has ended.
pub(crate) trait Sequel<R>: Send {
    type Owed: Owed<R>;

    fn owed(&mut self) -> &mut Self::Owed;
    /// Runs code of the user's that may panic: a reply that nobody waits for is dropped here.
    fn conclude(&mut self, end: End<R>) -> Handled;

    /// Concludes after a panic, also after one in [`conclude`](Self::conclude) itself, and does not panic.
    #[cold]
    fn panicked(&mut self, panic: Panic) -> Handled {
        let first = panic.clone();
        contain(|| self.conclude(End::Panicked(panic))).unwrap_or(Handled::Panicked(first))
    }
}

/// The answer, and nothing before it.
pub(crate) struct Plainly<O>(pub(crate) O);

impl<R, O: Owed<R>> Sequel<R> for Plainly<O> {
    type Owed = O;

    fn owed(&mut self) -> &mut O {
        &mut self.0
    }

    #[inline]
    fn conclude(&mut self, end: End<R>) -> Handled {
        end.settle(&mut self.0)
    }
}
