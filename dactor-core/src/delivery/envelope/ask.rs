//! A message that was asked: of this actor, or of another one that forwarded it.

use std::sync::Arc;

use super::dispatch::{DispatchTarget, skip};
use super::{DispatchContext, DynAsk, DynMessage, ReadDispatch, Running, RunningRead};
use crate::base::panic::discard;
use crate::delivery::access::{Accepts, SharedActor};
use crate::delivery::ask_state::{AskState, Asker, Claim, Sink};
use crate::delivery::handler::handle;
use crate::delivery::handler::read::skip_read;
use crate::delivery::obligation::AskObligation;
use crate::{Error, ErrorKind, Headers, Message};

impl<A: Accepts<M>, M: Message> DynAsk<A> for AskState<M> {
    fn dispatch<'a>(self: Arc<Self>, context: DispatchContext<'a, A>) -> Running<'a> {
        let (kind, message) = match self.claim() {
            Claim::Message(message, headers) => {
                let obligation = AskObligation::new::<M>(self, 0, context.route.target);
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
        self.drop_unwanted(message, kind, context.route.target);
        skip()
    }

    fn share<'a>(&self, actor: &'a A) -> Option<&'a dyn SharedActor<A>> {
        Accepts::<M>::share(actor)
    }

    fn dispatch_read<'a>(self: Arc<Self>, context: ReadDispatch<'a, A>) -> RunningRead<'a> {
        let (kind, message) = match self.claim() {
            Claim::Message(message, headers) => {
                let obligation = AskObligation::new::<M>(self, 0, context.route.target);
                return A::accept_read(context, message, headers, M::MODE, obligation);
            }
            Claim::Withdrawn => {
                discard(self);
                return skip_read();
            }
            Claim::Late(message) => (ErrorKind::Timeout, message),
            Claim::Cancelled(message) => (ErrorKind::Cancelled, message),
        };
        self.drop_unwanted(message, kind, context.route.target);
        skip_read()
    }

    fn message_type(&self) -> &'static str {
        M::type_name()
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

impl<M: Message> AskState<M> {
    /// Ends an ask that its asker has given up.
    fn drop_unwanted(self: Arc<Self>, message: M, kind: ErrorKind, target: &dyn DispatchTarget) {
        discard(message);
        Sink::answer(&*self, Err(target.error(kind, M::type_name()).unhandled()));
        discard(self);
    }
}

/// A message whose handler answers an asker of another actor.
pub(super) struct Forwarded<M: Message> {
    pub(super) message: M,
    pub(super) headers: Headers,
    pub(super) asker: Arc<dyn Sink<M::Reply>>,
}

impl<M: Message> Forwarded<M> {
    /// Itself, unless its asker has given up.
    fn wanted(self, target: &dyn DispatchTarget) -> Option<Self> {
        let Some(error) = target.unwanted(&*self.asker, M::type_name()) else { return Some(self) };
        let Forwarded { message, headers, asker } = self;
        discard(message);
        asker.answer(Err(error));
        discard(headers);
        discard(asker);
        None
    }
}

impl<A: Accepts<M>, M: Message> DynMessage<A> for Forwarded<M> {
    fn dispatch<'a>(self: Box<Self>, context: DispatchContext<'a, A>) -> Running<'a> {
        let Some(Forwarded { message, headers, asker }) = self.wanted(context.route.target) else {
            return skip();
        };
        let passes = asker.passes();
        let obligation = AskObligation::new::<M>(asker, passes, context.route.target);
        handle(context, message, headers, M::MODE, obligation)
    }

    fn share<'a>(&self, actor: &'a A) -> Option<&'a dyn SharedActor<A>> {
        Accepts::<M>::share(actor)
    }

    fn dispatch_read<'a>(self: Box<Self>, context: ReadDispatch<'a, A>) -> RunningRead<'a> {
        let Some(Forwarded { message, headers, asker }) = self.wanted(context.route.target) else {
            return skip_read();
        };
        let passes = asker.passes();
        let obligation = AskObligation::new::<M>(asker, passes, context.route.target);
        A::accept_read(context, message, headers, M::MODE, obligation)
    }

    fn message_type(&self) -> &'static str {
        M::type_name()
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
