//! Encoding of numbers and strings in frames, and decoding of untrusted bytes.

use crate::{Error, ErrorKind, Result};

/// Reads untrusted bytes. Returned values borrow from the input; only errors allocate.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, rest: bytes }
    }

    #[inline]
    pub(super) fn byte(&mut self, what: &'static str) -> Result<u8> {
        let Some((&byte, rest)) = self.rest.split_first() else {
            return Err(self.invalid(what, "is missing"));
        };
        self.rest = rest;
        Ok(byte)
    }

    #[inline]
    pub(super) fn take(&mut self, length: usize, what: &'static str) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(length) else {
            return Err(self.invalid(what, "is cut short"));
        };
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    pub(super) fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N]> {
        let Some((taken, rest)) = self.rest.split_first_chunk() else {
            return Err(self.invalid(what, "is cut short"));
        };
        self.rest = rest;
        Ok(*taken)
    }

    #[inline]
    pub(super) fn u16(&mut self, what: &'static str) -> Result<u16> {
        self.array(what).map(u16::from_le_bytes)
    }

    #[inline]
    pub(super) fn u64(&mut self, what: &'static str) -> Result<u64> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// A LEB128 number. Only the shortest encoding of a number is accepted.
    #[inline]
    pub(super) fn number(&mut self, what: &'static str) -> Result<u64> {
        match *self.rest {
            [small @ 0..0x80, ref rest @ ..] => {
                self.rest = rest;
                Ok(small.into())
            }
            [low, high @ 1..0x80, ref rest @ ..] => {
                self.rest = rest;
                Ok(u64::from(low & 0x7f) | (u64::from(high) << 7))
            }
            _ => self.large_number(what),
        }
    }

    fn large_number(&mut self, what: &'static str) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte(what)?;
            let bits = u64::from(byte & 0x7f);
            if (bits << shift) >> shift != bits {
                return Err(self.invalid(what, "is too large"));
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                if byte == 0 && shift > 0 {
                    return Err(self.invalid(what, "is written with more bytes than it needs"));
                }
                return Ok(number);
            }
        }
        Err(self.invalid(what, "is too large"))
    }

    #[inline]
    pub(super) fn text(&mut self, length: usize, what: &'static str) -> Result<&'a str> {
        let bytes = self.take(length, what)?;
        std::str::from_utf8(bytes).map_err(|error| self.invalid(what, "is not UTF-8").because(error))
    }

    /// A string with a length prefix of one byte.
    #[inline]
    pub(super) fn short_text(&mut self, what: &'static str) -> Result<&'a str> {
        let length = self.byte(what)?;
        self.text(length.into(), what)
    }

    /// A string with a length prefix of two bytes.
    #[inline]
    pub(super) fn long_text(&mut self, what: &'static str) -> Result<&'a str> {
        let length = self.u16(what)?;
        self.text(length.into(), what)
    }

    /// The remaining bytes.
    #[inline]
    pub(super) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// The bytes read since this position.
    pub(super) fn since(&self, at: usize) -> &'a [u8] {
        &self.bytes[at..self.at()]
    }

    pub(super) fn at(&self) -> usize {
        self.bytes.len() - self.rest.len()
    }

    pub(super) fn end(&self, what: &'static str) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.invalid(what, "is followed by more bytes")) }
    }

    #[cold]
    pub(super) fn invalid(&self, what: &'static str, because: &'static str) -> Error {
        let because = format!("{what} {because}");
        Error::new(ErrorKind::InvalidFrame).with("because", because).with("at byte", self.at())
    }
}

/// See [`Reader::number`].
#[inline]
pub(super) fn write_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The first bytes of a frame, appended to it at once.
pub(super) struct Head {
    bytes: [u8; 32],
    length: usize,
}

impl Head {
    #[inline]
    pub(super) fn new() -> Self {
        Self { bytes: [0; 32], length: 0 }
    }

    /// Ignores bytes beyond 32: no head is longer.
    #[inline]
    pub(super) fn push(&mut self, byte: u8) {
        if let Some(next) = self.bytes.get_mut(self.length) {
            *next = byte;
            self.length += 1;
        }
    }

    /// See [`Reader::number`].
    #[inline]
    pub(super) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.push(number as u8);
    }

    #[inline]
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bytes[..self.length]);
    }
}

/// A string with a length prefix of one byte. The caller has rejected or truncated a longer string.
#[inline]
pub(super) fn write_short(text: &str, out: &mut Vec<u8>) {
    let text = cut(text, u8::MAX.into());
    out.push(text.len() as u8);
    out.extend_from_slice(text.as_bytes());
}

/// A string with a length prefix of two bytes.
#[inline]
pub(super) fn write_long(text: &str, out: &mut Vec<u8>) {
    let text = cut(text, u16::MAX.into());
    out.extend_from_slice(&(text.len() as u16).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

/// Truncates the string to at most `bytes` bytes.
#[inline]
pub(super) fn cut(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let end = (0..=bytes).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_one_form() {
        for number in [0, 1, 127, 128, 300, 16_383, 16_384, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            write_number(number, &mut bytes);
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.number("it").unwrap(), number);
            reader.end("it").unwrap();
        }
        let refused =
            |bytes: &[u8]| Reader::new(bytes).number("it").unwrap_err().get("because").unwrap().to_owned();
        assert!(refused(&[0x80, 0]).contains("more bytes"));
        assert!(refused(&[0xff; 10]).contains("too large"));
        assert!(refused(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).contains("too large"));
        assert!(refused(&[0x80]).contains("missing"));
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!((cut("aé", 2), cut("aé", 3), cut("", 9)), ("a", "aé", ""));
    }
}
