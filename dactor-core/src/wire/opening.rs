//! Opens a received message: decodes it and prepares it for the mailbox of its actor.

use std::fmt;
use std::sync::Arc;

use tokio::time::Instant;

use crate::actor::stream::far;
use crate::delivery::envelope::Envelope;
use crate::delivery::far::{IncomingAsk, ReplyTo};
use crate::delivery::far_codec::decode;
use crate::delivery::incoming::Incoming;
use crate::message::items::FarStreams;
use crate::{
    Actor, ActorRef, Codec, Error, ErrorKind, Expand, ExpandHandler, Headers, Mode, Priority, Reduce,
    ReduceHandler, Result, SentTo, Transform, TransformHandler, WireCodec,
};

/// A received message, before decoding.
#[derive(Debug)]
pub struct Arriving<'a> {
    /// How it was sent.
    pub mode: Mode,
    /// The encoded message.
    pub payload: &'a [u8],
    /// The codec of the payload.
    pub codec: Codec,
    /// The headers.
    pub headers: Headers,
    /// Its deadline.
    pub deadline: Option<Instant>,
    /// Receives the reply. `None` for a tell.
    pub reply_to: Option<ReplyTo>,
    /// The receive window of each stream of the request, in items.
    pub window: usize,
}

/// A received and decoded message, ready for the mailbox of its actor.
pub struct Opened<A: Actor> {
    /// For [`deliver`](crate::wire::deliver).
    pub envelope: Envelope<A>,
    /// Cancels the ask, if it is one.
    pub ask: Option<CancelAsk>,
    /// The streams of a stream request.
    pub streams: FarStreams,
}

impl<A: Actor> fmt::Debug for Opened<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened")
            .field("envelope", &self.envelope)
            .field("streams", &self.streams)
            .finish_non_exhaustive()
    }
}

/// Cancels a received ask.
#[derive(Clone)]
pub struct CancelAsk(Arc<dyn IncomingAsk>);

impl CancelAsk {
    /// Called when the asker has given up: see [`IncomingAsk::cancel`].
    pub fn cancel(&self) {
        self.0.cancel();
    }
}

impl fmt::Debug for CancelAsk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelAsk").finish_non_exhaustive()
    }
}

/// Puts an opened message into the mailbox of its actor. A refused ask has already been answered.
///
/// # Errors
///
/// Those of a tell of the same message. The caller must not answer an ask with the error.
pub fn deliver<A: Actor>(actor: &ActorRef<A>, envelope: Envelope<A>, priority: Priority) -> Result<()> {
    actor.core.deliver_incoming(envelope, priority).map(drop)
}

pub(super) type Outcome<A> = Result<Opened<A>, (Error, Option<ReplyTo>)>;
pub(super) type Open<A> = fn(Arriving<'_>) -> Outcome<A>;

/// Decodes the payload; on failure returns the reply handle with the error.
fn opened<T>(wire: Option<WireCodec<T>>, arriving: &mut Arriving<'_>) -> Result<T, (Error, Option<ReplyTo>)> {
    let decoded = match wire {
        Some(wire) => decode(&wire, arriving.payload, arriving.codec),
        None => Err(Error::new(ErrorKind::UnknownMessage)),
    };
    decoded.map_err(|error| (error, arriving.reply_to.take()))
}

pub(super) fn open_message<A: Actor, M: SentTo<A>>(mut arriving: Arriving<'_>) -> Outcome<A> {
    let message = opened(M::WIRE.map(|wire| wire.message()), &mut arriving)?;
    Ok(envelope(message, arriving, FarStreams::default()))
}

pub(super) fn open_expand<A: ExpandHandler<M>, M: Expand>(mut arriving: Arriving<'_>) -> Outcome<A> {
    let message = opened(M::WIRE.map(|wire| wire.request()), &mut arriving)?;
    let (request, streams) = far::open_expand(message, arriving.window);
    Ok(envelope(request, arriving, streams))
}

pub(super) fn open_reduce<A: ReduceHandler<M>, M: Reduce>(mut arriving: Arriving<'_>) -> Outcome<A> {
    let message = opened(M::WIRE.map(|wire| wire.request()), &mut arriving)?;
    let (request, streams) = far::open_reduce(message, arriving.window);
    Ok(envelope(request, arriving, streams))
}

pub(super) fn open_transform<A: TransformHandler<M>, M: Transform>(mut arriving: Arriving<'_>) -> Outcome<A> {
    let message = opened(M::WIRE.map(|wire| wire.request()), &mut arriving)?;
    let (request, streams) = far::open_transform(message, arriving.window);
    Ok(envelope(request, arriving, streams))
}

fn envelope<A: Actor, M: SentTo<A>>(message: M, arriving: Arriving<'_>, streams: FarStreams) -> Opened<A> {
    let Arriving { headers, deadline, reply_to, .. } = arriving;
    match reply_to {
        None => Opened { envelope: message.into_tell(headers), ask: None, streams },
        Some(reply_to) => {
            let ask = Arc::new(Incoming::new(message, headers, deadline, reply_to));
            let cancel = CancelAsk(ask.clone());
            Opened { envelope: M::into_incoming(ask), ask: Some(cancel), streams }
        }
    }
}
