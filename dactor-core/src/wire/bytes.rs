//! Numbers and texts in frames: how they are written, and read without trust.

use crate::{Error, ErrorKind, Result};

/// Reads bytes from another process. What it gives is a part of them: it allocates nothing but errors.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    #[inline]
    pub(super) fn byte(&mut self, what: &'static str) -> Result<u8> {
        let Some(&byte) = self.bytes.get(self.at) else { return Err(self.invalid(what, "is missing")) };
        self.at += 1;
        Ok(byte)
    }

    #[inline]
    pub(super) fn take(&mut self, length: usize, what: &'static str) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        if rest.len() < length {
            return Err(self.invalid(what, "is cut short"));
        }
        self.at += length;
        Ok(&rest[..length])
    }

    #[inline]
    pub(super) fn u16(&mut self, what: &'static str) -> Result<u16> {
        let mut digits = [0; 2];
        digits.copy_from_slice(self.take(2, what)?);
        Ok(u16::from_le_bytes(digits))
    }

    #[inline]
    pub(super) fn u64(&mut self, what: &'static str) -> Result<u64> {
        let mut digits = [0; 8];
        digits.copy_from_slice(self.take(8, what)?);
        Ok(u64::from_le_bytes(digits))
    }

    /// A number in groups of seven bits, lowest first. A number has one form: one that is longer than it need be is refused.
    #[inline]
    pub(super) fn number(&mut self, what: &'static str) -> Result<u64> {
        match self.bytes.get(self.at) {
            Some(&small) if small < 0x80 => {
                self.at += 1;
                Ok(small.into())
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

    /// A text behind its length in one byte.
    #[inline]
    pub(super) fn short_text(&mut self, what: &'static str) -> Result<&'a str> {
        let length = self.byte(what)?;
        self.text(length.into(), what)
    }

    /// A text behind its length in two bytes.
    #[inline]
    pub(super) fn long_text(&mut self, what: &'static str) -> Result<&'a str> {
        let length = self.u16(what)?;
        self.text(length.into(), what)
    }

    /// All that has not been read.
    pub(super) fn rest(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        self.at = self.bytes.len();
        rest
    }

    /// What has been read since the reader was here.
    pub(super) fn since(&self, at: usize) -> &'a [u8] {
        &self.bytes[at..self.at]
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn end(&self, what: &'static str) -> Result<()> {
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            Err(self.invalid(what, "is followed by more bytes"))
        }
    }

    #[cold]
    pub(super) fn invalid(&self, what: &'static str, because: &'static str) -> Error {
        let because = format!("{what} {because}");
        Error::new(ErrorKind::InvalidFrame).with("because", because).with("at byte", self.at)
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

/// A text behind its length in one byte: what is longer has been refused, or is cut by the caller.
#[inline]
pub(super) fn write_short(text: &str, out: &mut Vec<u8>) {
    let text = cut(text, u8::MAX.into());
    out.push(text.len() as u8);
    out.extend_from_slice(text.as_bytes());
}

/// The same behind two bytes.
#[inline]
pub(super) fn write_long(text: &str, out: &mut Vec<u8>) {
    let text = cut(text, u16::MAX.into());
    out.extend_from_slice(&(text.len() as u16).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

/// The first bytes of a text, at the most so many.
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
