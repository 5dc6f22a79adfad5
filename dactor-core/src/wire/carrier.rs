//! Refs to actors in other processes, and the transport interface they use.

use std::marker::PhantomData;
use std::sync::Arc;

use tokio::time::Instant;

use crate::delivery::envelope::Envelope;
use crate::delivery::far::FarAsk;
use crate::kernel::actor_core::route::{FarRefused, FarRoute};
use crate::message::items::FarStreams;
use crate::system::far::{far_ref, sender};
use crate::wire::scope::{WireScope, enter};
use crate::wire::{Body, Call, EncodedHeaders, Frame, StreamKind, Target};
use crate::{
    Actor, ActorPath, ActorRef, Codec, Context, Deadline, End, ErrorKind, Failure, Handler, Message, Outcome,
    Priority, Recipient, Result, Sender, SentTo, System,
};

/// Sends frames to one other process, for the refs made by [`far_actor`].
pub trait Carrier: Send + Sync + 'static {
    /// Whether a message to this actor may be sent now. Called before encoding: a refused message is returned
    /// to its sender.
    ///
    /// # Errors
    ///
    /// [`Unresolved`](ErrorKind::Unresolved), [`Quarantined`](ErrorKind::Quarantined),
    /// [`Disconnected`](ErrorKind::Disconnected) and similar.
    fn admit(&self, target: &ActorPath) -> Result<()>;

    /// The codec of payloads.
    fn codec(&self) -> Codec;

    /// The scope for encoding refs inside messages.
    fn scope(&self) -> Arc<dyn WireScope>;

    /// A correlation id that no in-flight request has.
    fn next_correlation(&self) -> u64;

    /// An empty buffer for a frame. A carrier may reuse its buffers.
    fn buffer(&self) -> Vec<u8> {
        Vec::with_capacity(128)
    }

    /// Whether a frame of this length may be sent. Called after encoding: a refused message is returned to
    /// its sender.
    ///
    /// # Errors
    ///
    /// [`EncodeFailed`](ErrorKind::EncodeFailed) when the frame is too large,
    /// [`Overloaded`](ErrorKind::Overloaded) when the send queue is full.
    fn fits(&self, bytes: usize) -> Result<()> {
        let _ = bytes;
        Ok(())
    }

    /// Registers an ask, sends its frame, then starts its streams: no frame of a stream may overtake the
    /// request. The ask can no longer be refused; if its frame is lost, it fails later.
    fn send_ask(&self, frame: Vec<u8>, correlation: u64, ask: Arc<dyn FarAsk>, streams: FarStreams);

    /// Sends the frame of a tell.
    fn send(&self, frame: Vec<u8>);

    /// See [`FarRoute::end`].
    ///
    /// # Errors
    ///
    /// Those of [`FarRoute::end`].
    fn end(&self, target: &ActorPath, how: End) -> Result<()>;

    /// See [`FarRoute::watch`]. Called once for each ref type of the actor.
    ///
    /// # Errors
    ///
    /// Those of [`FarRoute::watch`].
    fn watch(&self, target: &ActorPath) -> Result<()>;

    /// See [`FarRoute::unwatch`].
    fn unwatch(&self, target: &ActorPath);

    /// Called when an asker has given up: see [`FarRoute::asker_gone`].
    fn asker_gone(&self);
}

/// Makes a ref to an actor in the carrier's process: see [`far_ref`].
///
/// # Errors
///
/// Those of [`far_ref`].
pub fn far_actor<A: Actor>(
    system: &System,
    path: &ActorPath,
    carrier: &Arc<dyn Carrier>,
) -> Result<ActorRef<A>> {
    far_ref(system, path, || Arc::new(FrameRoute::new(path, carrier.clone())))
}

/// Like [`far_actor`], for an actor of unknown type that handles `M`.
///
/// # Errors
///
/// Those of [`far_ref`].
pub fn far_recipient<M: SentTo<Elsewhere<M>>>(
    system: &System,
    path: &ActorPath,
    carrier: &Arc<dyn Carrier>,
) -> Result<Recipient<M>> {
    far_actor::<Elsewhere<M>>(system, path, carrier).map(|actor| actor.recipient())
}

/// The placeholder type of a remote actor that handles `M`. It is never spawned.
#[derive(Debug)]
pub struct Elsewhere<M>(PhantomData<fn(M)>);

impl<M: Message> Actor for Elsewhere<M> {}

impl<M: Message> Handler<M> for Elsewhere<M> {
    async fn handle(&mut self, _: M, _: &mut Context<Self>) -> Outcome<M::Reply> {
        Err(Failure::new("the actor lives elsewhere"))
    }
}

/// Encodes envelopes as frames.
struct FrameRoute {
    path: ActorPath,
    /// The path without its UID, as written in frames.
    text: String,
    carrier: Arc<dyn Carrier>,
}

impl FrameRoute {
    fn new(path: &ActorPath, carrier: Arc<dyn Carrier>) -> Self {
        Self { path: path.clone(), text: path.to_string(), carrier }
    }

    fn frame<A: Actor>(&self, envelope: &Envelope<A>, priority: Priority) -> Result<(u64, Vec<u8>)> {
        self.carrier.admit(&self.path)?;
        let name = envelope.wire_name()?;
        let scope = self.carrier.scope();
        let mut headers = envelope.headers();
        // Sender and deadline have their own fields in the frame.
        let told_by = headers.remove::<Sender>().and_then(|sender| sender.path());
        headers.remove::<Deadline>();
        let sender = sender().or(told_by).and_then(|sender| scope.path_of(&sender).ok());
        let sender = sender.map(|sender| sender.to_serialization_format());
        let headers = EncodedHeaders::of(&headers)?;
        let deadline = envelope.asker().and_then(|asker| asker.deadline());
        let call = Call {
            sender: sender.as_deref(),
            priority,
            time_left: deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())),
            headers: headers.as_raw(),
            ..Call::new(Target::Path { path: &self.text, uid: self.path.uid().map(|uid| uid.get()) }, name)
        };
        let mode = envelope.mode();
        let body = match StreamKind::of(mode) {
            Some(kind) => Body::Open(kind, call),
            None if mode.has_caller() => Body::Request(call),
            None => Body::OneWay(call),
        };
        let (correlation, mut frame) = (self.carrier.next_correlation(), self.carrier.buffer());
        Frame { correlation, body }.encode(&mut frame)?;
        let _scope = enter(scope);
        envelope.encode(self.carrier.codec(), &mut frame)?;
        self.carrier.fits(frame.len()).map_err(|error| error.with("message", envelope.message_type()))?;
        Ok((correlation, frame))
    }
}

impl<A: Actor> FarRoute<A> for FrameRoute {
    fn deliver(&self, envelope: Envelope<A>, priority: Priority) -> Result<(), FarRefused<A>> {
        let (correlation, frame) = match self.frame(&envelope, priority) {
            Ok(framed) => framed,
            Err(error) => {
                let error = match error.get("actor") {
                    Some(_) => error,
                    None => error.with("actor", &self.text),
                };
                return Err(FarRefused { envelope, error });
            }
        };
        match envelope.into_far_ask() {
            None => self.carrier.send(frame),
            Some(ask) => {
                // `None`: the asker gave up in the meantime.
                if let Some(streams) = ask.sent() {
                    self.carrier.send_ask(frame, correlation, ask, streams);
                }
            }
        }
        Ok(())
    }

    fn end(&self, how: End) -> Result<()> {
        self.carrier.end(&self.path, how)
    }

    fn watch(&self) -> Result<()> {
        if self.path.virtual_actor().is_some() {
            let error =
                crate::Error::new(ErrorKind::Unsupported).with("actor", &self.text).with("call", "watch");
            return Err(error.with("because", "a virtual actor has no end"));
        }
        self.carrier.watch(&self.path)
    }

    fn unwatch(&self) {
        self.carrier.unwatch(&self.path);
    }

    fn asker_gone(&self) {
        self.carrier.asker_gone();
    }
}
