use std::fmt;

use crate::ask::{Ask, Target};
use crate::{Actor, ActorRef, Header, Headers, Message, Priority, Recipient, Result, SendError, SentTo};

/// How one message travels.
#[derive(Debug)]
pub(crate) struct Manner {
    pub(crate) priority: Priority,
    pub(crate) headers: Headers,
}

impl Manner {
    /// As its type says, and with nothing beside it.
    pub(crate) fn of<M: Message>() -> Self {
        Self { priority: M::PRIORITY, headers: Headers::default() }
    }
}

/// One message to an actor, with a priority or headers of its own: from [`ActorRef::at`] or [`ActorRef::header`], and
/// the same on a [`Recipient`].
#[must_use = "nothing is sent yet"]
pub struct Post<'a, R> {
    to: &'a R,
    priority: Option<Priority>,
    headers: Headers,
}

impl<'a, R> Post<'a, R> {
    pub(crate) fn new(to: &'a R) -> Self {
        Self { to, priority: None, headers: Headers::default() }
    }

    /// Sends with this priority, whatever the message's type says.
    pub fn at(mut self, priority: Priority) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Sends with this header.
    pub fn header(mut self, header: impl Header) -> Self {
        self.headers.insert(header);
        self
    }

    fn manner<M: Message>(self) -> (&'a R, Manner) {
        (self.to, Manner { priority: self.priority.unwrap_or(M::PRIORITY), headers: self.headers })
    }
}

impl<'a, A: Actor> Post<'a, ActorRef<A>> {
    /// See [`ActorRef::tell`].
    pub fn tell<M: SentTo<A>>(self, message: M) -> Result<()> {
        let (to, manner) = self.manner::<M>();
        Target::tell(to, message, manner)
    }

    /// See [`ActorRef::try_tell`].
    pub fn try_tell<M: SentTo<A>>(self, message: M) -> Result<(), SendError<M>> {
        let (to, manner) = self.manner::<M>();
        Target::try_tell(to, message, manner)
    }

    /// See [`ActorRef::send`].
    pub async fn send<M: SentTo<A>>(self, message: M) -> Result<()> {
        let (to, manner) = self.manner::<M>();
        to.dispatch(message, manner).await
    }

    /// See [`ActorRef::ask`].
    pub fn ask<M: SentTo<A>>(self, message: M) -> Ask<'a, M> {
        let (to, manner) = self.manner::<M>();
        Ask::new(to, message, manner)
    }
}

impl<'a, M: Message> Post<'a, Recipient<M>> {
    /// See [`ActorRef::tell`].
    pub fn tell(self, message: M) -> Result<()> {
        let (to, manner) = self.manner::<M>();
        to.target.tell(message, manner)
    }

    /// See [`ActorRef::try_tell`].
    pub fn try_tell(self, message: M) -> Result<(), SendError<M>> {
        let (to, manner) = self.manner::<M>();
        to.target.try_tell(message, manner)
    }

    /// See [`ActorRef::send`].
    pub async fn send(self, message: M) -> Result<()> {
        let (to, manner) = self.manner::<M>();
        to.target.send(message, manner).await
    }

    /// See [`ActorRef::ask`].
    pub fn ask(self, message: M) -> Ask<'a, M> {
        let (to, manner) = self.manner::<M>();
        Ask::new(&*to.target, message, manner)
    }
}

impl<R: fmt::Debug> fmt::Debug for Post<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Post")
            .field("to", self.to)
            .field("priority", &self.priority)
            .field("headers", &self.headers)
            .finish()
    }
}
