//! Values in MessagePack and JSON, through serde.

use std::any::type_name;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Codec, Error, ErrorKind, Message, Result, StreamWire, Wire, WireCodec};

impl<T: Serialize + DeserializeOwned> WireCodec<T> {
    /// Encodes and decodes with serde.
    pub const fn serde() -> Self {
        Self::new(encode::<T>, decode::<T>)
    }
}

impl<M> Wire<M>
where
    M: Message<Reply: Serialize + DeserializeOwned> + Serialize + DeserializeOwned,
{
    /// A message with this name, encoded with serde.
    pub const fn serde(name: &'static str) -> Self {
        Self::new(name, WireCodec::serde(), WireCodec::serde())
    }
}

impl<M, In, Out> StreamWire<M, In, Out>
where
    M: Serialize + DeserializeOwned,
    In: Serialize + DeserializeOwned,
    Out: Serialize + DeserializeOwned,
{
    /// A stream message with this name, encoded with serde.
    pub const fn serde(name: &'static str) -> Self {
        Self::new(name, WireCodec::serde(), WireCodec::serde(), WireCodec::serde())
    }
}

fn encode<T: Serialize>(value: &T, codec: Codec, buffer: &mut Vec<u8>) -> Result<()> {
    match codec {
        Codec::MessagePack => {
            rmp_serde::encode::write_named(buffer, value).map_err(|error| cannot_encode::<T>(codec, error))
        }
        Codec::Json => serde_json::to_writer(buffer, value).map_err(|error| cannot_encode::<T>(codec, error)),
    }
}

fn decode<T: DeserializeOwned>(payload: &[u8], codec: Codec) -> Result<T> {
    match codec {
        Codec::MessagePack => {
            rmp_serde::from_slice(payload).map_err(|error| cannot_decode::<T>(codec, error))
        }
        Codec::Json => serde_json::from_slice(payload).map_err(|error| cannot_decode::<T>(codec, error)),
    }
}

#[cold]
fn cannot_encode<T>(codec: Codec, cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::EncodeFailed)
        .with("value", type_name::<T>())
        .with("codec", codec.name())
        .because(cause)
}

#[cold]
fn cannot_decode<T>(codec: Codec, cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::DecodeFailed)
        .with("value", type_name::<T>())
        .with("codec", codec.name())
        .because(cause)
}
