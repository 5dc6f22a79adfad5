use std::any::{Any, type_name};
use std::fmt;
use std::future::{Future, poll_fn};
use std::hash::{Hash, Hasher};
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use crate::ask::{Ask, Sending, Target};
use crate::envelope::Labelled;
use crate::mailbox::Ending;
use crate::outbound::{Trail, depart, nobody_waits, settle, turn_back};
use crate::pending::Holder;
use crate::pipeline::{Chain, Pause, extend};
use crate::post::Manner;
use crate::reply::Reply;
use crate::shared::{Control, Delivered, Shared};
use crate::turn::{self, awaits_itself};
use crate::{
    Actor, ActorPath, Error, Header, Mode, Outbound, Pid, Post, Priority, Recipient, Result, SendError,
    SentTo, StopReason, System,
};

/// A handle to an actor: storable, cheap to clone, the same type on every backend.
///
/// It does not keep the actor running, and dropping the last one does not stop it: an actor lives until it
/// is stopped. Two refs are equal when they mean the same actor.
pub struct ActorRef<A: Actor> {
    pub(crate) shared: Arc<Shared<A>>,
    outbound: Chain<dyn Outbound>,
}

impl<A: Actor> ActorRef<A> {
    pub(crate) fn of(shared: Arc<Shared<A>>) -> Self {
        let outbound = shared.head.outbound.clone();
        Self { shared, outbound }
    }

    /// The ref of an actor that is known only as one, if it is an `A`.
    pub(crate) fn known(actor: Arc<dyn Control>) -> Option<Self> {
        actor.into_any().downcast::<Shared<A>>().ok().map(Self::of)
    }

    /// Sends a message and does not wait for anything. An error says that the message will not be handled.
    pub fn tell<M: SentTo<A>>(&self, message: M) -> Result<()> {
        Target::tell(self, message, Manner::of::<M>())
    }

    /// Like [`tell`](Self::tell), but hands a refused message back.
    pub fn try_tell<M: SentTo<A>>(&self, message: M) -> Result<(), SendError<M>> {
        Target::try_tell(self, message, Manner::of::<M>())
    }

    /// Sends a message, waiting for room where the mailbox makes senders wait ([`Overflow::Block`]); senders get
    /// in in the order in which they came. An unbounded mailbox has room always.
    ///
    /// Dropped while it waits, it takes its message back. Inside the actor's own turn it does not wait: room
    /// could only come after it.
    ///
    /// [`Overflow::Block`]: crate::Overflow::Block
    pub async fn send<M: SentTo<A>>(&self, message: M) -> Result<()> {
        self.dispatch(message, Manner::of::<M>()).await
    }

    /// Sends a message and gives the handler's reply.
    ///
    /// The ask is sent when it is first polled, like any Rust future; [`Ask::enqueue`] sends it at once.
    ///
    /// It borrows the ref, so that an ask costs no count of references. Where something that borrows nothing is needed:
    ///
    /// ```
    /// # use dactor_core::{Actor, ActorRef, Handler, Message, Result};
    /// # async fn ways<A: Handler<M>, M: Message<Reply = u64> + Clone>(actor: ActorRef<A>, message: M) -> Result<()> {
    /// # let (first, second, third) = (message.clone(), message.clone(), message);
    /// // To a task, sent now: the pending reply borrows nothing.
    /// let replied = tokio::spawn(actor.ask(first).enqueue()?);
    /// // To a task, sent when that runs: the task has a ref of its own.
    /// let asker = actor.clone();
    /// let asked = tokio::spawn(async move { asker.ask(second).await });
    /// // Several at once need no more than the refs.
    /// let all = futures_util::future::join_all([&actor].map(|actor| actor.ask(third.clone()))).await;
    /// # Ok(()) }
    /// ```
    pub fn ask<M: SentTo<A>>(&self, message: M) -> Ask<'_, M> {
        Ask::new(self, message, Manner::of::<M>())
    }

    /// This actor, for sending with another [`Priority`] than the message's own.
    ///
    /// ```
    /// # use dactor_core::{Actor, ActorRef, Priority, Result, SentTo};
    /// # fn cancel<A: Actor, M: SentTo<A>>(actor: ActorRef<A>, message: M) -> Result<()> {
    /// actor.at(Priority::High).tell(message)
    /// # }
    /// ```
    pub fn at(&self, priority: Priority) -> Post<'_, Self> {
        Post::new(self).at(priority)
    }

    /// This actor, for sending with a header beside the message.
    pub fn header(&self, header: impl Header) -> Post<'_, Self> {
        Post::new(self).header(header)
    }

    /// The same actor, through a ref whose messages this interceptor sees, behind those that the ref has already.
    pub fn outbound(&self, interceptor: impl Outbound) -> Self {
        let outbound = extend(&self.outbound, vec![Arc::new(interceptor)]);
        Self { shared: self.shared.clone(), outbound }
    }

    pub(crate) async fn dispatch<M: SentTo<A>>(&self, message: M, mut manner: Manner) -> Result<()> {
        let mut trail = None;
        if self.outbound.is_some() {
            match depart(self, &message, Mode::Tell, &mut manner.headers) {
                Ok((pause, left)) => {
                    trail = left.map(Box::new);
                    if !pause.delay.is_zero() {
                        tokio::time::sleep(pause.delay).await;
                    }
                }
                Err(error) => {
                    self.bury(&message, &error);
                    return Err(error);
                }
            }
        }
        let sent = self.shared.send(message.into_tell(manner.headers), manner.priority).await;
        settle(trail, sent)
    }

    /// Whether the interceptors let a message go at once. They are to hear whether it was sent.
    pub(crate) fn departs<M: SentTo<A>>(&self, message: &M, manner: &mut Manner) -> Result<Option<Trail>> {
        match depart(self, message, Mode::Tell, &mut manner.headers)? {
            (Pause { delay: Duration::ZERO, .. }, trail) => Ok(trail),
            (pause, trail) => Err(turn_back(trail, nobody_waits::<M>(self, pause))),
        }
    }

    /// This actor as the receiver of one type of message.
    pub fn recipient<M: SentTo<A>>(&self) -> Recipient<M> {
        Recipient::new(Arc::new(self.clone()))
    }

    /// A handle that does not keep the actor's memory.
    pub fn downgrade(&self) -> WeakRef<A> {
        WeakRef { shared: Arc::downgrade(&self.shared), outbound: self.outbound.clone() }
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
    ///
    /// # Errors
    ///
    /// [`AskedItself`](crate::ErrorKind::AskedItself), at once, when the actor awaits its own end in one of its handlers or
    /// hooks: it ends only after that. A task that it spawns may wait for it.
    pub async fn wait(&self) -> Result<StopReason> {
        let head = &self.shared.head;
        let mut ended = pin!(head.end.wait());
        poll_fn(|cx| match ended.as_mut().poll(cx) {
            Poll::Ready(reason) => Poll::Ready(Ok(reason.clone())),
            Poll::Pending if turn::current() == head.pid => Poll::Ready(Err(awaits_itself(self, "wait"))),
            Poll::Pending => Poll::Pending,
        })
        .await
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

    /// Where the actor is in its system, with its number as the UID. It is put together here: keep it if you look at it
    /// often.
    pub fn path(&self) -> ActorPath {
        self.shared.head.path()
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

impl<A: Actor> Labelled for ActorRef<A> {
    fn path(&self) -> ActorPath {
        self.shared.head.path()
    }

    fn pid(&self) -> Pid {
        self.shared.head.pid
    }

    fn actor_type(&self) -> &'static str {
        self.shared.actor_type()
    }

    fn queued(&self) -> usize {
        self.shared.mailbox.len()
    }
}

impl<A: Actor, M: SentTo<A>> Target<M> for ActorRef<A> {
    fn tell(&self, message: M, mut manner: Manner) -> Result<()> {
        if self.outbound.is_none() {
            return self.shared.tell(message, manner).map(drop);
        }
        match self.departs(&message, &mut manner) {
            Ok(trail) => settle(trail, self.shared.tell(message, manner)),
            Err(error) => {
                self.bury(&message, &error);
                Err(error)
            }
        }
    }

    fn try_tell(&self, message: M, mut manner: Manner) -> Result<(), SendError<M>> {
        if self.outbound.is_none() {
            return self.shared.try_tell(message, manner).map(drop);
        }
        let trail = match self.departs(&message, &mut manner) {
            Ok(trail) => trail,
            Err(reason) => return Err(SendError { message, reason }),
        };
        let (back, sent) = match self.shared.try_tell(message, manner) {
            Ok(delivered) => (None, Ok(delivered)),
            Err(SendError { message, reason }) => (Some(message), Err(reason)),
        };
        match (settle(trail, sent), back) {
            (Err(reason), Some(message)) => Err(SendError { message, reason }),
            _ => Ok(()),
        }
    }

    fn send(&self, message: M, manner: Manner) -> Sending<'_> {
        Box::pin(self.dispatch(message, manner))
    }

    fn deliver(&self, reply: Arc<Reply<M>>, priority: Priority) -> Result<Delivered> {
        self.shared.deliver(M::into_ask(reply), priority)
    }

    fn outbound(&self) -> &Chain<dyn Outbound> {
        &self.outbound
    }

    fn labelled(&self) -> Arc<dyn Labelled> {
        self.shared.clone()
    }

    fn holder(&self) -> Arc<dyn Holder> {
        self.shared.clone()
    }

    fn bury(&self, message: &M, error: &Error) {
        self.system().events().bury(self, type_name::<M>(), error, || message.describe());
    }
}

impl<A: Actor> Clone for ActorRef<A> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone(), outbound: self.outbound.clone() }
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
    outbound: Chain<dyn Outbound>,
}

impl<A: Actor> WeakRef<A> {
    /// The full handle, while the actor lives or another full handle exists.
    pub fn upgrade(&self) -> Option<ActorRef<A>> {
        Some(ActorRef { shared: self.shared.upgrade()?, outbound: self.outbound.clone() })
    }
}

impl<A: Actor> Clone for WeakRef<A> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone(), outbound: self.outbound.clone() }
    }
}

impl<A: Actor> fmt::Debug for WeakRef<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WeakRef").field(&self.upgrade()).finish()
    }
}
