//! Decoding of frames from untrusted bytes.

use std::time::Duration;

use super::{Body, Call, Frame, Party, StreamKind, Target, VERSION, direction, flags, target};
use crate::wire::bytes::Reader;
use crate::wire::headers::RawHeaders;
use crate::{Error, Priority, Result};

impl<'a> Frame<'a> {
    /// Decodes a frame that fills all of the bytes. Encoding it again yields the same bytes.
    ///
    /// # Errors
    ///
    /// [`InvalidFrame`](crate::ErrorKind::InvalidFrame), with the cause and the position.
    pub fn decode(bytes: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        let version = reader.byte("the version")?;
        if version != VERSION {
            return Err(unknown_version(&reader, version));
        }
        let direction = reader.byte("the direction")?;
        let flags = Flags(reader.byte("the flags")?);
        let correlation = reader.number("the correlation id")?;
        let body = body(direction, flags, &mut reader)?;
        Ok(Self { correlation, body })
    }
}

#[cold]
fn unknown_version(reader: &Reader<'_>, version: u8) -> Error {
    reader.invalid("the version", "is not known").with("version", version).with("expected", VERSION)
}

#[derive(Clone, Copy)]
struct Flags(u8);

impl Flags {
    fn has(self, flag: u8) -> bool {
        self.0 & flag != 0
    }

    /// Checks that no flags other than these are set; the priority must be normal unless included.
    fn only(self, allowed: u8, reader: &Reader<'_>) -> Result<()> {
        let normal = Priority::Normal as u8;
        let rest = self.0 & !allowed;
        let expected = if allowed & flags::PRIORITY == 0 { normal } else { 0 };
        if rest == expected {
            return Ok(());
        }
        Err(reader.invalid("the flags", "do not belong to the direction"))
    }

    fn to(self) -> Party {
        if self.has(flags::TO_CALLER) { Party::Caller } else { Party::Callee }
    }
}

#[inline]
fn body<'a>(direction: u8, flags: Flags, reader: &mut Reader<'a>) -> Result<Body<'a>> {
    let kind = match direction {
        direction::REQUEST | direction::ONE_WAY => StreamKind::Expand,
        direction::OPEN => match reader.byte("the kind of stream")? {
            0 => StreamKind::Expand,
            1 => StreamKind::Reduce,
            2 => StreamKind::Transform,
            _ => return Err(reader.invalid("the kind of stream", "is not known")),
        },
        _ => return other_body(direction, flags, reader),
    };
    // Decoded in one place: a call is large, and moving it is expensive.
    let call = call(flags, reader)?;
    Ok(match direction {
        direction::REQUEST => Body::Request(call),
        direction::ONE_WAY => Body::OneWay(call),
        _ => Body::Open(kind, call),
    })
}

fn other_body<'a>(direction: u8, flags: Flags, reader: &mut Reader<'a>) -> Result<Body<'a>> {
    Ok(match direction {
        direction::REPLY => {
            flags.only(flags::TO_CALLER | flags::ERROR | flags::HEADERS, reader)?;
            if !flags.has(flags::TO_CALLER) {
                return Err(reader.invalid("a reply", "goes to the caller"));
            }
            let headers = headers(flags, reader)?;
            let payload = reader.rest();
            Body::Reply { answer: if flags.has(flags::ERROR) { Err(payload) } else { Ok(payload) }, headers }
        }
        direction::ITEM => {
            flags.only(flags::TO_CALLER, reader)?;
            Body::Item { to: flags.to(), payload: reader.rest() }
        }
        direction::END => {
            flags.only(flags::TO_CALLER | flags::ERROR, reader)?;
            let error = flags.has(flags::ERROR).then(|| reader.rest());
            reader.end("the end of a stream")?;
            Body::End { to: flags.to(), error }
        }
        direction::CREDIT => {
            flags.only(flags::TO_CALLER, reader)?;
            let items = u32::try_from(reader.number("the credit")?);
            let items = items.map_err(|_| reader.invalid("the credit", "is too large"))?;
            reader.end("the credit")?;
            Body::Credit { to: flags.to(), items }
        }
        direction::CANCEL => {
            flags.only(flags::TO_CALLER, reader)?;
            reader.end("a cancel")?;
            Body::Cancel { to: flags.to() }
        }
        _ => return Err(reader.invalid("the direction", "is not known")),
    })
}

#[inline(always)]
fn call<'a>(flags: Flags, reader: &mut Reader<'a>) -> Result<Call<'a>> {
    let allowed = flags::PRIORITY | flags::SENDER | flags::TIME | flags::FORWARDS | flags::HEADERS;
    flags.only(allowed, reader)?;
    let priority = match flags.0 & flags::PRIORITY {
        0 => Priority::Low,
        1 => Priority::Normal,
        2 => Priority::High,
        _ => return Err(reader.invalid("the priority", "is not known")),
    };
    let target = target(reader)?;
    let name = reader.short_text("the wire name")?;
    if name.is_empty() {
        return Err(reader.invalid("the wire name", "is empty"));
    }
    let sender = flags.has(flags::SENDER).then(|| path(reader, "the sender")).transpose()?;
    let time_left = flags.has(flags::TIME).then(|| reader.number("the time left")).transpose()?;
    let forwards = if flags.has(flags::FORWARDS) { reader.byte("the number of forwards")? } else { 0 };
    if flags.has(flags::FORWARDS) && forwards == 0 {
        return Err(reader.invalid("the number of forwards", "is zero"));
    }
    let headers = headers(flags, reader)?;
    Ok(Call {
        target,
        name,
        sender,
        priority,
        time_left: time_left.map(Duration::from_micros),
        forwards,
        headers,
        payload: reader.rest(),
    })
}

#[inline]
fn target<'a>(reader: &mut Reader<'a>) -> Result<Target<'a>> {
    match reader.byte("the target")? {
        target::PATH => Ok(Target::Path { path: path(reader, "the target")?, uid: None }),
        target::INCARNATION => {
            let path = path(reader, "the target")?;
            Ok(Target::Path { path, uid: Some(reader.u64("the UID")?) })
        }
        target::ID => Ok(Target::Id(path(reader, "the target")?)),
        _ => Err(reader.invalid("the target", "is of no known kind")),
    }
}

#[inline]
fn path<'a>(reader: &mut Reader<'a>, what: &'static str) -> Result<&'a str> {
    let path = reader.long_text(what)?;
    if path.is_empty() { Err(reader.invalid(what, "is empty")) } else { Ok(path) }
}

#[inline]
fn headers<'a>(flags: Flags, reader: &mut Reader<'a>) -> Result<RawHeaders<'a>> {
    if flags.has(flags::HEADERS) { RawHeaders::read(reader) } else { Ok(RawHeaders::default()) }
}
