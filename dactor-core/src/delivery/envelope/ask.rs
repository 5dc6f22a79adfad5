//! A message that was asked, here or in another process.

use std::sync::Arc;

use super::dispatch::DispatchTarget;
use super::{DispatchContext, DynAsk, ReadDispatch, Running, RunningRead};
use crate::base::panic::discard;
use crate::delivery::access::{Dispatch, Handles, SharedActor};
use crate::delivery::ask_state::{AskState, Claim, Sink};
use crate::delivery::far::FarAsk;
use crate::delivery::handler::ToHandler;
use crate::delivery::incoming::Incoming;
use crate::delivery::obligation::{AskObligation, ReplySlot};
use crate::{Error, ErrorKind, Message};

impl<A: Handles<M>, M: Message> DynAsk<A> for AskState<M> {
    fn dispatch<'a>(self: Arc<Self>, context: DispatchContext<'a, A>) -> Running<'a> {
        dispatch(self.claim(), self, context)
    }

    fn share<'a>(&self, actor: &'a A) -> Option<&'a dyn SharedActor<A>> {
        A::By::share(actor)
    }

    fn dispatch_read<'a>(self: Arc<Self>, context: ReadDispatch<'a, A>) -> RunningRead<'a> {
        dispatch(self.claim(), self, context)
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
        dispatch(claim, asker, context)
    }

    fn share<'a>(&self, actor: &'a A) -> Option<&'a dyn SharedActor<A>> {
        A::By::share(actor)
    }

    fn dispatch_read<'a>(self: Arc<Self>, context: ReadDispatch<'a, A>) -> RunningRead<'a> {
        let claim = self.state.claim();
        let asker: Arc<dyn Sink<M::Reply>> = self;
        dispatch(claim, asker, context)
    }

    fn message_type(&self) -> &'static str {
        M::type_name()
    }

    fn keeps_alive(&self) -> bool {
        M::KEEP_ALIVE
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

/// Starts the handler of a claimed message, or answers why it does not run.
#[inline(always)]
fn dispatch<'a, M: Message, S: ReplySlot<M::Reply> + 'a, H: ToHandler<'a, M>>(
    claim: Claim<M>,
    asker: S,
    handler: H,
) -> H::Running {
    let target = handler.target();
    let (kind, message) = match claim {
        Claim::Message(message, headers) => {
            return handler.handle(message, headers, M::MODE, || AskObligation::new::<M>(asker, 0, target));
        }
        Claim::Withdrawn => {
            // Headers, perhaps.
            discard(asker);
            return H::skip();
        }
        Claim::Late(message) => (ErrorKind::Timeout, message),
        Claim::Cancelled(message) => (ErrorKind::Cancelled, message),
    };
    drop_unwanted(asker, message, kind, target);
    H::skip()
}

/// Ends an ask that its asker has given up.
fn drop_unwanted<M: Message>(
    asker: impl ReplySlot<M::Reply>,
    message: M,
    kind: ErrorKind,
    target: &dyn DispatchTarget,
) {
    discard(message);
    asker.sink().answer(Err(target.error(kind, M::type_name()).unhandled()));
    discard(asker);
}

/// Drops the message of a refused ask here, so that a panic of its destructor does not hit the asker.
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
