//! Extension types: a type number and bytes.

use serde::de::value::BorrowedBytesDeserializer;
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::error::Reason;
use super::{Malformed, Result, Unpacker};

/// An extension as a sequence of its type number and its bytes.
pub(super) struct Ext<'de> {
    number: Option<i8>,
    bytes: Option<&'de [u8]>,
}

impl<'de> Ext<'de> {
    pub(super) fn read(unpacker: &mut Unpacker<'de>, marker: u8) -> Result<Self> {
        let length = match marker {
            0xd4..=0xd8 => 1 << (marker - 0xd4),
            0xc7 => unpacker.length::<1>()?,
            0xc8 => unpacker.length::<2>()?,
            0xc9 => unpacker.length::<4>()?,
            _ => return Err(unpacker.error(Reason::Marker(marker))),
        };
        let number = i8::from_be_bytes(unpacker.array()?);
        Ok(Self { number: Some(number), bytes: Some(unpacker.take(length)?) })
    }
}

impl<'de> Deserializer<'de> for Ext<'de> {
    type Error = Malformed;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_seq(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> SeqAccess<'de> for Ext<'de> {
    type Error = Malformed;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if let Some(number) = self.number.take() {
            return seed.deserialize(number.into_deserializer()).map(Some);
        }
        match self.bytes.take() {
            Some(bytes) => seed.deserialize(BorrowedBytesDeserializer::new(bytes)).map(Some),
            None => Ok(None),
        }
    }
}
