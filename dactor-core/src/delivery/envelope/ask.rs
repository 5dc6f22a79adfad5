//! A message that was asked: of this actor, or of another one that forwarded it.

use std::sync::Arc;

use super::dispatch::skip;
use super::{DispatchContext, DynAsk, DynMessage, Running};
use crate::base::panic::discard;
use crate::delivery::access::Accepts;
use crate::delivery::ask_state::{AskState, Asker, Claim, Sink};
use crate::delivery::handler::handle;
use crate::delivery::obligation::AskObligation;
use crate::{Error, ErrorKind, Headers, Message};

impl<A: Accepts<M>, M: Message> DynAsk<A> for AskState<M> {
    fn dispatch<'a>(self: Arc<Self>, context: DispatchContext<'a, A>) -> Running<'a> {
        let (kind, message) = match self.claim() {
            Claim::Message(message, headers) => {
                let obligation = AskObligation::new::<M>(self, 0, context.target);
                return handle(context, message, headers, M::MODE, obligation);
            }
            Claim::Withdrawn => {
                // Headers, perhaps.
                discard(self);
                return skip();
            }
            Claim::Late(message) => (ErrorKind::Timeout, message),
            Claim::Cancelled(message) => (ErrorKind::Cancelled, message),
        };
        discard(message);
        Sink::answer(&*self, Err(context.target.error(kind, M::type_name()).unhandled()));
        discard(self);
        skip()
    }

    fn message_type(&self) -> &'static str {
        M::type_name()
    }

    fn keeps_alive(&self) -> bool {
        M::KEEP_ALIVE
    }

    fn describe(&self) -> Option<String> {
        self.describe_message()
    }

    fn refuse(&self, error: &Error) {
        Sink::answer(self, Err(error.clone()));
        // Not left to the asker, who has not done anything wrong.
        match self.claim() {
            Claim::Message(message, headers) => {
                discard(message);
                discard(headers);
            }
            Claim::Late(message) | Claim::Cancelled(message) => discard(message),
            Claim::Withdrawn => {}
        }
    }
}

/// A message whose handler answers an asker of another actor.
pub(super) struct Forwarded<M: Message> {
    pub(super) message: M,
    pub(super) headers: Headers,
    pub(super) asker: Arc<dyn Sink<M::Reply>>,
}

impl<A: Accepts<M>, M: Message> DynMessage<A> for Forwarded<M> {
    fn dispatch<'a>(self: Box<Self>, context: DispatchContext<'a, A>) -> Running<'a> {
        let Forwarded { message, headers, asker } = *self;
        if let Some(error) = context.target.unwanted(&*asker, M::type_name()) {
            discard(message);
            asker.answer(Err(error));
            discard(headers);
            discard(asker);
            return skip();
        }
        let passes = asker.passes();
        let obligation = AskObligation::new::<M>(asker, passes, context.target);
        handle(context, message, headers, M::MODE, obligation)
    }

    fn message_type(&self) -> &'static str {
        M::type_name()
    }

    fn keeps_alive(&self) -> bool {
        M::KEEP_ALIVE
    }

    fn describe(&self) -> Option<String> {
        self.message.describe()
    }

    fn refuse(&self, error: &Error) {
        self.asker.answer(Err(error.clone()));
    }

    fn asker(&self) -> Option<&dyn Asker> {
        Some(&*self.asker)
    }
}
