//! What two processes say to each other.
//!
//! A frame is what a carrier writes between the lengths, or into one datagram. Its layout is fixed by golden files: another
//! layout is another [version](VERSION).
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
//! Numbers are in groups of seven bits, lowest first. A text is behind its length, in one byte for names and in two for
//! paths and header values. The flags say which fields are present:
//!
//! | bits | meaning |
//! | --- | --- |
//! | 0, 1 | the [`Priority`] |
//! | 2 | the correlation id is the receiver's own: the frame goes to the caller |
//! | 3 | the payload is an error |
//! | 4, 5, 6, 7 | there is a sender, a time left, a number of forwards, headers |
//!
//! A layout by hand, and not MessagePack, because a carrier looks at every frame that it passes on and at no payload: the
//! fields are read in place, and the payload is encoded behind them without a copy.

mod decode;
mod encode;

use std::time::Duration;

use crate::wire::headers::RawHeaders;
use crate::{Mode, Priority};

/// The version of the layout.
pub const VERSION: u8 = 1;

/// One frame. It borrows the bytes that it was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Says which request of the caller's it belongs to. The caller gives each request that waits another one.
    pub correlation: u64,
    /// What it says.
    pub body: Body<'a>,
}

/// What a frame says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body<'a> {
    /// A message whose sender waits for the reply.
    Request(Call<'a>),
    /// A message that was told.
    OneWay(Call<'a>),
    /// A stream request.
    Open(StreamKind, Call<'a>),
    /// The reply to a request, or its error.
    Reply {
        /// The encoded reply, or the [encoded error](crate::wire::encode_error).
        answer: Result<&'a [u8], &'a [u8]>,
        /// What travels beside it.
        headers: RawHeaders<'a>,
    },
    /// An item of a stream.
    Item {
        /// Where it goes.
        to: Party,
        /// The encoded item.
        payload: &'a [u8],
    },
    /// The end of a stream.
    End {
        /// Where it goes.
        to: Party,
        /// The encoded error that ended it; none when it is finished.
        error: Option<&'a [u8]>,
    },
    /// There is room for more items.
    Credit {
        /// Where it goes: to the sender of the items.
        to: Party,
        /// The number of additional items.
        items: u32,
    },
    /// The caller has given up, or the consumer of the items is gone.
    Cancel {
        /// Where it goes.
        to: Party,
    },
}

/// A message on its way to an actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call<'a> {
    /// The actor.
    pub target: Target<'a>,
    /// The wire name of the message.
    pub name: &'a str,
    /// The path of the actor that sent it, if one did.
    pub sender: Option<&'a str>,
    /// The lane that it travels in.
    pub priority: Priority,
    /// The time until its deadline, relative to now: clocks of different machines differ.
    pub time_left: Option<Duration>,
    /// How often it was passed on to another process: a carrier ends circles with it.
    pub forwards: u8,
    /// What travels beside it.
    pub headers: RawHeaders<'a>,
    /// The encoded message.
    ///
    /// It is the last part of a frame: a frame with an empty payload can be encoded first, and the message behind it.
    pub payload: &'a [u8],
}

impl<'a> Call<'a> {
    /// A message with this name, with nothing beside it and an empty payload.
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

/// The actor that a message is for. The texts are as received; they are parsed when they are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
    /// The actor at a path, in a particular incarnation or in any.
    Path {
        /// The path without its UID.
        path: &'a str,
        /// The incarnation.
        uid: Option<u64>,
    },
    /// A virtual actor.
    Id(&'a str),
}

/// One of the two processes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Party {
    /// The process that sent the request.
    Caller,
    /// The process of the actor.
    Callee,
}

/// How a stream request is sent.
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
    /// The kind of this mode, if it is one of streams.
    pub fn of(mode: Mode) -> Option<Self> {
        match mode {
            Mode::Tell | Mode::Ask => None,
            Mode::Expand => Some(Self::Expand),
            Mode::Reduce => Some(Self::Reduce),
            Mode::Transform => Some(Self::Transform),
        }
    }

    /// As a mode.
    pub fn mode(self) -> Mode {
        match self {
            Self::Expand => Mode::Expand,
            Self::Reduce => Mode::Reduce,
            Self::Transform => Mode::Transform,
        }
    }
}

/// The sender of an encoded message. One without a sender is not decoded.
pub(crate) fn sender_of(frame: &[u8]) -> Option<&str> {
    let flags = frame.get(2).copied().unwrap_or_default();
    if flags & flags::SENDER == 0 {
        return None;
    }
    Frame::decode(frame).ok().and_then(|frame| frame.body.call()?.sender)
}

impl<'a> Body<'a> {
    /// The message, if it is one.
    pub fn call(&self) -> Option<&Call<'a>> {
        match self {
            Self::Request(call) | Self::OneWay(call) | Self::Open(_, call) => Some(call),
            _ => None,
        }
    }

    /// How its message was sent, if it is one.
    pub fn mode(&self) -> Option<Mode> {
        match self {
            Self::Request(_) => Some(Mode::Ask),
            Self::OneWay(_) => Some(Mode::Tell),
            Self::Open(kind, _) => Some(kind.mode()),
            _ => None,
        }
    }
}

/// The byte that says what a frame is.
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
