//! What an association needs of the way to the other system.

use std::time::Duration;

use super::control;
use crate::wire::{Frame, Target, WantedRef};
use crate::{ActorPath, Codec, End, Error, ErrorKind, Result};

/// How a frame travels beside others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// In order.
    Normal,
    /// It may overtake others: a credit, a cancel, a watch, a stop, a kill.
    Urgent,
    /// A frame of an answer, in order with what this system sends to the actor that asked. Frames with the same number keep
    /// their order.
    Answer(u64),
}

/// Which frames a frame must not overtake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Those of the same lane.
    Lane(u64),
    /// All that were sent before.
    AfterAll,
}

/// The order of an encoded frame that is not [urgent](Lane::Urgent): a message is in the lane of its actor, and the end of an
/// actor comes after all that it has sent.
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

/// The number of the lane of frames to the actor at this path, with or without a UID: a hash of the path.
pub(super) fn lane_key(path: &str) -> u64 {
    let path = path.split_once('#').map_or(path, |(path, _)| path);
    // FNV-1a: both ends compute it, so it must not depend on the process.
    path.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Carries the frames of an [`Association`](super::Association), and decides what may leave.
pub trait Link: Send + Sync + 'static {
    /// See [`Carrier::admit`](crate::wire::Carrier::admit).
    ///
    /// # Errors
    ///
    /// As there.
    fn admit(&self, target: &ActorPath) -> Result<()>;

    /// Whether this actor may be watched. It may also while frames do not get through: watches are set again
    /// [then](super::Association::connected).
    ///
    /// # Errors
    ///
    /// [`Quarantined`](ErrorKind::Quarantined) and the like.
    fn admit_watch(&self, target: &ActorPath) -> Result<()>;

    /// Whether the other system lets this one end its actors, as far as is known here.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ErrorKind::Unsupported) when it does not.
    fn admit_end(&self, target: &ActorPath, how: End) -> Result<()>;

    /// Whether this system lets the other one end its actors.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ErrorKind::Unsupported) when it does not.
    fn obey_end(&self, target: &ActorPath, how: End) -> Result<()> {
        let _ = (target, how);
        Ok(())
    }

    /// Whether frames get through now.
    fn is_up(&self) -> bool;

    /// How payloads are encoded.
    fn codec(&self) -> Codec;

    /// An ask without a timeout of its own fails after this long.
    fn ask_timeout(&self) -> Duration;

    /// A stream from whose other end nothing is heard for so long has failed. Both ends say that they live at least every ten
    /// seconds, and three times in this time.
    fn stream_timeout(&self) -> Duration {
        self.ask_timeout()
    }

    /// An empty buffer for a frame. A link that gets its buffers back may keep them.
    fn buffer(&self) -> Vec<u8> {
        Vec::with_capacity(128)
    }

    /// Whether a frame of this length can be sent.
    ///
    /// # Errors
    ///
    /// [`EncodeFailed`](ErrorKind::EncodeFailed) when it is too long, [`Overloaded`](ErrorKind::Overloaded) when too much waits.
    fn fits(&self, bytes: usize) -> Result<()> {
        let _ = bytes;
        Ok(())
    }

    /// Sends a frame.
    ///
    /// # Errors
    ///
    /// When it does not leave: then it is lost, and an ask fails with the error. A message that was told is a dead letter by then.
    fn send(&self, frame: Vec<u8>, lane: Lane) -> Result<()>;

    /// An error of this kind about the other system.
    fn error(&self, kind: ErrorKind) -> Error;

    /// The path by which other systems reach an actor of this one; other paths stay as they are.
    ///
    /// # Errors
    ///
    /// When there is none.
    fn path_of(&self, path: &ActorPath) -> Result<ActorPath>;

    /// The path inside of this system that is meant by a path in a frame; `None` when that is of another system.
    fn local(&self, path: &ActorPath) -> Option<Result<ActorPath>>;

    /// Gives a ref to an actor of another system.
    ///
    /// # Errors
    ///
    /// [`Unresolved`](ErrorKind::Unresolved) and the like.
    fn resolve(&self, path: &ActorPath, wanted: &mut dyn WantedRef) -> Result<()>;
}
