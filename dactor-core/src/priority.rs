use std::fmt;

use crate::ask::Ask;
use crate::{Actor, ActorRef, Error, ErrorKind, Message, Recipient, Result, SendError, SentTo};

/// Which lane of a mailbox a message travels in.
///
/// A type of message has one ([`Message::PRIORITY`]), and a single send may say another ([`ActorRef::at`]). An actor
/// takes the highest message that waits; those of one lane stay in the order in which they came. A lower lane never
/// starves: of every eight messages that an actor takes while the lane waits, one comes from it (where two lanes wait
/// for that, they follow one another).
///
/// Priority orders what waits in a mailbox, nothing else. A bounded mailbox counts all lanes together, a sender in
/// line is let in in its turn, and stop, drain and kill are not messages: they overtake every lane. Between messages
/// of different priority there is no order to rely on, also from one sender.
///
/// ```
/// use dactor_core::Priority;
///
/// assert!(Priority::High > Priority::Normal);
/// assert_eq!(Priority::try_from(0).unwrap(), Priority::Low);
/// assert!(Priority::try_from(3).unwrap_err().to_string().contains("0, 1 or 2"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Priority {
    /// Behind everything else.
    Low = 0,
    /// What a message has if it does not say otherwise.
    #[default]
    Normal = 1,
    /// Before everything else.
    High = 2,
}

impl Priority {
    /// One message in this many, at the least, is taken from a lower lane that waits.
    pub const SHARE: usize = 8;
}

/// From a level of a configuration: 0 is low, 1 normal, 2 high.
impl TryFrom<u8> for Priority {
    type Error = Error;

    fn try_from(level: u8) -> Result<Self> {
        match level {
            0 => Ok(Self::Low),
            1 => Ok(Self::Normal),
            2 => Ok(Self::High),
            _ => {
                Err(Error::new(ErrorKind::InvalidPriority).with("level", level).with("expected", "0, 1 or 2"))
            }
        }
    }
}

/// An actor, for messages that are sent with one priority, whatever their types say: from [`ActorRef::at`] or
/// [`Recipient::at`].
#[must_use]
pub struct At<'a, R> {
    to: &'a R,
    priority: Priority,
}

impl<'a, R> At<'a, R> {
    pub(crate) fn new(to: &'a R, priority: Priority) -> Self {
        Self { to, priority }
    }
}

impl<'a, A: Actor> At<'a, ActorRef<A>> {
    /// See [`ActorRef::tell`].
    pub fn tell<M: SentTo<A>>(&self, message: M) -> Result<()> {
        self.to.shared.tell(message, self.priority)
    }

    /// See [`ActorRef::try_tell`].
    pub fn try_tell<M: SentTo<A>>(&self, message: M) -> Result<(), SendError<M>> {
        self.to.shared.try_tell(message, self.priority)
    }

    /// See [`ActorRef::send`].
    pub async fn send<M: SentTo<A>>(&self, message: M) -> Result<()> {
        self.to.shared.send(message.into_tell(), self.priority).await
    }

    /// See [`ActorRef::ask`].
    pub fn ask<M: SentTo<A>>(&self, message: M) -> Ask<'a, M> {
        Ask::new(&*self.to.shared, message, self.priority)
    }
}

impl<'a, M: Message> At<'a, Recipient<M>> {
    /// See [`ActorRef::tell`].
    pub fn tell(&self, message: M) -> Result<()> {
        self.to.target.tell(message, self.priority)
    }

    /// See [`ActorRef::try_tell`].
    pub fn try_tell(&self, message: M) -> Result<(), SendError<M>> {
        self.to.target.try_tell(message, self.priority)
    }

    /// See [`ActorRef::send`].
    pub async fn send(&self, message: M) -> Result<()> {
        self.to.target.send(message, self.priority).await
    }

    /// See [`ActorRef::ask`].
    pub fn ask(&self, message: M) -> Ask<'a, M> {
        Ask::new(&*self.to.target, message, self.priority)
    }
}

impl<R: fmt::Debug> fmt::Debug for At<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("At").field("to", self.to).field("priority", &self.priority).finish()
    }
}
