use std::fmt;

use crate::{Message, Result};

/// How payloads are written. The carrier of a message chooses it, never the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Codec {
    /// MessagePack with the names of fields, so that a newer version of a message may have more fields.
    MessagePack,
    /// JSON, to read what travels.
    Json,
}

impl Codec {
    /// Its name in handshakes and errors: `msgpack` or `json`.
    pub fn name(self) -> &'static str {
        match self {
            Self::MessagePack => "msgpack",
            Self::Json => "json",
        }
    }
}

/// How a `T` is encoded and decoded, in every [`Codec`].
///
/// With the feature `wire`, `WireCodec::serde()` makes one for every type that implements serde's traits.
pub struct WireCodec<T> {
    encode: fn(&T, Codec, &mut Vec<u8>) -> Result<()>,
    decode: fn(&[u8], Codec) -> Result<T>,
}

impl<T> WireCodec<T> {
    /// From functions: `encode` appends to the buffer, `decode` reads all that it is given.
    pub const fn new(
        encode: fn(&T, Codec, &mut Vec<u8>) -> Result<()>,
        decode: fn(&[u8], Codec) -> Result<T>,
    ) -> Self {
        Self { encode, decode }
    }

    /// Appends the value to the buffer. A failed attempt leaves its partial output there.
    ///
    /// # Errors
    ///
    /// [`EncodeFailed`](crate::ErrorKind::EncodeFailed) when the value cannot be encoded.
    pub fn encode(&self, value: &T, codec: Codec, buffer: &mut Vec<u8>) -> Result<()> {
        (self.encode)(value, codec, buffer)
    }

    /// Reads a value that takes up the whole payload.
    ///
    /// # Errors
    ///
    /// [`DecodeFailed`](crate::ErrorKind::DecodeFailed) when the payload is not the encoding of a `T`.
    pub fn decode(&self, payload: &[u8], codec: Codec) -> Result<T> {
        (self.decode)(payload, codec)
    }
}

impl<T> Clone for WireCodec<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for WireCodec<T> {}

impl<T> fmt::Debug for WireCodec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WireCodec").field(&std::any::type_name::<T>()).finish()
    }
}

/// How a message looks when it leaves the process: its name there, and how it and its reply are encoded.
///
/// `#[message(wire = "bank.Deposit")]` on the derive makes it, with serde. The name is the user's choice and stays the same
/// when the type is renamed or moved.
pub struct Wire<M: Message> {
    name: &'static str,
    message: WireCodec<M>,
    reply: WireCodec<M::Reply>,
}

/// A wire name has at most this many bytes.
pub const MAX_WIRE_NAME: usize = 255;

impl<M: Message> Wire<M> {
    /// A message with this name.
    pub const fn new(name: &'static str, message: WireCodec<M>, reply: WireCodec<M::Reply>) -> Self {
        Self { name, message, reply }
    }

    /// Its name on the wire.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// How the message is encoded.
    pub const fn message(&self) -> WireCodec<M> {
        self.message
    }

    /// How its reply is encoded.
    pub const fn reply(&self) -> WireCodec<M::Reply> {
        self.reply
    }
}

impl<M: Message> Clone for Wire<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Message> Copy for Wire<M> {}

impl<M: Message> fmt::Debug for Wire<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Wire").field(&self.name).finish()
    }
}

/// The same for a stream message: the request, the items that come with it, and the items or the reply that answer it.
///
/// | message | `In` | `Out` |
/// | --- | --- | --- |
/// | [`Expand`](crate::Expand) | `()`: none | its items |
/// | [`Reduce`](crate::Reduce) | its items | its reply |
/// | [`Transform`](crate::Transform) | its input | its output |
pub struct StreamWire<M, In, Out> {
    name: &'static str,
    request: WireCodec<M>,
    input: WireCodec<In>,
    output: WireCodec<Out>,
}

impl<M, In, Out> StreamWire<M, In, Out> {
    /// A stream message with this name.
    pub const fn new(
        name: &'static str,
        request: WireCodec<M>,
        input: WireCodec<In>,
        output: WireCodec<Out>,
    ) -> Self {
        Self { name, request, input, output }
    }

    /// Its name on the wire.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// How the request is encoded.
    pub const fn request(&self) -> WireCodec<M> {
        self.request
    }

    /// How an item that comes with the request is encoded.
    pub const fn input(&self) -> WireCodec<In> {
        self.input
    }

    /// How an item of the answer, or the reply, is encoded.
    pub const fn output(&self) -> WireCodec<Out> {
        self.output
    }
}

impl<M, In, Out> Clone for StreamWire<M, In, Out> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M, In, Out> Copy for StreamWire<M, In, Out> {}

impl<M, In, Out> fmt::Debug for StreamWire<M, In, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StreamWire").field(&self.name).finish()
    }
}
