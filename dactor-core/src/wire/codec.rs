//! Encoding of values in MessagePack and JSON, through serde.

use std::any::type_name;
use std::error::Error as StdError;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::wire::scope::take_failure;
use crate::wire::unpack;
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
        Codec::MessagePack => unpack::from_slice(payload).map_err(|error| cannot_decode::<T>(codec, error)),
        Codec::Json => serde_json::from_slice(payload).map_err(|error| cannot_decode::<T>(codec, error)),
    }
}

#[cold]
fn cannot_encode<T>(codec: Codec, cause: impl StdError + Send + Sync + 'static) -> Error {
    failed::<T>(ErrorKind::EncodeFailed, codec, cause.into())
}

#[cold]
fn cannot_decode<T>(codec: Codec, cause: impl StdError + Send + Sync + 'static) -> Error {
    failed::<T>(ErrorKind::DecodeFailed, codec, cause.into())
}

fn failed<T>(kind: ErrorKind, codec: Codec, cause: Box<dyn StdError + Send + Sync>) -> Error {
    let error = Error::new(kind).with("value", type_name::<T>()).with("codec", codec.name());
    // Serde keeps only the text of an error. Compared with it, to skip the error of an earlier ref that the
    // type ignored.
    match take_failure() {
        Some(of_ref) if cause.to_string().contains(&format!("{of_ref:#}")) => error.because(of_ref),
        _ => error.because(cause),
    }
}
