//! Decodes untrusted MessagePack.
//!
//! `rmp-serde` encodes outgoing messages, but does not decode received ones: it recurses on the stack without
//! a limit for enums, so 100 000 levels of a recursive message, in less than a mebibyte, would overflow the
//! stack and abort the process. A separate scan before decoding would cost as much as decoding. So this
//! decoder counts levels as it enters them, checks every length against the remaining input, and accepts
//! exactly one value that fills the whole input.

mod access;
mod deserializer;
mod error;
mod ext;

use serde::de::{DeserializeOwned, Visitor};

use self::access::{Bytes, Entries, Items};
pub(crate) use self::error::Malformed;
use self::error::Reason;
use self::ext::Ext;

/// Input nested this deep or deeper is rejected; `serde_json` has the same limit for JSON.
pub const MAX_DEPTH: usize = 128;

type Result<T, E = Malformed> = std::result::Result<T, E>;

/// Decodes a value that fills the whole payload.
pub(crate) fn from_slice<T: DeserializeOwned>(payload: &[u8]) -> Result<T> {
    let mut unpacker = Unpacker { rest: payload, length: payload.len(), owed: 0, depth: 0 };
    let value = T::deserialize(&mut unpacker)?;
    if unpacker.rest.is_empty() { Ok(value) } else { Err(unpacker.error(Reason::Long)) }
}

/// Decodes a sequence of values.
pub(super) struct Unpacker<'de> {
    rest: &'de [u8],
    /// The length of the whole input.
    length: usize,
    /// How many values the enclosing containers still expect. Each needs at least one byte, so a larger
    /// number than the remaining bytes is rejected. This bounds the memory that serde reserves.
    owed: usize,
    /// The number of enclosing containers.
    depth: usize,
}

impl<'de> Unpacker<'de> {
    #[inline]
    fn byte(&mut self) -> Result<u8> {
        match self.rest.split_first() {
            Some((&byte, rest)) => {
                self.rest = rest;
                Ok(byte)
            }
            None => Err(self.short()),
        }
    }

    #[inline]
    fn peek(&self) -> Result<u8> {
        self.rest.first().copied().ok_or_else(|| self.short())
    }

    #[inline]
    fn take(&mut self, length: usize) -> Result<&'de [u8]> {
        match self.rest.split_at_checked(length) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(self.short()),
        }
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.rest.split_first_chunk() {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(*taken)
            }
            None => Err(self.short()),
        }
    }

    /// A length of `N` bytes.
    fn length<const N: usize>(&mut self) -> Result<usize> {
        Ok(self.array::<N>()?.iter().fold(0, |length, byte| (length << 8) | usize::from(*byte)))
    }

    /// Enters a container with this many values.
    #[inline]
    fn enter(&mut self, values: usize) -> Result<()> {
        if self.depth + 1 == MAX_DEPTH {
            return Err(self.error(Reason::Nested));
        }
        if values > self.rest.len().saturating_sub(self.owed) {
            return Err(self.short());
        }
        self.owed += values;
        self.depth += 1;
        Ok(())
    }

    /// Starts a value of the current container.
    #[inline]
    fn begin(&mut self) {
        self.owed = self.owed.saturating_sub(1);
    }

    /// Leaves a container with this many values left; fails unless it is zero.
    #[inline]
    fn leave(&mut self, left: usize) -> Result<()> {
        self.depth -= 1;
        if left == 0 { Ok(()) } else { Err(self.error(Reason::Length)) }
    }

    #[cold]
    fn short(&self) -> Malformed {
        Malformed::new(Reason::Short, self.length)
    }

    #[cold]
    fn error(&self, reason: Reason) -> Malformed {
        Malformed::new(reason, self.length - self.rest.len())
    }

    /// The length of a string, if the marker is one of a string.
    #[inline]
    fn text_length(&mut self, marker: u8) -> Result<Option<usize>> {
        Ok(Some(match marker {
            0xa0..=0xbf => usize::from(marker & 0x1f),
            0xd9 => self.length::<1>()?,
            0xda => self.length::<2>()?,
            0xdb => self.length::<4>()?,
            _ => return Ok(None),
        }))
    }

    /// The number of entries, if the marker is one of a map.
    #[inline]
    fn map_length(&mut self, marker: u8) -> Result<Option<usize>> {
        Ok(Some(match marker {
            0x80..=0x8f => usize::from(marker & 0x0f),
            0xde => self.length::<2>()?,
            0xdf => self.length::<4>()?,
            _ => return Ok(None),
        }))
    }

    /// The number of items, if the marker is one of an array.
    #[inline]
    fn array_length(&mut self, marker: u8) -> Result<Option<usize>> {
        Ok(Some(match marker {
            0x90..=0x9f => usize::from(marker & 0x0f),
            0xdc => self.length::<2>()?,
            0xdd => self.length::<4>()?,
            _ => return Ok(None),
        }))
    }

    #[inline]
    fn text<V: Visitor<'de>>(&mut self, length: usize, visitor: V) -> Result<V::Value> {
        let bytes = self.take(length)?;
        match std::str::from_utf8(bytes) {
            Ok(text) => visitor.visit_borrowed_str(text),
            // Some types accept any bytes. Others get the UTF-8 error instead of a type mismatch.
            Err(error) => match visitor.visit_borrowed_bytes::<Malformed>(bytes) {
                Ok(value) => Ok(value),
                Err(_) => Err(self.error(Reason::Utf8(error))),
            },
        }
    }

    #[inline]
    fn map<V: Visitor<'de>>(&mut self, entries: usize, visitor: V) -> Result<V::Value> {
        self.enter(2 * entries)?;
        let mut access = Entries { unpacker: self, left: entries };
        let value = visitor.visit_map(&mut access)?;
        let left = access.left;
        self.leave(left)?;
        Ok(value)
    }

    #[inline]
    fn items<V: Visitor<'de>>(&mut self, items: usize, visitor: V) -> Result<V::Value> {
        self.enter(items)?;
        let mut access = Items { unpacker: self, left: items };
        let value = visitor.visit_seq(&mut access)?;
        let left = access.left;
        self.leave(left)?;
        Ok(value)
    }

    /// A number, or another value without content such as nil or a boolean.
    #[inline]
    fn number<V: Visitor<'de>>(&mut self, marker: u8, visitor: V) -> Result<V::Value> {
        match marker {
            0x00..=0x7f => visitor.visit_u8(marker),
            0xe0..=0xff => visitor.visit_i8(marker.cast_signed()),
            0xcc => visitor.visit_u8(self.byte()?),
            0xcd => visitor.visit_u16(u16::from_be_bytes(self.array()?)),
            0xce => visitor.visit_u32(u32::from_be_bytes(self.array()?)),
            0xcf => visitor.visit_u64(u64::from_be_bytes(self.array()?)),
            0xd0 => visitor.visit_i8(i8::from_be_bytes(self.array()?)),
            0xd1 => visitor.visit_i16(i16::from_be_bytes(self.array()?)),
            0xd2 => visitor.visit_i32(i32::from_be_bytes(self.array()?)),
            0xd3 => visitor.visit_i64(i64::from_be_bytes(self.array()?)),
            0xca => visitor.visit_f32(f32::from_be_bytes(self.array()?)),
            0xcb => visitor.visit_f64(f64::from_be_bytes(self.array()?)),
            0xc0 => visitor.visit_unit(),
            0xc2 | 0xc3 => visitor.visit_bool(marker == 0xc3),
            _ => Err(self.error(Reason::Marker(marker))),
        }
    }

    /// Any value. A type that expects a sequence gets the bytes of a binary as items.
    fn any<V: Visitor<'de>>(&mut self, visitor: V, as_sequence: bool) -> Result<V::Value> {
        let marker = self.byte()?;
        if let Some(length) = self.text_length(marker)? {
            return self.text(length, visitor);
        }
        if let Some(entries) = self.map_length(marker)? {
            return self.map(entries, visitor);
        }
        if let Some(items) = self.array_length(marker)? {
            return self.items(items, visitor);
        }
        match marker {
            0xc4..=0xc6 => {
                let bytes = self.binary(marker)?;
                if as_sequence {
                    visitor.visit_seq(Bytes(bytes))
                } else {
                    visitor.visit_borrowed_bytes(bytes)
                }
            }
            0xc7..=0xc9 | 0xd4..=0xd8 => visitor.visit_newtype_struct(Ext::read(self, marker)?),
            _ => self.number(marker, visitor),
        }
    }

    fn binary(&mut self, marker: u8) -> Result<&'de [u8]> {
        let length = match marker {
            0xc4 => self.length::<1>()?,
            0xc5 => self.length::<2>()?,
            _ => self.length::<4>()?,
        };
        self.take(length)
    }

    /// A 128-bit number is encoded as a binary of 16 bytes; `None` for a shorter number.
    fn large(&mut self) -> Result<Option<[u8; 16]>> {
        if self.peek()? != 0xc4 {
            return Ok(None);
        }
        let marker = self.byte()?;
        let bytes = self.binary(marker)?;
        bytes.try_into().map(Some).map_err(|_| self.error(Reason::Length))
    }
}

#[cfg(test)]
mod tests;
