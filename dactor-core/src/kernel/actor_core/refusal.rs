//! Messages that are not accepted or not handled.

use super::ActorCore;
use crate::base::label::Labelled;
use crate::base::panic::{contain, discard};
use crate::delivery::envelope::Envelope;
use crate::mailbox::Refusal;
use crate::{Actor, Error, ErrorKind, Result};

/// The outcome for a sender that gets no error.
#[derive(Debug)]
pub(crate) enum Delivered {
    Queued,
    /// Dropped by the overflow policy, as a dead letter with this error.
    Dropped(Error),
}

impl<A: Actor> ActorCore<A> {
    /// Reports a message that was not accepted. A message dropped by the overflow policy is not an error for
    /// its sender.
    pub(super) fn refused(&self, refusal: Refusal<Envelope<A>>) -> Result<Delivered> {
        match self.explain(refusal) {
            Err(dropped) => Ok(Delivered::Dropped(dropped)),
            Ok((envelope, error)) => {
                self.dead_letter(envelope, &error);
                Err(error)
            }
        }
    }

    /// Why a message was not accepted; a message dropped by the overflow policy is already a dead letter,
    /// with this error.
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

    /// Refuses a message because the actor is ending.
    pub(crate) fn refuse(&self, envelope: Envelope<A>) -> Error {
        let error = self.stopped(envelope.message_type());
        self.dead_letter(envelope, &error);
        error
    }

    /// Answers for a message that would join too many others.
    pub(crate) fn refuse_interleaved(&self, envelope: Envelope<A>, limit: usize) {
        let error = self.error(ErrorKind::Overloaded, envelope.message_type());
        let error = error.with("because", "as many interleaved reads run as may run at once");
        self.dead_letter(envelope, &error.with("limit", limit));
    }

    /// Publishes a dead letter, and answers its asker, if any. The destructor runs under the panic guard: the
    /// message may belong to another sender, evicted to make room.
    pub(crate) fn dead_letter(&self, envelope: Envelope<A>, error: &Error) {
        if envelope.is_withdrawn() {
            // Withdrawn by its asker: not a loss.
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
