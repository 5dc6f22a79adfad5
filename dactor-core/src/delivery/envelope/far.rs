//! An envelope that leaves the process, or came from another one.

use std::any::type_name;
use std::sync::Arc;

use super::{Envelope, Kind, Sharing};
use crate::delivery::access::Handles;
use crate::delivery::far::FarAsk;
use crate::delivery::incoming::Incoming;
use crate::message::mode::Mode;
use crate::{Actor, Codec, Error, ErrorKind, Headers, Message, Result};

/// A message that no reply is awaited for here, as far as it can leave the process.
pub(crate) trait FarMessage {
    fn wire_name(&self) -> Option<&'static str>;
    fn encode(&self, codec: Codec, buffer: &mut Vec<u8>) -> Result<()>;
    fn headers(&self) -> Headers;
    fn mode(&self) -> Mode;
}

/// What a carrier between processes does with an envelope.
///
/// 1. [`wire_name`](Self::wire_name), [`encode`](Self::encode), [`headers`](Self::headers) and [`mode`](Self::mode) look at it:
///    until it is taken apart it can be handed back whole.
/// 2. [`into_far_ask`](Self::into_far_ask) takes it apart. For a told message that is the end. An ask is kept until its
///    answer comes; [`FarAsk::sent`] says whether it may be sent at all.
impl<A: Actor> Envelope<A> {
    /// The name of its message on the wire.
    ///
    /// # Errors
    ///
    /// [`NotRemotable`](ErrorKind::NotRemotable) for a message that cannot leave the process.
    pub fn wire_name(&self) -> Result<&'static str> {
        let name = match &self.kind {
            Kind::Message(_, _, message) => message.far().and_then(FarMessage::wire_name),
            Kind::Ask(_, ask) => ask.as_far().wire_name(),
        };
        name.ok_or_else(|| self.not_remotable())
    }

    /// Appends the message to the buffer; nothing is appended by an attempt that fails.
    ///
    /// # Errors
    ///
    /// [`NotRemotable`](ErrorKind::NotRemotable) for a message that cannot leave the process,
    /// [`EncodeFailed`](ErrorKind::EncodeFailed) for a message that cannot be encoded, [`Cancelled`](ErrorKind::Cancelled) when its
    /// asker has given up.
    pub fn encode(&self, codec: Codec, buffer: &mut Vec<u8>) -> Result<()> {
        self.wire_name()?;
        let encoded = match &self.kind {
            Kind::Message(_, _, message) => match message.far() {
                Some(message) => message.encode(codec, buffer),
                None => Err(self.not_remotable()),
            },
            Kind::Ask(_, ask) => ask.as_far().encode(codec, buffer),
        };
        encoded.map_err(|error| error.with("type", type_name::<A>()))
    }

    /// What travels beside the message.
    pub fn headers(&self) -> Headers {
        match &self.kind {
            Kind::Message(_, _, message) => message.far().map(FarMessage::headers).unwrap_or_default(),
            Kind::Ask(_, ask) => ask.as_far().headers(),
        }
    }

    /// How it was sent.
    pub fn mode(&self) -> Mode {
        match &self.kind {
            Kind::Message(_, _, message) => message.far().map_or(Mode::Tell, FarMessage::mode),
            Kind::Ask(_, ask) => ask.as_far().mode(),
        }
    }

    /// The ask, to answer it when the answer comes; `None` for a message that was told.
    pub fn into_far_ask(self) -> Option<Arc<dyn FarAsk>> {
        match self.kind {
            Kind::Message(_, _, message) => message.into_far(),
            Kind::Ask(_, ask) => Some(ask.into_far()),
        }
    }

    /// An ask that came from another process.
    pub(crate) fn incoming<M: Message>(ask: Arc<Incoming<M>>) -> Self
    where
        A: Handles<M>,
    {
        Self { kind: Kind::Ask(Sharing::of::<M>(), ask) }
    }

    fn not_remotable(&self) -> Error {
        let because = "it has no wire name: derive it with `#[message(wire = \"..\")]`";
        let error = Error::new(ErrorKind::NotRemotable).with("type", type_name::<A>());
        error.with("message", self.message_type()).with("because", because)
    }
}
