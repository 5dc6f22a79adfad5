//! Encoding of frames.

use super::{Body, Call, Frame, Party, StreamKind, Target, VERSION, direction, flags, target};
use crate::wire::bytes::{Head, write_long, write_number};
use crate::{ActorPath, Error, ErrorKind, MAX_WIRE_NAME, Priority, Result};

impl Frame<'_> {
    /// Appends the frame to the buffer; on an error the buffer is unchanged.
    ///
    /// # Errors
    ///
    /// [`InvalidWireName`](ErrorKind::InvalidWireName) and [`InvalidPath`](ErrorKind::InvalidPath) for a name or a path that
    /// is empty or does not fit into a frame.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<()> {
        if let Some(call) = self.body.call() {
            check(call)?;
            out.reserve(call.room());
        }
        let (direction, flags) = self.body.marks();
        let mut head = Head::new();
        [VERSION, direction, flags].into_iter().for_each(|byte| head.push(byte));
        head.number(self.correlation);
        match &self.body {
            Body::Request(call) | Body::OneWay(call) => write_call(call, head, out),
            Body::Open(kind, call) => {
                head.push(match kind {
                    StreamKind::Expand => 0,
                    StreamKind::Reduce => 1,
                    StreamKind::Transform => 2,
                });
                write_call(call, head, out);
            }
            body => {
                head.write(out);
                body.write_rest(out);
            }
        }
        Ok(())
    }
}

impl Body<'_> {
    /// Writes the fields after the correlation id, except those of a call.
    fn write_rest(&self, out: &mut Vec<u8>) {
        match self {
            Body::Reply { answer, headers } => {
                headers.write(out);
                let (Ok(payload) | Err(payload)) = answer;
                out.extend_from_slice(payload);
            }
            Body::Item { payload, .. } => out.extend_from_slice(payload),
            Body::End { error, .. } => out.extend_from_slice(error.unwrap_or_default()),
            Body::Credit { items, .. } => write_number((*items).into(), out),
            Body::Cancel { .. } | Body::Request(_) | Body::OneWay(_) | Body::Open(..) => {}
        }
    }

    /// The direction and the flags.
    fn marks(&self) -> (u8, u8) {
        let normal = Priority::Normal as u8;
        let toward = |to: Party| if to == Party::Caller { normal | flags::TO_CALLER } else { normal };
        let failed = |failed: bool| if failed { flags::ERROR } else { 0 };
        match self {
            Self::Request(call) => (direction::REQUEST, call.flags()),
            Self::OneWay(call) => (direction::ONE_WAY, call.flags()),
            Self::Open(_, call) => (direction::OPEN, call.flags()),
            Self::Reply { answer, headers } => {
                let headers = if headers.is_empty() { 0 } else { flags::HEADERS };
                (direction::REPLY, toward(Party::Caller) | failed(answer.is_err()) | headers)
            }
            Self::Item { to, .. } => (direction::ITEM, toward(*to)),
            Self::End { to, error } => (direction::END, toward(*to) | failed(error.is_some())),
            Self::Credit { to, .. } => (direction::CREDIT, toward(*to)),
            Self::Cancel { to } => (direction::CANCEL, toward(*to)),
        }
    }
}

impl Call<'_> {
    /// The approximate size.
    fn room(&self) -> usize {
        let (Target::Path { path, .. } | Target::Id(path)) = self.target;
        48 + path.len() + self.name.len() + self.sender.map_or(0, str::len) + self.payload.len()
    }

    #[inline]
    fn flags(&self) -> u8 {
        let when = |there: bool, flag: u8| if there { flag } else { 0 };
        self.priority as u8
            | when(self.sender.is_some(), flags::SENDER)
            | when(self.time_left.is_some(), flags::TIME)
            | when(self.forwards > 0, flags::FORWARDS)
            | when(!self.headers.is_empty(), flags::HEADERS)
    }
}

#[inline]
fn write_call(call: &Call<'_>, mut head: Head, out: &mut Vec<u8>) {
    let (tag, path, uid) = match call.target {
        Target::Path { path, uid: None } => (target::PATH, path, None),
        Target::Path { path, uid: Some(uid) } => (target::INCARNATION, path, Some(uid)),
        Target::Id(id) => (target::ID, id, None),
    };
    head.push(tag);
    // The lengths are already checked.
    (path.len() as u16).to_le_bytes().into_iter().for_each(|byte| head.push(byte));
    head.write(out);
    out.extend_from_slice(path.as_bytes());
    if let Some(uid) = uid {
        out.extend_from_slice(&uid.to_le_bytes());
    }
    out.push(call.name.len() as u8);
    out.extend_from_slice(call.name.as_bytes());
    if let Some(sender) = call.sender {
        write_long(sender, out);
    }
    if let Some(left) = call.time_left {
        write_number(u64::try_from(left.as_micros()).unwrap_or(u64::MAX), out);
    }
    if call.forwards > 0 {
        out.push(call.forwards);
    }
    call.headers.write(out);
    if !call.payload.is_empty() {
        out.extend_from_slice(call.payload);
    }
}

#[inline]
fn check(call: &Call<'_>) -> Result<()> {
    let (Target::Path { path, .. } | Target::Id(path)) = call.target;
    let fits = |text: &str, most: usize| !text.is_empty() && text.len() <= most;
    let sender = call.sender.is_none_or(|sender| fits(sender, ActorPath::LONGEST));
    if fits(call.name, MAX_WIRE_NAME) && fits(path, ActorPath::LONGEST) && sender {
        return Ok(());
    }
    refused(call, path)
}

#[cold]
fn refused(call: &Call<'_>, path: &str) -> Result<()> {
    if call.name.is_empty() || call.name.len() > MAX_WIRE_NAME {
        let error = Error::new(ErrorKind::InvalidWireName).with("wire name", call.name);
        return Err(error.with("bytes", call.name.len()).with("limit", MAX_WIRE_NAME));
    }
    for path in [path, call.sender.unwrap_or("-")] {
        if path.is_empty() || path.len() > ActorPath::LONGEST {
            let error = Error::new(ErrorKind::InvalidPath).with("bytes", path.len());
            return Err(error.with("limit", ActorPath::LONGEST).with("wire name", call.name));
        }
    }
    Ok(())
}
