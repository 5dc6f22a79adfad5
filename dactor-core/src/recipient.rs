use std::fmt;
use std::sync::Arc;

use crate::ask::{Ask, Target};
use crate::post::Manner;
use crate::{ActorPath, Header, Message, Pid, Post, Priority, Result, SendError};

/// Any actor that handles `M`, whatever its type.
pub struct Recipient<M: Message> {
    pub(crate) target: Arc<dyn Target<M>>,
}

impl<M: Message> Recipient<M> {
    pub(crate) fn new(target: Arc<dyn Target<M>>) -> Self {
        Self { target }
    }

    /// See [`ActorRef::tell`](crate::ActorRef::tell).
    pub fn tell(&self, message: M) -> Result<()> {
        self.target.tell(message, Manner::of::<M>())
    }

    /// See [`ActorRef::try_tell`](crate::ActorRef::try_tell).
    pub fn try_tell(&self, message: M) -> Result<(), SendError<M>> {
        self.target.try_tell(message, Manner::of::<M>())
    }

    /// See [`ActorRef::send`](crate::ActorRef::send).
    pub async fn send(&self, message: M) -> Result<()> {
        self.target.send(message, Manner::of::<M>()).await
    }

    /// See [`ActorRef::ask`](crate::ActorRef::ask).
    pub fn ask(&self, message: M) -> Ask<'_, M> {
        Ask::new(&*self.target, message, Manner::of::<M>())
    }

    /// See [`ActorRef::at`](crate::ActorRef::at).
    pub fn at(&self, priority: Priority) -> Post<'_, Self> {
        Post::new(self).at(priority)
    }

    /// See [`ActorRef::header`](crate::ActorRef::header).
    pub fn header(&self, header: impl Header) -> Post<'_, Self> {
        Post::new(self).header(header)
    }

    /// The actor's path: see [`ActorRef::path`](crate::ActorRef::path).
    pub fn path(&self) -> ActorPath {
        self.target.path()
    }

    /// The actor's number.
    pub fn id(&self) -> Pid {
        self.target.pid()
    }
}

impl<M: Message> Clone for Recipient<M> {
    fn clone(&self) -> Self {
        Self { target: self.target.clone() }
    }
}

impl<M: Message> fmt::Debug for Recipient<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Recipient").field(&self.target.label()).finish()
    }
}
