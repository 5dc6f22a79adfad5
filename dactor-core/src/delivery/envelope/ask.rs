//! A message that was asked, here or in another process.

use std::sync::Arc;

use super::dispatch::skip;
use super::{DispatchContext, DynAsk, Running};
use crate::base::panic::discard;
use crate::delivery::access::Handles;
use crate::delivery::ask_state::{AskState, Claim, Sink};
use crate::delivery::far::FarAsk;
use crate::delivery::handler::handle;
use crate::delivery::incoming::Incoming;
use crate::delivery::obligation::{AskObligation, ReplySlot};
use crate::{Error, ErrorKind, Message};

impl<A: Handles<M>, M: Message> DynAsk<A> for AskState<M> {
    fn dispatch<'a>(self: Arc<Self>, context: DispatchContext<'a, A>) -> Running<'a> {
        dispatch::<A, M, _>(self.claim(), self, context)
    }

    fn message_type(&self) -> &'static str {
        M::type_name()
    }

    fn describe(&self) -> Option<String> {
        self.describe_message()
    }

    fn refuse(&self, error: &Error) {
        Sink::answer(self, Err(error.clone()));
        discard_claimed(self.claim());
    }

    fn as_far(&self) -> &dyn FarAsk {
        self
    }

    fn into_far(self: Arc<Self>) -> Arc<dyn FarAsk> {
        self
    }
}

impl<A: Handles<M>, M: Message> DynAsk<A> for Incoming<M> {
    fn dispatch<'a>(self: Arc<Self>, context: DispatchContext<'a, A>) -> Running<'a> {
        let claim = self.state.claim();
        let asker: Arc<dyn Sink<M::Reply>> = self;
        dispatch::<A, M, _>(claim, asker, context)
    }

    fn message_type(&self) -> &'static str {
        M::type_name()
    }

    fn describe(&self) -> Option<String> {
        self.state.describe_message()
    }

    fn refuse(&self, error: &Error) {
        Sink::answer(self, Err(error.clone()));
        discard_claimed(self.state.claim());
    }

    fn as_far(&self) -> &dyn FarAsk {
        self
    }

    fn into_far(self: Arc<Self>) -> Arc<dyn FarAsk> {
        self
    }
}

/// Starts the handler of a message that was claimed, or says why it does not run.
#[inline(always)]
fn dispatch<'a, A: Handles<M>, M: Message, S: ReplySlot<M::Reply> + 'a>(
    claim: Claim<M>,
    asker: S,
    context: DispatchContext<'a, A>,
) -> Running<'a> {
    let (kind, message) = match claim {
        Claim::Message(message, headers) => {
            let obligation = AskObligation::new::<M>(asker, 0, context.target);
            return handle(context, message, headers, M::MODE, obligation);
        }
        Claim::Withdrawn => {
            // Headers, perhaps.
            discard(asker);
            return skip();
        }
        Claim::Late(message) => (ErrorKind::Timeout, message),
        Claim::Cancelled(message) => (ErrorKind::Cancelled, message),
    };
    discard(message);
    asker.sink().answer(Err(context.target.error(kind, M::type_name()).unhandled()));
    discard(asker);
    skip()
}

/// The message of an ask that is refused. Not left to the asker, who has not done anything wrong.
fn discard_claimed<M>(claim: Claim<M>) {
    match claim {
        Claim::Message(message, headers) => {
            discard(message);
            discard(headers);
        }
        Claim::Late(message) | Claim::Cancelled(message) => discard(message),
        Claim::Withdrawn => {}
    }
}
