//! What becomes of a message that is not accepted or not handled.

use super::ActorCore;
use crate::base::label::Labelled;
use crate::base::panic::{contain, discard};
use crate::delivery::envelope::Envelope;
use crate::mailbox::Refusal;
use crate::{Actor, Error, ErrorKind, Result};

/// What became of a message whose sender hears no error.
#[derive(Debug)]
pub(crate) enum Delivered {
    Queued,
    /// By the mailbox's policy, as a dead letter with this error.
    Dropped(Error),
}

impl<A: Actor> ActorCore<A> {
    /// Answers for a message that was not accepted. One that is dropped by the mailbox's policy is no error of
    /// its sender's.
    pub(super) fn refused(&self, refusal: Refusal<Envelope<A>>) -> Result<Delivered> {
        match self.explain(refusal) {
            Err(dropped) => Ok(Delivered::Dropped(dropped)),
            Ok((envelope, error)) => {
                self.dead_letter(envelope, &error);
                Err(error)
            }
        }
    }

    /// Why a message was not accepted; one that is dropped by the mailbox's policy is a dead letter already, with this error.
    pub(super) fn explain(&self, refusal: Refusal<Envelope<A>>) -> Result<(Envelope<A>, Error)> {
        match refusal {
            Refusal::Closed(envelope) => {
                let error = self.stopped(envelope.message_type());
                Ok((envelope, error))
            }
            Refusal::Full(envelope) => {
                let error = self.error(ErrorKind::MailboxFull, envelope.message_type());
                Ok((envelope, error))
            }
            Refusal::Overloaded(envelope, retry_after) => {
                let error = self.error(ErrorKind::Overloaded, envelope.message_type());
                Ok((envelope, error.with_retry_after(retry_after)))
            }
            Refusal::Dropped(envelope, wakeup) => {
                self.meta.wake(wakeup);
                let error = self.error(ErrorKind::MailboxFull, envelope.message_type());
                self.dead_letter(envelope, &error);
                Err(error)
            }
            Refusal::Withdrawn(envelope) => {
                let error = self.error(ErrorKind::Cancelled, envelope.message_type());
                discard(envelope);
                Err(error)
            }
        }
    }

    /// Answers for a message that the actor will not handle because it ends.
    pub(crate) fn refuse(&self, envelope: Envelope<A>) -> Error {
        let error = self.stopped(envelope.message_type());
        self.dead_letter(envelope, &error);
        error
    }

    /// A dead letter; its asker, if there is one, is answered. Its destructor runs under the guard: it may be another
    /// sender's message that makes room for this one.
    pub(crate) fn dead_letter(&self, envelope: Envelope<A>, error: &Error) {
        if envelope.is_withdrawn() {
            // Its asker took it back: it is not missing anywhere.
            return discard(envelope);
        }
        let message = envelope.message_type();
        let reported = contain(|| {
            self.meta.system().events().dead_letter(self, message, error, || envelope.describe());
            envelope.refuse(error);
        });
        if let Err(panic) = reported {
            tracing::warn!(actor = %self.label(), message, %panic, "a refused message panicked");
        }
    }
}
