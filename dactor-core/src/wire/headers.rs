//! Headers on the wire, as names and bytes. A process decodes known types and forwards unknown ones.

use std::collections::HashMap;
use std::fmt;

use crate::base::panic::contain;
use crate::message::headers::invalid;
use crate::wire::bytes::Reader;
use crate::{CorrelationId, Deadline, Error, ErrorKind, Header, Headers, Result, Sender, TraceParent};

/// The maximum number of headers in a frame.
pub const MAX_HEADERS: usize = 64;

/// The encoded headers of a frame.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct RawHeaders<'a> {
    count: u8,
    /// For each header: a length prefix of one byte, the name, a length prefix of two bytes, the value.
    bytes: &'a [u8],
}

impl<'a> RawHeaders<'a> {
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self> {
        let count = reader.byte("the number of headers")?;
        if count == 0 {
            return Err(reader.invalid("the number of headers", "is zero"));
        }
        if usize::from(count) > MAX_HEADERS {
            let error = reader.invalid("the number of headers", "is too large");
            return Err(error.with("limit", MAX_HEADERS));
        }
        let begin = reader.at();
        for _ in 0..count {
            let name = reader.short_text("the name of a header")?;
            if name.is_empty() {
                return Err(reader.invalid("the name of a header", "is empty"));
            }
            let length = usize::from(reader.u16("a header")?);
            if length > Headers::MAX_BYTES {
                let error = reader.invalid("a header", "is too long").with("header", name);
                return Err(error.with("bytes", length).with("limit", Headers::MAX_BYTES));
            }
            reader.take(length, "a header")?;
        }
        Ok(Self { count, bytes: reader.since(begin) })
    }

    /// Appends the number of headers and the headers, if any.
    pub(super) fn write(self, out: &mut Vec<u8>) {
        if self.count > 0 {
            out.push(self.count);
            out.extend_from_slice(self.bytes);
        }
    }

    /// Whether there are no headers.
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// The number of headers.
    pub fn len(self) -> usize {
        self.count.into()
    }

    /// Iterates over names and values.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        let mut reader = Reader::new(self.bytes);
        // Already validated by the decoder or the encoder.
        (0..self.count).map_while(move |_| {
            let name = reader.short_text("").ok()?;
            let length = reader.u16("").ok()?;
            Some((name, reader.take(length.into(), "").ok()?))
        })
    }
}

impl fmt::Debug for RawHeaders<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|(name, _)| name)).finish()
    }
}

/// The owned, encoded headers of a frame.
#[derive(Debug, Clone, Default)]
pub struct EncodedHeaders {
    count: u8,
    bytes: Vec<u8>,
}

impl EncodedHeaders {
    /// Encodes the headers that have a wire form. Allocates nothing if there are none.
    ///
    /// # Errors
    ///
    /// [`InvalidHeader`](ErrorKind::InvalidHeader) for a header over a limit: its name has at most 255 bytes, its value
    /// [`Headers::MAX_BYTES`], and there are at most [`MAX_HEADERS`].
    pub fn of(headers: &Headers) -> Result<Self> {
        let mut encoded = Self::default();
        // The code of a user's header may panic.
        match contain(|| headers.each_encoded(|name, value| encoded.push(name, value))) {
            Ok(done) => done?,
            Err(panic) => return Err(Error::new(ErrorKind::InvalidHeader).because(panic)),
        }
        Ok(encoded)
    }

    fn push(&mut self, name: &str, value: &[u8]) -> Result<()> {
        if name.is_empty() || name.len() > u8::MAX.into() {
            return Err(invalid(name, "its name is empty or too long").with("bytes", name.len()));
        }
        if value.len() > Headers::MAX_BYTES {
            let error = invalid(name, "it is too long").with("bytes", value.len());
            return Err(error.with("limit", Headers::MAX_BYTES));
        }
        if usize::from(self.count) == MAX_HEADERS {
            return Err(invalid(name, "there are too many headers").with("limit", MAX_HEADERS));
        }
        self.count += 1;
        self.bytes.push(name.len() as u8);
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.extend_from_slice(&(value.len() as u16).to_le_bytes());
        self.bytes.extend_from_slice(value);
        Ok(())
    }

    /// Borrows the headers, for a frame.
    pub fn as_raw(&self) -> RawHeaders<'_> {
        RawHeaders { count: self.count, bytes: &self.bytes }
    }
}

/// The header types that a process decodes, by name. Contains the types of this crate by default.
///
/// ```
/// # use dactor_core::{Header, Result};
/// # use dactor_core::wire::HeaderDecoders;
/// #[derive(Clone)]
/// struct Tenant(String);
///
/// impl Header for Tenant {
///     const NAME: &'static str = "tenant";
///     fn encode(&self) -> Option<String> {
///         Some(self.0.clone())
///     }
///     fn decode(text: &str) -> Result<Self> {
///         Ok(Self(text.to_owned()))
///     }
/// }
///
/// let mut decoders = HeaderDecoders::default();
/// decoders.register::<Tenant>()?;
/// # Ok::<_, dactor_core::Error>(())
/// ```
#[derive(Clone)]
pub struct HeaderDecoders {
    decoders: HashMap<&'static str, Decode>,
}

/// Decodes a header and inserts it.
type Decode = fn(&str, &mut Headers) -> Result<()>;

impl Default for HeaderDecoders {
    fn default() -> Self {
        let mut known = Self { decoders: HashMap::new() };
        known.decoders.insert(Deadline::NAME, decode::<Deadline>);
        known.decoders.insert(Sender::NAME, decode::<Sender>);
        known.decoders.insert(CorrelationId::NAME, decode::<CorrelationId>);
        known.decoders.insert(TraceParent::NAME, decode::<TraceParent>);
        known
    }
}

impl HeaderDecoders {
    /// Registers a header type.
    ///
    /// # Errors
    ///
    /// [`InvalidHeader`](ErrorKind::InvalidHeader) when its name is empty, too long, or already registered.
    pub fn register<H: Header>(&mut self) -> Result<()> {
        let name = H::NAME;
        if name.is_empty() || name.len() > u8::MAX.into() {
            return Err(invalid(name, "its name is empty or too long").with("bytes", name.len()));
        }
        if self.decoders.contains_key(name) {
            return Err(invalid(name, "another type of header has this name"));
        }
        self.decoders.insert(name, decode::<H>);
        Ok(())
    }

    /// Decodes the headers of a frame. A header with an unknown name is kept as bytes.
    ///
    /// # Errors
    ///
    /// [`InvalidHeader`](ErrorKind::InvalidHeader) with the name of a header whose value is malformed.
    pub fn decode(&self, raw: RawHeaders<'_>) -> Result<Headers> {
        let mut headers = Headers::default();
        for (name, value) in raw.iter() {
            match self.decoders.get(name) {
                Some(decode) => {
                    let text = std::str::from_utf8(value).map_err(|error| unreadable(name, error))?;
                    let decoded = contain(|| decode(text, &mut headers));
                    decoded.unwrap_or_else(|panic| Err(invalid(name, "its type panicked").because(panic)))?;
                }
                None => headers.insert_raw(name, value),
            }
        }
        Ok(headers)
    }
}

fn decode<H: Header>(text: &str, headers: &mut Headers) -> Result<()> {
    headers.insert(H::decode(text)?);
    Ok(())
}

fn unreadable(name: &str, cause: std::str::Utf8Error) -> Error {
    Error::new(ErrorKind::InvalidHeader)
        .with("header", name)
        .with("because", "it is not UTF-8")
        .because(cause)
}

impl fmt::Debug for HeaderDecoders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names: Vec<_> = self.decoders.keys().collect();
        names.sort_unstable();
        f.debug_tuple("HeaderDecoders").field(&names).finish()
    }
}
