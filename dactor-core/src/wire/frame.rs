//! The frames of the wire protocol.
//!
//! A carrier writes a frame with a length prefix, or as one datagram. Golden files fix the layout: a change
//! requires a new [version](VERSION).
//!
//! ```text
//!   version   direction   flags   correlation id   ...   payload
//!   1 byte    1 byte      1 byte  number                 the rest
//!
//!   request, one-way, stream open:
//!     [kind of stream: 1 byte]  target: tag, text, [uid: 8 bytes]  wire name: text
//!     [sender: text]  [time left in microseconds: number]  [forwards: 1 byte]  [headers]
//!   reply: [headers]
//! ```
//!
//! Numbers are LEB128. A string has a length prefix, of one byte for names and of two for paths and header
//! values. The flags tell which fields are present:
//!
//! | bits | meaning |
//! | --- | --- |
//! | 0, 1 | the [`Priority`] |
//! | 2 | the correlation id was assigned by the receiver: the frame goes to the caller |
//! | 3 | the payload is an error |
//! | 4, 5, 6, 7 | sender, time left, number of forwards, headers are present |
//!
//! The layout is not MessagePack because a carrier reads every frame but no payload: fields are read in
//! place, and the payload is encoded after them without a copy.

mod decode;
mod encode;

use std::time::Duration;

use crate::wire::headers::RawHeaders;
use crate::{Mode, Priority};

/// The version of the layout.
pub const VERSION: u8 = 1;

/// A frame, which borrows the bytes it was decoded from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Identifies the request. The caller assigns a different id to each in-flight request.
    pub correlation: u64,
    /// The content.
    pub body: Body<'a>,
}

/// The content of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body<'a> {
    /// An ask.
    Request(Call<'a>),
    /// A tell.
    OneWay(Call<'a>),
    /// A stream request.
    Open(StreamKind, Call<'a>),
    /// The reply to a request, or its error.
    Reply {
        /// The encoded reply, or the [encoded error](crate::wire::encode_error).
        answer: Result<&'a [u8], &'a [u8]>,
        /// The headers.
        headers: RawHeaders<'a>,
    },
    /// An item of a stream.
    Item {
        /// The receiver.
        to: Party,
        /// The encoded item.
        payload: &'a [u8],
    },
    /// The end of a stream.
    End {
        /// The receiver.
        to: Party,
        /// The encoded error that ended the stream; `None` if it is complete.
        error: Option<&'a [u8]>,
    },
    /// Grants credit for more items.
    Credit {
        /// The receiver: the sender of the items.
        to: Party,
        /// The number of additional items.
        items: u32,
    },
    /// The caller abandoned the request, or the consumer of the items was dropped.
    Cancel {
        /// The receiver.
        to: Party,
    },
}

/// A message to an actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call<'a> {
    /// The target actor.
    pub target: Target<'a>,
    /// The wire name of the message.
    pub name: &'a str,
    /// The path of the sending actor, if any.
    pub sender: Option<&'a str>,
    /// The mailbox lane.
    pub priority: Priority,
    /// The time until the deadline. Relative, because clocks of machines differ.
    pub time_left: Option<Duration>,
    /// How often the message was forwarded to another process, for the detection of forwarding loops.
    pub forwards: u8,
    /// The headers.
    pub headers: RawHeaders<'a>,
    /// The encoded message.
    ///
    /// The last field of a frame: a frame can be encoded with an empty payload, and the message appended to
    /// it.
    pub payload: &'a [u8],
}

impl<'a> Call<'a> {
    /// A message with this name, an empty payload and no optional fields.
    pub fn new(target: Target<'a>, name: &'a str) -> Self {
        Self {
            target,
            name,
            sender: None,
            priority: Priority::Normal,
            time_left: None,
            forwards: 0,
            headers: RawHeaders::default(),
            payload: &[],
        }
    }
}

/// The target of a message. The strings are as received; they are parsed when they are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
    /// The actor at a path, in a specific incarnation or in any.
    Path {
        /// The path without its UID.
        path: &'a str,
        /// The incarnation.
        uid: Option<u64>,
    },
    /// A virtual actor.
    Id(&'a str),
}

/// A process of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Party {
    /// The process that sent the request.
    Caller,
    /// The process of the actor.
    Callee,
}

/// The kind of a stream request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StreamKind {
    /// See [`Expand`](crate::Expand).
    Expand,
    /// See [`Reduce`](crate::Reduce).
    Reduce,
    /// See [`Transform`](crate::Transform).
    Transform,
}

impl StreamKind {
    /// The kind of a stream mode; `None` for other modes.
    pub fn of(mode: Mode) -> Option<Self> {
        match mode {
            Mode::Tell | Mode::Ask => None,
            Mode::Expand => Some(Self::Expand),
            Mode::Reduce => Some(Self::Reduce),
            Mode::Transform => Some(Self::Transform),
        }
    }

    /// The corresponding mode.
    pub fn mode(self) -> Mode {
        match self {
            Self::Expand => Mode::Expand,
            Self::Reduce => Mode::Reduce,
            Self::Transform => Mode::Transform,
        }
    }
}

/// The sender of an encoded message. A frame without a sender is not decoded further.
pub(crate) fn sender_of(frame: &[u8]) -> Option<&str> {
    let flags = frame.get(2).copied().unwrap_or_default();
    if flags & flags::SENDER == 0 {
        return None;
    }
    Frame::decode(frame).ok().and_then(|frame| frame.body.call()?.sender)
}

impl<'a> Body<'a> {
    /// The message, if the frame has one.
    pub fn call(&self) -> Option<&Call<'a>> {
        match self {
            Self::Request(call) | Self::OneWay(call) | Self::Open(_, call) => Some(call),
            _ => None,
        }
    }

    /// The mode of the message, if the frame has one.
    pub fn mode(&self) -> Option<Mode> {
        match self {
            Self::Request(_) => Some(Mode::Ask),
            Self::OneWay(_) => Some(Mode::Tell),
            Self::Open(kind, _) => Some(kind.mode()),
            _ => None,
        }
    }
}

/// The byte for the type of a frame.
mod direction {
    pub(super) const REQUEST: u8 = 0;
    pub(super) const REPLY: u8 = 1;
    pub(super) const ONE_WAY: u8 = 2;
    pub(super) const OPEN: u8 = 3;
    pub(super) const ITEM: u8 = 4;
    pub(super) const END: u8 = 5;
    pub(super) const CREDIT: u8 = 6;
    pub(super) const CANCEL: u8 = 7;
}

mod flags {
    pub(super) const PRIORITY: u8 = 0b11;
    pub(super) const TO_CALLER: u8 = 1 << 2;
    pub(super) const ERROR: u8 = 1 << 3;
    pub(super) const SENDER: u8 = 1 << 4;
    pub(super) const TIME: u8 = 1 << 5;
    pub(super) const FORWARDS: u8 = 1 << 6;
    pub(super) const HEADERS: u8 = 1 << 7;
}

mod target {
    pub(super) const PATH: u8 = 0;
    pub(super) const INCARNATION: u8 = 1;
    pub(super) const ID: u8 = 2;
}
