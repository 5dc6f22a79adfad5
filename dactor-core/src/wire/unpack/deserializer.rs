//! The serde deserializer for MessagePack.

use serde::de::{Deserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::access::{UnitVariant, Variant};
use super::error::Reason;
use super::ext::Ext;
use super::{Malformed, Result, Unpacker};

/// The name that `rmp-serde` uses for extension types.
const EXT: &str = rmp_serde::MSGPACK_EXT_STRUCT_NAME;

macro_rules! numbers {
    ($($method:ident)*) => {
        $(
            #[inline]
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                let marker = self.byte()?;
                self.number(marker, visitor)
            }
        )*
    };
}

impl<'de> Deserializer<'de> for &mut Unpacker<'de> {
    type Error = Malformed;

    fn is_human_readable(&self) -> bool {
        false
    }

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.any(visitor, false)
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.peek()? {
            short @ 0xa0..=0xbf => {
                self.rest = &self.rest[1..];
                self.text(usize::from(short & 0x1f), visitor)
            }
            _ => self.any(visitor, false),
        }
    }

    #[inline]
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_str(visitor)
    }

    #[inline]
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_str(visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.peek()? == 0xc0 {
            self.rest = &self.rest[1..];
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        let marker = self.peek()?;
        if !matches!(marker, 0x80..=0x8f | 0xde | 0xdf) {
            return visitor.visit_enum(UnitVariant(self));
        }
        self.rest = &self.rest[1..];
        // The name of the variant and its content.
        if self.map_length(marker)? != Some(1) {
            return Err(self.error(Reason::Length));
        }
        self.enter(2)?;
        let value = visitor.visit_enum(Variant(self))?;
        self.leave(0)?;
        Ok(value)
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        if name == EXT {
            let marker = self.byte()?;
            return visitor.visit_newtype_struct(Ext::read(self, marker)?);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        // Encoded as an empty array.
        if self.peek()? == 0x90 {
            self.rest = &self.rest[1..];
            return visitor.visit_unit();
        }
        self.any(visitor, false)
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.any(visitor, true)
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        self.any(visitor, true)
    }

    #[inline]
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value> {
        self.any(visitor, true)
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.any(visitor, true)
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.large()? {
            Some(digits) => visitor.visit_i128(i128::from_be_bytes(digits)),
            None => self.deserialize_i64(visitor),
        }
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.large()? {
            Some(digits) => visitor.visit_u128(u128::from_be_bytes(digits)),
            None => self.deserialize_u64(visitor),
        }
    }

    numbers! {
        deserialize_bool
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_f32 deserialize_f64
    }

    forward_to_deserialize_any! { bytes byte_buf unit map char ignored_any }
}
