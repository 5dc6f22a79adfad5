//! A message that was told.

use std::any::Any;

use super::far::FarMessage;
use super::{DispatchContext, DynMessage, ReadDispatch, Running, RunningRead};
use crate::delivery::access::{Dispatch, Handles, SharedActor};
use crate::delivery::far_codec::{encode_message, wire_name};
use crate::delivery::handler::ToHandler;
use crate::delivery::obligation::NoObligation;
use crate::message::mode::Mode;
use crate::{Codec, Headers, Message, Result};

pub(crate) struct Tell<M>(pub(crate) M);

impl<A: Handles<M>, M: Message> DynMessage<A> for Tell<M> {
    fn dispatch<'a>(self: Box<Self>, context: DispatchContext<'a, A>) -> Running<'a> {
        context.handle(self.0, Headers::default(), Mode::Tell, || NoObligation(()))
    }

    fn share<'a>(&self, actor: &'a A) -> Option<&'a dyn SharedActor<A>> {
        A::By::share(actor)
    }

    fn dispatch_read<'a>(self: Box<Self>, context: ReadDispatch<'a, A>) -> RunningRead<'a> {
        context.handle(self.0, Headers::default(), Mode::Tell, || NoObligation(()))
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

    fn far(&self) -> Option<&dyn FarMessage> {
        Some(self)
    }
}

impl<M: Message> FarMessage for Tell<M> {
    fn wire_name(&self) -> Option<&'static str> {
        wire_name::<M>()
    }

    fn encode(&self, codec: Codec, buffer: &mut Vec<u8>) -> Result<()> {
        encode_message(&self.0, codec, buffer)
    }

    fn headers(&self) -> Headers {
        Headers::default()
    }

    fn mode(&self) -> Mode {
        Mode::Tell
    }
}

/// A told message with headers beside it.
pub(crate) struct Annotated<M> {
    pub(crate) message: M,
    pub(super) headers: Headers,
}

impl<A: Handles<M>, M: Message> DynMessage<A> for Annotated<M> {
    fn dispatch<'a>(self: Box<Self>, context: DispatchContext<'a, A>) -> Running<'a> {
        let Annotated { message, headers } = *self;
        context.handle(message, headers, Mode::Tell, || NoObligation(()))
    }

    fn share<'a>(&self, actor: &'a A) -> Option<&'a dyn SharedActor<A>> {
        A::By::share(actor)
    }

    fn dispatch_read<'a>(self: Box<Self>, context: ReadDispatch<'a, A>) -> RunningRead<'a> {
        let Annotated { message, headers } = *self;
        context.handle(message, headers, Mode::Tell, || NoObligation(()))
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

    fn far(&self) -> Option<&dyn FarMessage> {
        Some(self)
    }
}

impl<M: Message> FarMessage for Annotated<M> {
    fn wire_name(&self) -> Option<&'static str> {
        wire_name::<M>()
    }

    fn encode(&self, codec: Codec, buffer: &mut Vec<u8>) -> Result<()> {
        encode_message(&self.message, codec, buffer)
    }

    fn headers(&self) -> Headers {
        self.headers.clone()
    }

    fn mode(&self) -> Mode {
        Mode::Tell
    }
}
