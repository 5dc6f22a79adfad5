//! What an actor accepts from other processes.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use tokio::time::Instant;

use crate::actor::stream::far;
use crate::delivery::envelope::Envelope;
use crate::delivery::far::{IncomingAsk, ReplyTo};
use crate::delivery::far_codec::decode;
use crate::delivery::incoming::Incoming;
use crate::message::items::FarStreams;
use crate::wire::Remote;
use crate::{
    Actor, ActorRef, AnyActorRef, Codec, Error, ErrorKind, Expand, ExpandHandler, ExpandRequest, Headers,
    MAX_WIRE_NAME, Message, Mode, Priority, Recipient, Reduce, ReduceHandler, ReduceRequest, Result, SentTo,
    Transform, TransformHandler, TransformRequest, WireCodec,
};

/// The messages that an `A` accepts from other processes, by their wire names.
///
/// [`Remote::accepts`] fills it; [`of`](Self::of) builds and checks it, once for each type of actor.
pub struct Accepts<A: Actor> {
    actor: &'static str,
    messages: HashMap<&'static str, Entry<A>>,
    /// The first mistake in the list.
    wrong: Option<Error>,
}

struct Entry<A: Actor> {
    message: &'static str,
    id: TypeId,
    mode: Mode,
    /// A [`Recipient`] of the message, where the actor is known as what it is.
    recipient: fn(&ActorRef<A>) -> Box<dyn Any>,
    open: Open<A>,
}

type Outcome<A> = Result<Opened<A>, (Error, Option<ReplyTo>)>;
type Open<A> = fn(Arriving<'_>) -> Outcome<A>;

/// A message that has come from another process, before it is decoded.
#[derive(Debug)]
pub struct Arriving<'a> {
    /// How it was sent.
    pub mode: Mode,
    /// The encoded message.
    pub payload: &'a [u8],
    /// How it is encoded.
    pub codec: Codec,
    /// What travels beside it.
    pub headers: Headers,
    /// When its answer is of no use any more.
    pub deadline: Option<Instant>,
    /// Where its answer goes. None for a message that was told.
    pub reply_to: Option<ReplyTo>,
    /// For how many items each stream of it has room.
    pub window: usize,
}

/// A message that has come from another process, ready for the mailbox of its actor.
pub struct Opened<A: Actor> {
    /// For [`deliver`](crate::wire::deliver).
    pub envelope: Envelope<A>,
    /// For an ask: to cancel it.
    pub ask: Option<CancelAsk>,
    /// For a stream request: its streams.
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

/// Cancels an ask that has come from another process.
#[derive(Clone)]
pub struct CancelAsk(Arc<dyn IncomingAsk>);

impl CancelAsk {
    /// The asker has given up: see [`IncomingAsk::cancel`].
    pub fn cancel(&self) {
        self.0.cancel();
    }
}

impl fmt::Debug for CancelAsk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelAsk").finish_non_exhaustive()
    }
}

impl<A: Actor> Accepts<A> {
    /// The table of `A`.
    ///
    /// # Errors
    ///
    /// [`InvalidWireName`](ErrorKind::InvalidWireName) for a name that is empty, longer than [`MAX_WIRE_NAME`] or listed
    /// twice, and for such a name of the actor's type.
    pub fn of() -> Result<Self>
    where
        A: Remote,
    {
        let mut accepts = Self { actor: A::TYPE, messages: HashMap::new(), wrong: None };
        let named = check_name(A::TYPE).map_err(|error| error.with("type", type_name::<A>()));
        A::accepts(&mut accepts);
        named?;
        match accepts.wrong.take() {
            Some(wrong) => Err(wrong.with("type", type_name::<A>())),
            None => Ok(accepts),
        }
    }

    /// The name of the actor's type in other processes.
    pub fn actor_type(&self) -> &'static str {
        self.actor
    }

    /// Accepts `M`, told and asked.
    pub fn message<M: SentTo<A>>(&mut self) -> &mut Self {
        const {
            assert!(
                M::WIRE.is_some(),
                "a message needs `#[message(wire = \"..\")]` to come from another process"
            )
        };
        self.insert::<M>(open_message::<A, M>)
    }

    /// Accepts a request for a stream of items.
    pub fn expand<M: Expand>(&mut self) -> &mut Self
    where
        A: ExpandHandler<M>,
    {
        const {
            assert!(
                M::WIRE.is_some(),
                "a message needs `#[message(wire = \"..\")]` to come from another process"
            )
        };
        self.insert::<ExpandRequest<M>>(open_expand::<A, M>)
    }

    /// Accepts a request with a stream of items.
    pub fn reduce<M: Reduce>(&mut self) -> &mut Self
    where
        A: ReduceHandler<M>,
    {
        const {
            assert!(
                M::WIRE.is_some(),
                "a message needs `#[message(wire = \"..\")]` to come from another process"
            )
        };
        self.insert::<ReduceRequest<M>>(open_reduce::<A, M>)
    }

    /// Accepts a request that transforms a stream of items.
    pub fn transform<M: Transform>(&mut self) -> &mut Self
    where
        A: TransformHandler<M>,
    {
        const {
            assert!(
                M::WIRE.is_some(),
                "a message needs `#[message(wire = \"..\")]` to come from another process"
            )
        };
        self.insert::<TransformRequest<M>>(open_transform::<A, M>)
    }

    fn insert<M: SentTo<A>>(&mut self, open: Open<A>) -> &mut Self {
        let Some(wire) = M::WIRE else { return self };
        let name = wire.name();
        let entry = Entry {
            message: M::type_name(),
            id: TypeId::of::<M>(),
            mode: M::MODE,
            recipient: |actor| Box::new(actor.recipient::<M>()),
            open,
        };
        let checked = check_name(name).and_then(|()| match self.messages.insert(name, entry) {
            None => Ok(()),
            Some(other) => {
                Err(invalid_name(name, "two messages of the actor have it").with("other", other.message))
            }
        });
        if let Err(error) = checked {
            self.wrong.get_or_insert(error.with("message", M::type_name()));
        }
        self
    }

    /// Opens a message that has come: decodes it, and makes the envelope for the actor's mailbox.
    ///
    /// # Errors
    ///
    /// [`UnknownMessage`](ErrorKind::UnknownMessage) for a name that is not listed, or is sent in another way than listed;
    /// [`DecodeFailed`](ErrorKind::DecodeFailed) when the payload is not the message. An ask has been answered with the error
    /// by then: the caller must not answer it again.
    pub fn open(&self, name: &str, mut arriving: Arriving<'_>) -> Result<Opened<A>> {
        let mode = arriving.mode;
        let fits = |entry: &&Entry<A>| entry.mode == mode || (entry.mode == Mode::Ask && mode == Mode::Tell);
        let opened = match self.messages.get(name).filter(fits) {
            Some(entry) if mode.has_caller() == arriving.reply_to.is_some() => (entry.open)(arriving),
            Some(_) => {
                let error = Error::new(ErrorKind::InvalidFrame).with("wire name", name);
                Err((
                    error.with("because", "an ask has one way back, a tell has none"),
                    arriving.reply_to.take(),
                ))
            }
            None => Err((self.unknown(name, mode), arriving.reply_to.take())),
        };
        opened.map_err(|(error, reply_to)| {
            let error = error.with("type", self.actor);
            if let Some(reply_to) = reply_to {
                reply_to.fail(&error);
            }
            error
        })
    }

    fn unknown(&self, name: &str, mode: Mode) -> Error {
        let error = Error::new(ErrorKind::UnknownMessage).with("wire name", name);
        match self.messages.get(name) {
            Some(entry) => error.with(
                "because",
                format!("it was sent by `{}`, and is accepted by `{}`", mode.name(), entry.mode.name()),
            ),
            None => error,
        }
    }

    /// The wire names that it accepts, in order.
    pub fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.messages.keys().copied().collect();
        names.sort_unstable();
        names
    }
}

impl<A: Actor> fmt::Debug for Accepts<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accepts").field("actor", &self.actor).field("messages", &self.names()).finish()
    }
}

/// What the actors of one type accept, whatever the type.
pub trait AnyAccepts: Send + Sync {
    /// The name of the actor's type in other processes.
    fn actor_type(&self) -> &'static str;

    /// A [`Recipient`] of the message with this type id, if the actor is of this type and accepts it.
    #[doc(hidden)]
    fn recipient_of(&self, actor: &AnyActorRef, message: TypeId) -> Option<Box<dyn Any>>;
}

impl<A: Actor> AnyAccepts for Accepts<A> {
    fn actor_type(&self) -> &'static str {
        self.actor
    }

    fn recipient_of(&self, actor: &AnyActorRef, message: TypeId) -> Option<Box<dyn Any>> {
        let actor = actor.actor_ref::<A>()?;
        let entry = self.messages.values().find(|entry| entry.id == message)?;
        Some((entry.recipient)(&actor))
    }
}

impl dyn AnyAccepts + '_ {
    /// The actor as a recipient of `M`, if it is of this type and accepts `M` from other processes.
    pub fn recipient<M: Message>(&self, actor: &AnyActorRef) -> Option<Recipient<M>> {
        let recipient = self.recipient_of(actor, TypeId::of::<M>())?;
        recipient.downcast::<Recipient<M>>().ok().map(|recipient| *recipient)
    }
}

/// Puts an opened message into the mailbox of its actor. An ask that is refused has been answered by then.
///
/// # Errors
///
/// As a tell of the same message: the caller must not answer an ask with it.
pub fn deliver<A: Actor>(actor: &ActorRef<A>, envelope: Envelope<A>, priority: Priority) -> Result<()> {
    actor.core.deliver_incoming(envelope, priority).map(drop)
}

fn check_name(name: &'static str) -> Result<()> {
    if name.is_empty() {
        return Err(invalid_name(name, "it is empty"));
    }
    if name.len() > MAX_WIRE_NAME {
        let error = invalid_name(name, "it is too long");
        return Err(error.with("bytes", name.len()).with("limit", MAX_WIRE_NAME));
    }
    Ok(())
}

fn invalid_name(name: &'static str, because: &'static str) -> Error {
    Error::new(ErrorKind::InvalidWireName).with("wire name", name).with("because", because)
}

/// Decodes what came, or gives the way back with the error.
fn opened<T>(wire: Option<WireCodec<T>>, arriving: &mut Arriving<'_>) -> Result<T, (Error, Option<ReplyTo>)> {
    let decoded = match wire {
        Some(wire) => decode(&wire, arriving.payload, arriving.codec),
        None => Err(Error::new(ErrorKind::UnknownMessage)),
    };
    decoded.map_err(|error| (error, arriving.reply_to.take()))
}

fn open_message<A: Actor, M: SentTo<A>>(mut arriving: Arriving<'_>) -> Outcome<A> {
    let message = opened(M::WIRE.map(|wire| wire.message()), &mut arriving)?;
    Ok(envelope(message, arriving, FarStreams::default()))
}

fn open_expand<A: ExpandHandler<M>, M: Expand>(mut arriving: Arriving<'_>) -> Outcome<A> {
    let message = opened(M::WIRE.map(|wire| wire.request()), &mut arriving)?;
    let (request, streams) = far::open_expand(message, arriving.window);
    Ok(envelope(request, arriving, streams))
}

fn open_reduce<A: ReduceHandler<M>, M: Reduce>(mut arriving: Arriving<'_>) -> Outcome<A> {
    let message = opened(M::WIRE.map(|wire| wire.request()), &mut arriving)?;
    let (request, streams) = far::open_reduce(message, arriving.window);
    Ok(envelope(request, arriving, streams))
}

fn open_transform<A: TransformHandler<M>, M: Transform>(mut arriving: Arriving<'_>) -> Outcome<A> {
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
