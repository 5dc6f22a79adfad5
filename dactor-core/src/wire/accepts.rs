//! The messages that an actor accepts from other processes.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;

use crate::wire::Remote;
use crate::wire::opening::{Arriving, Open, Opened, open_expand, open_message, open_reduce, open_transform};
use crate::{
    Actor, ActorRef, AnyActorRef, Error, ErrorKind, Expand, ExpandHandler, ExpandRequest, MAX_WIRE_NAME,
    Message, Mode, Recipient, Reduce, ReduceHandler, ReduceRequest, Result, SentTo, Transform,
    TransformHandler, TransformRequest,
};

/// The messages that an `A` accepts from other processes, by wire name.
///
/// [`Remote::accepts`] fills it; [`of`](Self::of) builds and validates it, once for each actor type.
pub struct Accepts<A: Actor> {
    actor: &'static str,
    messages: HashMap<&'static str, Entry<A>>,
    /// The first error in the list.
    wrong: Option<Error>,
}

struct Entry<A: Actor> {
    message: &'static str,
    id: TypeId,
    mode: Mode,
    /// Makes a [`Recipient`] of the message from the typed ref.
    recipient: fn(&ActorRef<A>) -> Box<dyn Any>,
    open: Open<A>,
}

impl<A: Actor> Accepts<A> {
    /// Builds the table of `A`.
    ///
    /// # Errors
    ///
    /// [`InvalidWireName`](ErrorKind::InvalidWireName) for a message or actor type whose name is empty or
    /// longer than [`MAX_WIRE_NAME`], and for a message listed twice.
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

    /// Accepts tells and asks of `M`. A message without a wire name does not compile:
    ///
    /// ```compile_fail,E0080
    /// # use dactor_core::{Actor, Context, Exclusive, Handler, Message, Outcome};
    /// # use dactor_core::wire::{Accepts, Remote};
    /// # struct Account;
    /// # impl Actor for Account {}
    /// struct Inside;
    /// impl Message for Inside {
    ///     type Reply = ();
    ///     type Access = Exclusive;
    /// }
    /// # impl Handler<Inside> for Account {
    /// #     async fn handle(&mut self, _: Inside, _: &mut Context<Self>) -> Outcome<()> { Ok(()) }
    /// # }
    /// impl Remote for Account {
    ///     const TYPE: &'static str = "bank.Account";
    ///     fn accepts(messages: &mut Accepts<Self>) {
    ///         messages.message::<Inside>(); // `Inside` has no wire name
    ///     }
    /// }
    /// # fn main() { Accepts::<Account>::of().unwrap(); }
    /// ```
    pub fn message<M: SentTo<A>>(&mut self) -> &mut Self {
        const {
            assert!(
                M::WIRE.is_some(),
                "a message needs `#[message(wire = \"..\")]` to come from another process"
            )
        };
        self.insert::<M>(open_message::<A, M>)
    }

    /// Accepts a request that is answered with a stream of items.
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

    /// Accepts a request that sends a stream of items.
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

    /// Decodes a received message and makes the envelope for the actor's mailbox.
    ///
    /// # Errors
    ///
    /// [`UnknownMessage`](ErrorKind::UnknownMessage) for a name that is not listed, or is listed for another
    /// kind of request; [`DecodeFailed`](ErrorKind::DecodeFailed) when the payload cannot be decoded. An ask
    /// has already been answered with the error: the caller must not answer it again.
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

    /// The accepted wire names, sorted.
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

/// The type-erased form of [`Accepts`].
pub trait AnyAccepts: Send + Sync {
    /// The name of the actor's type in other processes.
    fn actor_type(&self) -> &'static str;

    /// Whether a message with this wire name is accepted.
    fn accepts_name(&self, name: &str) -> bool;

    /// A [`Recipient`] of the message with this type id, if the actor has this type and accepts the message.
    #[doc(hidden)]
    fn recipient_of(&self, actor: &AnyActorRef, message: TypeId) -> Option<Box<dyn Any>>;
}

impl<A: Actor> AnyAccepts for Accepts<A> {
    fn actor_type(&self) -> &'static str {
        self.actor
    }

    fn accepts_name(&self, name: &str) -> bool {
        self.messages.contains_key(name)
    }

    fn recipient_of(&self, actor: &AnyActorRef, message: TypeId) -> Option<Box<dyn Any>> {
        let actor = actor.actor_ref::<A>()?;
        let entry = self.messages.values().find(|entry| entry.id == message)?;
        Some((entry.recipient)(&actor))
    }
}

impl dyn AnyAccepts + '_ {
    /// The actor as a recipient of `M`, if it has this type and accepts `M` from other processes.
    pub fn recipient<M: Message>(&self, actor: &AnyActorRef) -> Option<Recipient<M>> {
        let recipient = self.recipient_of(actor, TypeId::of::<M>())?;
        recipient.downcast::<Recipient<M>>().ok().map(|recipient| *recipient)
    }
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
