use std::fmt;

use crate::actor_ref::ask::{Ask, Target};
use crate::message::options::SendOptions;
use crate::{Actor, ActorRef, Header, Headers, Message, Priority, Recipient, Result, SendError, SentTo};

/// Send options for one message, a priority or headers: from [`ActorRef::at`], [`ActorRef::header`], and the
/// same methods of [`Recipient`].
#[must_use = "nothing is sent yet"]
pub struct SendBuilder<'a, R> {
    to: &'a R,
    priority: Option<Priority>,
    headers: Headers,
}

impl<'a, R> SendBuilder<'a, R> {
    pub(crate) fn new(to: &'a R) -> Self {
        Self { to, priority: None, headers: Headers::default() }
    }

    /// Sends with this priority instead of the message type's own.
    pub fn at(mut self, priority: Priority) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Sends with this header.
    pub fn header(mut self, header: impl Header) -> Self {
        self.headers.insert(header);
        self
    }

    fn options<M: Message>(self) -> (&'a R, SendOptions) {
        (self.to, SendOptions { priority: self.priority.unwrap_or(M::PRIORITY), headers: self.headers })
    }
}

impl<'a, A: Actor> SendBuilder<'a, ActorRef<A>> {
    /// See [`ActorRef::tell`].
    pub fn tell<M: SentTo<A>>(self, message: M) -> Result<()> {
        let (to, options) = self.options::<M>();
        Target::tell(to, message, options)
    }

    /// See [`ActorRef::try_tell`].
    pub fn try_tell<M: SentTo<A>>(self, message: M) -> Result<(), SendError<M>> {
        let (to, options) = self.options::<M>();
        Target::try_tell(to, message, options)
    }

    /// See [`ActorRef::send`].
    pub async fn send<M: SentTo<A>>(self, message: M) -> Result<()> {
        let (to, options) = self.options::<M>();
        to.dispatch(message, options).await
    }

    /// See [`ActorRef::ask`].
    pub fn ask<M: SentTo<A>>(self, message: M) -> Ask<'a, M> {
        let (to, options) = self.options::<M>();
        Ask::new(to, message, options).or_timeout(Target::<M>::ask_timeout(to))
    }
}

impl<'a, M: Message> SendBuilder<'a, Recipient<M>> {
    /// See [`ActorRef::tell`].
    pub fn tell(self, message: M) -> Result<()> {
        let (to, options) = self.options::<M>();
        to.target.tell(message, options)
    }

    /// See [`ActorRef::try_tell`].
    pub fn try_tell(self, message: M) -> Result<(), SendError<M>> {
        let (to, options) = self.options::<M>();
        to.target.try_tell(message, options)
    }

    /// See [`ActorRef::send`].
    pub async fn send(self, message: M) -> Result<()> {
        let (to, options) = self.options::<M>();
        to.target.send(message, options).await
    }

    /// See [`ActorRef::ask`].
    pub fn ask(self, message: M) -> Ask<'a, M> {
        let (to, options) = self.options::<M>();
        Ask::new(&*to.target, message, options).or_timeout(to.target.ask_timeout())
    }
}

impl<R: fmt::Debug> fmt::Debug for SendBuilder<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendBuilder")
            .field("to", self.to)
            .field("priority", &self.priority)
            .field("headers", &self.headers)
            .finish()
    }
}
