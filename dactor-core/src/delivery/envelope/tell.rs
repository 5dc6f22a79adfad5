//! A message that was told.

use std::any::Any;

use super::{DispatchContext, DynMessage, ReadDispatch, Running, RunningRead};
use crate::delivery::access::{Accepts, SharedActor};
use crate::delivery::handler::handle_told;
use crate::delivery::obligation::NoObligation;
use crate::message::mode::Mode;
use crate::{Headers, Message};

pub(crate) struct Tell<M>(pub(crate) M);

impl<A: Accepts<M>, M: Message> DynMessage<A> for Tell<M> {
    fn dispatch<'a>(self: Box<Self>, context: DispatchContext<'a, A>) -> Running<'a> {
        handle_told(context, self.0, Headers::default(), ())
    }

    fn share<'a>(&self, actor: &'a A) -> Option<&'a dyn SharedActor<A>> {
        Accepts::<M>::share(actor)
    }

    fn dispatch_read<'a>(self: Box<Self>, context: ReadDispatch<'a, A>) -> RunningRead<'a> {
        A::accept_read(context, self.0, Headers::default(), Mode::Tell, NoObligation(()))
    }

    fn message_type(&self) -> &'static str {
        M::type_name()
    }

    fn keeps_alive(&self) -> bool {
        M::KEEP_ALIVE
    }

    fn describe(&self) -> Option<String> {
        self.0.describe()
    }

    fn into_any(self: Box<Self>) -> Option<Box<dyn Any>> {
        Some(self)
    }
}

/// A told message with headers beside it.
pub(crate) struct Annotated<M> {
    pub(crate) message: M,
    pub(super) headers: Headers,
}

impl<A: Accepts<M>, M: Message> DynMessage<A> for Annotated<M> {
    fn dispatch<'a>(self: Box<Self>, context: DispatchContext<'a, A>) -> Running<'a> {
        let Annotated { message, headers } = *self;
        handle_told(context, message, headers, ())
    }

    fn share<'a>(&self, actor: &'a A) -> Option<&'a dyn SharedActor<A>> {
        Accepts::<M>::share(actor)
    }

    fn dispatch_read<'a>(self: Box<Self>, context: ReadDispatch<'a, A>) -> RunningRead<'a> {
        let Annotated { message, headers } = *self;
        A::accept_read(context, message, headers, Mode::Tell, NoObligation(()))
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

    fn into_any(self: Box<Self>) -> Option<Box<dyn Any>> {
        Some(self)
    }
}
