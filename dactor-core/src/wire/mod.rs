//! Messages between processes: encoding, the messages that an actor accepts from other processes, and frames.
//!
//! A message can be sent to another process when it has a wire name, `#[message(wire = "bank.Deposit")]`, and
//! the receiving actor lists it in [`Remote::accepts`]. This crate opens no connections: a carrier (a node,
//! or a test) encodes the [`Envelope`](crate::spi::Envelope) of a message as a frame at one end, and opens it
//! with [`Accepts`] at the other.

mod accepts;
pub mod association;
mod bytes;
mod carrier;
mod codec;
mod error;
mod frame;
mod headers;
mod opening;
mod remote;
pub mod scope;
mod served;
mod unpack;

pub use accepts::{Accepts, AnyAccepts};
pub use association::Association;
pub use carrier::{Carrier, Elsewhere, far_actor, far_recipient};
pub use error::{decode_error, encode_error};
pub use frame::{Body, Call, Frame, Party, StreamKind, Target, VERSION};
pub use headers::{EncodedHeaders, HeaderDecoders, MAX_HEADERS, RawHeaders};
pub use opening::{Arriving, CancelAsk, Opened, deliver};
pub use remote::Remote;
pub use scope::{WantedRef, WireScope};
pub use served::{Served, Taken};
pub use unpack::MAX_DEPTH;

#[cfg(test)]
mod tests;
