//! Serde access to the values in containers.

use serde::Deserializer;
use serde::de::{
    DeserializeSeed, EnumAccess, Error as _, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};

use super::error::Reason;
use super::{Malformed, Result, Unpacker};

/// The items of an array.
pub(super) struct Items<'a, 'de> {
    pub(super) unpacker: &'a mut Unpacker<'de>,
    pub(super) left: usize,
}

impl<'de> SeqAccess<'de> for Items<'_, 'de> {
    type Error = Malformed;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.unpacker.begin();
        seed.deserialize(&mut *self.unpacker).map(Some)
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

/// The entries of a map.
pub(super) struct Entries<'a, 'de> {
    pub(super) unpacker: &'a mut Unpacker<'de>,
    pub(super) left: usize,
}

impl<'de> MapAccess<'de> for Entries<'_, 'de> {
    type Error = Malformed;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.unpacker.begin();
        seed.deserialize(&mut *self.unpacker).map(Some)
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        self.unpacker.begin();
        seed.deserialize(&mut *self.unpacker)
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

/// The bytes of a binary, as a sequence.
pub(super) struct Bytes<'de>(pub(super) &'de [u8]);

impl<'de> SeqAccess<'de> for Bytes<'de> {
    type Error = Malformed;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let Some((&byte, rest)) = self.0.split_first() else { return Ok(None) };
        self.0 = rest;
        seed.deserialize(byte.into_deserializer()).map(Some)
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// A variant with content: a map with one entry.
pub(super) struct Variant<'a, 'de>(pub(super) &'a mut Unpacker<'de>);

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = Malformed;
    type Variant = Self;

    #[inline]
    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self)> {
        self.0.begin();
        let variant = seed.deserialize(&mut *self.0)?;
        self.0.begin();
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = Malformed;

    fn unit_variant(self) -> Result<()> {
        match self.0.byte()? {
            0xc0 => Ok(()),
            marker => Err(self.0.error(Reason::Marker(marker))),
        }
    }

    #[inline]
    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value> {
        seed.deserialize(self.0)
    }

    #[inline]
    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value> {
        self.0.deserialize_tuple(length, visitor)
    }

    #[inline]
    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value> {
        self.0.deserialize_seq(visitor)
    }
}

/// A variant without content: only its name.
pub(super) struct UnitVariant<'a, 'de>(pub(super) &'a mut Unpacker<'de>);

impl<'de> EnumAccess<'de> for UnitVariant<'_, 'de> {
    type Error = Malformed;
    type Variant = NoContent;

    #[inline]
    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, NoContent)> {
        seed.deserialize(self.0).map(|variant| (variant, NoContent))
    }
}

pub(super) struct NoContent;

impl NoContent {
    fn expected<T>(what: &str) -> Result<T> {
        Err(Malformed::invalid_type(Unexpected::UnitVariant, &what))
    }
}

impl<'de> VariantAccess<'de> for NoContent {
    type Error = Malformed;

    fn unit_variant(self) -> Result<()> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value> {
        Self::expected("newtype variant")
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value> {
        Self::expected("tuple variant")
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value> {
        Self::expected("struct variant")
    }
}
