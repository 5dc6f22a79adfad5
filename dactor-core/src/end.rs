//! How a handler ended, and what follows from it.

use crate::Outcome;
use crate::envelope::Handled;
use crate::owed::{Owed, Told};
use crate::panic::Panic;

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
    fn conclude(&mut self, end: End<R>) -> Handled;
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
