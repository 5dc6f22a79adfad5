//! Values of users that leave the process or come from another one: their code may fail, and panic.

use std::any::type_name;

use crate::base::panic::contain;
use crate::{Codec, Error, ErrorKind, Message, Result, WireCodec};

/// Encodes a value of the user's, whose code may panic.
pub(crate) fn encode<T>(wire: &WireCodec<T>, value: &T, codec: Codec, buffer: &mut Vec<u8>) -> Result<()> {
    let before = buffer.len();
    let encoded = contain(|| wire.encode(value, codec, buffer)).unwrap_or_else(|panic| {
        let error = Error::new(ErrorKind::EncodeFailed).with("value", type_name::<T>());
        Err(error.with("codec", codec.name()).because(panic))
    });
    if encoded.is_err() {
        buffer.truncate(before);
    }
    encoded
}

/// Decodes a value of the user's, whose code may panic.
pub(crate) fn decode<T>(wire: &WireCodec<T>, payload: &[u8], codec: Codec) -> Result<T> {
    contain(|| wire.decode(payload, codec)).unwrap_or_else(|panic| {
        let error = Error::new(ErrorKind::DecodeFailed).with("value", type_name::<T>());
        Err(error.with("codec", codec.name()).because(panic))
    })
}

pub(crate) fn wire_name<M: Message>() -> Option<&'static str> {
    M::WIRE.map(|wire| wire.name())
}

pub(crate) fn encode_message<M: Message>(message: &M, codec: Codec, buffer: &mut Vec<u8>) -> Result<()> {
    match M::WIRE {
        Some(wire) => encode(&wire.message(), message, codec, buffer)
            .map_err(|error| error.with("message", M::type_name())),
        None => Err(Error::new(ErrorKind::NotRemotable).with("message", M::type_name())),
    }
}

/// The reply that another process gave.
pub(crate) fn decode_reply<M: Message>(payload: &[u8], codec: Codec) -> Result<M::Reply> {
    let decoded = match M::WIRE {
        Some(wire) => decode(&wire.reply(), payload, codec),
        None => Err(Error::new(ErrorKind::NotRemotable)),
    };
    // The handler has answered: it is the answer that cannot be read.
    decoded.map_err(|error| error.with("message", M::type_name()).perhaps_handled())
}
