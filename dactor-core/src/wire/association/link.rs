//! The transport interface of an association.

use std::time::Duration;

use super::control;
use crate::wire::{Frame, Target, WantedRef};
use crate::{ActorPath, Codec, End, Error, ErrorKind, Result};

/// How a frame is ordered among others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// In order.
    Normal,
    /// May overtake other frames: a credit, a cancel, a watch, a stop, a kill.
    Urgent,
    /// A frame of a reply, in order with other messages of this system to the asking actor. Frames with the
    /// same number keep their order.
    Answer(u64),
}

/// Which frames a frame must not overtake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The frames of the same lane.
    Lane(u64),
    /// All frames sent before.
    AfterAll,
}

/// The order of an encoded frame that is not [urgent](Lane::Urgent): a message is in the lane of its target,
/// and the termination of an actor follows all of its messages.
pub fn order_of(frame: &[u8], lane: Lane) -> Order {
    if let Lane::Answer(lane) = lane {
        return Order::Lane(lane);
    }
    match Frame::decode(frame) {
        Ok(Frame { body, .. }) => match body.call() {
            Some(call) if call.name != control::TERMINATED => match call.target {
                Target::Path { path, .. } | Target::Id(path) => Order::Lane(lane_key(path)),
            },
            _ => Order::AfterAll,
        },
        Err(_) => Order::AfterAll,
    }
}

/// The lane of frames to the actor at this path, with or without a UID: a hash of the path.
pub(super) fn lane_key(path: &str) -> u64 {
    let path = path.split_once('#').map_or(path, |(path, _)| path);
    // FNV-1a: both ends compute the hash, so it must not depend on the process.
    path.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Sends the frames of an [`Association`](super::Association), and decides which ones are admitted.
pub trait Link: Send + Sync + 'static {
    /// See [`Carrier::admit`](crate::wire::Carrier::admit).
    ///
    /// # Errors
    ///
    /// Those of [`Carrier::admit`](crate::wire::Carrier::admit).
    fn admit(&self, target: &ActorPath) -> Result<()>;

    /// Whether this actor may be watched. A watch is also admitted without a connection:
    /// [`connected`](super::Association::connected) sends it later.
    ///
    /// # Errors
    ///
    /// [`Quarantined`](ErrorKind::Quarantined) and the like.
    fn admit_watch(&self, target: &ActorPath) -> Result<()>;

    /// Whether the other system lets this one stop its actors, as far as is known here.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ErrorKind::Unsupported) if it does not.
    fn admit_end(&self, target: &ActorPath, how: End) -> Result<()>;

    /// Whether this system lets the other one stop its actors.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ErrorKind::Unsupported) if it does not.
    fn obey_end(&self, target: &ActorPath, how: End) -> Result<()> {
        let _ = (target, how);
        Ok(())
    }

    /// Whether there is a connection.
    fn is_up(&self) -> bool;

    /// The codec of payloads.
    fn codec(&self) -> Codec;

    /// The timeout of an ask that has no timeout of its own.
    fn ask_timeout(&self) -> Duration;

    /// The idle timeout of a stream. Both ends send keep-alives at least every ten seconds, and at least
    /// three times within this timeout.
    fn stream_timeout(&self) -> Duration {
        self.ask_timeout()
    }

    /// An empty buffer for a frame. A link may reuse its buffers.
    fn buffer(&self) -> Vec<u8> {
        Vec::with_capacity(128)
    }

    /// Whether a frame of this length can be sent.
    ///
    /// # Errors
    ///
    /// [`EncodeFailed`](ErrorKind::EncodeFailed) when the frame is too large,
    /// [`Overloaded`](ErrorKind::Overloaded) when the send queue is full.
    fn fits(&self, bytes: usize) -> Result<()> {
        let _ = bytes;
        Ok(())
    }

    /// Sends a frame.
    ///
    /// # Errors
    ///
    /// When the frame could not be sent: it is lost, and an ask fails with the error. A tell has already been
    /// published as a dead letter.
    fn send(&self, frame: Vec<u8>, lane: Lane) -> Result<()>;

    /// Makes an error of this kind about the other system.
    fn error(&self, kind: ErrorKind) -> Error;

    /// The path by which other systems reach an actor of this system; a path of another system is returned as
    /// it is.
    ///
    /// # Errors
    ///
    /// When other systems cannot reach the actor.
    fn path_of(&self, path: &ActorPath) -> Result<ActorPath>;

    /// The local form of a path in a frame; `None` for a path of another system.
    fn local(&self, path: &ActorPath) -> Option<Result<ActorPath>>;

    /// Resolves a ref to an actor of another system.
    ///
    /// # Errors
    ///
    /// [`Unresolved`](ErrorKind::Unresolved) and the like.
    fn resolve(&self, path: &ActorPath, wanted: &mut dyn WantedRef) -> Result<()>;
}
