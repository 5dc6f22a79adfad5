//! A message that was asked of another actor, which forwarded it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use super::dispatch::DispatchTarget;
use super::far::FarMessage;
use super::{DispatchContext, DynMessage, ReadDispatch, Running, RunningRead};
use crate::base::panic::discard;
use crate::delivery::access::{Dispatch, Handles, SharedActor};
use crate::delivery::ask_state::{Asker, Sink};
use crate::delivery::far::FarAsk;
use crate::delivery::far_codec::{decode_reply, encode_message, wire_name};
use crate::delivery::handler::ToHandler;
use crate::delivery::obligation::AskObligation;
use crate::message::items::FarStreams;
use crate::message::mode::Mode;
use crate::{Codec, Error, ErrorKind, Headers, Message, Result};

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

    fn dispatch_to<'a, H: ToHandler<'a, M>>(self, handler: H) -> H::Running {
        let target = handler.target();
        let Some(Forwarded { message, headers, asker }) = self.wanted(target) else { return H::skip() };
        let passes = asker.passes();
        handler.handle(message, headers, M::MODE, || AskObligation::new::<M>(asker, passes, target))
    }
}

impl<A: Handles<M>, M: Message> DynMessage<A> for Forwarded<M> {
    fn dispatch<'a>(self: Box<Self>, context: DispatchContext<'a, A>) -> Running<'a> {
        self.dispatch_to(context)
    }

    fn share<'a>(&self, actor: &'a A) -> Option<&'a dyn SharedActor<A>> {
        A::By::share(actor)
    }

    fn dispatch_read<'a>(self: Box<Self>, context: ReadDispatch<'a, A>) -> RunningRead<'a> {
        self.dispatch_to(context)
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

    fn far(&self) -> Option<&dyn FarMessage> {
        Some(self)
    }

    fn into_far(self: Box<Self>) -> Option<Arc<dyn FarAsk>> {
        let Forwarded { message, headers, asker } = *self;
        Some(Arc::new(LeavingForward { message: Mutex::new(Some(message)), headers, asker }))
    }
}

impl<M: Message> FarMessage for Forwarded<M> {
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
        M::MODE
    }
}

/// A forwarded message that leaves the process.
struct LeavingForward<M: Message> {
    message: Mutex<Option<M>>,
    headers: Headers,
    asker: Arc<dyn Sink<M::Reply>>,
}

impl<M: Message> LeavingForward<M> {
    fn lock(&self) -> MutexGuard<'_, Option<M>> {
        self.message.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M: Message> FarAsk for LeavingForward<M> {
    fn wire_name(&self) -> Option<&'static str> {
        wire_name::<M>()
    }

    fn message_type(&self) -> &'static str {
        M::type_name()
    }

    fn mode(&self) -> Mode {
        M::MODE
    }

    fn headers(&self) -> Headers {
        self.headers.clone()
    }

    fn deadline(&self) -> Option<Instant> {
        self.asker.deadline()
    }

    fn is_gone(&self) -> bool {
        self.asker.is_gone()
    }

    fn encode(&self, codec: Codec, buffer: &mut Vec<u8>) -> Result<()> {
        match &*self.lock() {
            Some(message) if !self.asker.has_given_up() => encode_message(message, codec, buffer),
            _ => Err(Error::new(ErrorKind::Cancelled).with("message", M::type_name())),
        }
    }

    fn sent(&self) -> Option<FarStreams> {
        if self.asker.has_given_up() {
            return None;
        }
        let message = self.lock().take()?;
        Some(message.into_streams())
    }

    fn answer(&self, payload: &[u8], codec: Codec, headers: Headers) -> bool {
        if !headers.is_empty() {
            self.asker.change_headers(&mut |own| own.merge(&headers));
        }
        self.asker.answer(decode_reply::<M>(payload, codec))
    }

    fn fail(&self, error: Error) -> bool {
        self.asker.answer(Err(error))
    }
}
