use std::fmt;
use std::sync::Arc;

use crate::base::label::Labelled;
use crate::delivery::ask_state::Sink;
use crate::delivery::gate::SharedGate;
use crate::{Error, ErrorKind, Failure};

/// A deferred reply: from [`Context::reply_later`](crate::Context::reply_later).
///
/// Dropping it without a reply answers the asker with [`NoReply`](ErrorKind::NoReply).
#[must_use = "dropping it answers the asker with an error"]
pub struct Later<R> {
    /// `None` for a told message, and once answered.
    asker: Option<Arc<dyn Sink<R>>>,
    actor: Arc<dyn Labelled>,
    message: &'static str,
    /// Of an actor that may lose the right to answer.
    gate: Option<SharedGate>,
}

impl<R> Later<R> {
    pub(crate) fn new(
        asker: Option<Arc<dyn Sink<R>>>,
        actor: Arc<dyn Labelled>,
        message: &'static str,
        gate: Option<SharedGate>,
    ) -> Self {
        Self { asker, actor, message, gate }
    }

    /// Replies. `false` when no asker is waiting, or when the actor has lost the right to answer: an activation of a virtual
    /// actor whose node has lost its lease. Then the asker gets an error.
    pub fn reply(mut self, reply: R) -> bool {
        match self.refusal() {
            None => self.asker.take().is_some_and(|asker| asker.answer(Ok(reply))),
            Some(error) => {
                if let Some(asker) = self.asker.take() {
                    asker.answer(Err(error));
                }
                false
            }
        }
    }

    /// Answers with a failure, as if the handler had returned it.
    pub fn fail(mut self, failure: impl Into<Failure>) -> bool {
        let failed = || self.error(ErrorKind::Failed).because_shared(failure.into().shared());
        let error = self.refusal().unwrap_or_else(failed);
        self.asker.take().is_some_and(|asker| asker.answer(Err(error)))
    }

    /// Whether the asker has given up.
    pub fn is_cancelled(&self) -> bool {
        self.asker.as_ref().is_none_or(|asker| asker.is_gone())
    }

    /// The error to give instead of the answer.
    fn refusal(&self) -> Option<Error> {
        // The message was handled before: the answer is no activity.
        self.gate.as_ref()?.may_reply(false).err().map(Error::perhaps_handled)
    }

    fn error(&self, kind: ErrorKind) -> Error {
        Error::new(kind).about(&*self.actor).with("message", self.message)
    }
}

impl<R> Drop for Later<R> {
    fn drop(&mut self) {
        if let Some(asker) = self.asker.take() {
            asker.answer(Err(self.error(ErrorKind::NoReply)));
        }
    }
}

impl<R> fmt::Debug for Later<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Later").field("actor", &self.actor.label()).field("message", &self.message).finish()
    }
}
