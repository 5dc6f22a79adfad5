use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};

use crate::ask::Ask;
use crate::mailbox::Ending;
use crate::shared::{Control, Shared};
use crate::{Actor, At, Pid, Priority, Recipient, Result, SendError, SentTo, StopReason, System};

/// A handle to an actor: storable, cheap to clone, the same type on every backend.
///
/// It does not keep the actor running, and dropping the last one does not stop it: an actor lives until it
/// is stopped. Two refs are equal when they mean the same actor.
pub struct ActorRef<A: Actor> {
    pub(crate) shared: Arc<Shared<A>>,
}

impl<A: Actor> ActorRef<A> {
    /// Sends a message and does not wait for anything. An error says that the message will not be handled.
    pub fn tell<M: SentTo<A>>(&self, message: M) -> Result<()> {
        self.shared.tell(message, M::PRIORITY)
    }

    /// Like [`tell`](Self::tell), but hands a refused message back.
    pub fn try_tell<M: SentTo<A>>(&self, message: M) -> Result<(), SendError<M>> {
        self.shared.try_tell(message, M::PRIORITY)
    }

    /// Sends a message, waiting for room where the mailbox makes senders wait ([`Overflow::Block`]); senders get
    /// in in the order in which they came. An unbounded mailbox has room always.
    ///
    /// Dropped while it waits, it takes its message back. Inside the actor's own turn it does not wait: room
    /// could only come after it.
    ///
    /// [`Overflow::Block`]: crate::Overflow::Block
    pub async fn send<M: SentTo<A>>(&self, message: M) -> Result<()> {
        self.shared.send(message.into_tell(), M::PRIORITY).await
    }

    /// Sends a message and gives the handler's reply.
    ///
    /// The ask is sent when it is first polled, like any Rust future; [`Ask::enqueue`] sends it at once.
    pub fn ask<M: SentTo<A>>(&self, message: M) -> Ask<'_, M> {
        Ask::new(&*self.shared, message, M::PRIORITY)
    }

    /// This actor, for sending with another [`Priority`] than the message's own.
    ///
    /// ```
    /// # use dactor_core::{Actor, ActorRef, Priority, Result, SentTo};
    /// # fn cancel<A: Actor, M: SentTo<A>>(actor: ActorRef<A>, message: M) -> Result<()> {
    /// actor.at(Priority::High).tell(message)
    /// # }
    /// ```
    pub fn at(&self, priority: Priority) -> At<'_, Self> {
        At::new(self, priority)
    }

    /// This actor as the receiver of one type of message.
    pub fn recipient<M: SentTo<A>>(&self) -> Recipient<M> {
        Recipient::new(self.shared.clone())
    }

    /// A handle that does not keep the actor's memory.
    pub fn downgrade(&self) -> WeakRef<A> {
        WeakRef { shared: Arc::downgrade(&self.shared) }
    }

    /// Stops the actor after its current message. Queued messages become dead letters, their askers get
    /// [`Stopped`](crate::ErrorKind::Stopped); `on_stop` runs.
    pub fn stop(&self) {
        self.shared.signal(Ending::Stop);
    }

    /// Stops the actor after all it has accepted so far. Whatever is sent from now on is refused.
    pub fn drain(&self) {
        self.shared.signal(Ending::Drain);
    }

    /// Ends the actor at its next await: the running handler or hook is dropped, `on_stop` does not run.
    pub fn kill(&self) {
        self.shared.signal(Ending::Kill);
    }

    /// Waits until the actor has ended and gives the reason, to any number of callers, before or after.
    pub async fn wait(&self) -> StopReason {
        self.shared.head.end.wait().await.clone()
    }

    /// The reason, when the actor has ended.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.shared.head.end.get().cloned()
    }

    /// Whether the actor has not ended yet.
    pub fn is_alive(&self) -> bool {
        self.shared.head.end.get().is_none()
    }

    /// The actor's number.
    pub fn id(&self) -> Pid {
        self.shared.head.pid
    }

    /// The name it was spawned with, if any.
    pub fn name(&self) -> Option<&str> {
        self.shared.head.name.as_deref()
    }

    /// The system it lives in.
    pub fn system(&self) -> &System {
        &self.shared.head.system
    }

    /// How many messages wait in its mailbox, not counting those of the turn in hand.
    pub fn queued(&self) -> usize {
        self.shared.mailbox.len()
    }

    /// The native actor underneath, as the adapter gives it; `None` before the actor has started. Adapters
    /// offer it with its true type.
    ///
    /// Take it before acting on the native actor: from then on the actor lets its runtime look at native
    /// signals whenever it has nothing to do, which it may skip before.
    pub fn native(&self) -> Option<&(dyn Any + Send + Sync)> {
        self.shared.native()
    }
}

impl<A: Actor> Clone for ActorRef<A> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<A: Actor> PartialEq for ActorRef<A> {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl<A: Actor> Eq for ActorRef<A> {}

impl<A: Actor> Hash for ActorRef<A> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id().hash(state);
    }
}

impl<A: Actor> fmt::Debug for ActorRef<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ActorRef").field(&self.shared).finish()
    }
}

/// A handle that keeps nothing alive.
pub struct WeakRef<A: Actor> {
    shared: Weak<Shared<A>>,
}

impl<A: Actor> WeakRef<A> {
    /// The full handle, while the actor lives or another full handle exists.
    pub fn upgrade(&self) -> Option<ActorRef<A>> {
        self.shared.upgrade().map(|shared| ActorRef { shared })
    }
}

impl<A: Actor> Clone for WeakRef<A> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<A: Actor> fmt::Debug for WeakRef<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WeakRef").field(&self.upgrade()).finish()
    }
}
