use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::actor_ref::ask::{Ask, Sending, Target};
use crate::actor_ref::outbound::{OutboundGuard, delay_unsupported, finish_send, not_sent, run_on_send};
use crate::base::label::{Labelled, hash_actor, is_same_actor};
use crate::delivery::ask_state::{AskState, Holder};
use crate::interceptor::chain::{Chain, Pause, extend};
use crate::kernel::actor_core::{ActorCore, Delivered, DynActor, wait};
use crate::message::options::SendOptions;
use crate::path::{ActorPathParts, ActorUid};
use crate::{
    Actor, ActorPath, End, Error, Header, Mode, Outbound, Pid, Priority, Recipient, Result, SendBuilder,
    SendError, SentTo, StopReason, System,
};

/// A handle to an actor: storable, cheap to clone, the same type on every backend.
///
/// A ref does not keep the actor running, and dropping the last ref does not stop it: an actor runs until it is stopped. Two
/// refs are equal when they refer to the same actor: same system address, same UID. Interceptors are not compared.
pub struct ActorRef<A: Actor> {
    pub(crate) core: Arc<ActorCore<A>>,
    outbound: Chain<dyn Outbound>,
}

impl<A: Actor> ActorRef<A> {
    pub(crate) fn of(core: Arc<ActorCore<A>>) -> Self {
        let outbound = core.meta.outbound().clone();
        Self { core, outbound }
    }

    /// Downcasts an untyped actor: `None` unless it is an `A`.
    pub(crate) fn known(actor: Arc<dyn DynActor>) -> Option<Self> {
        actor.into_any().downcast::<ActorCore<A>>().ok().map(Self::of)
    }

    /// Sends a message without waiting (fire and forget). An error means that the message will not be handled.
    pub fn tell<M: SentTo<A>>(&self, message: M) -> Result<()> {
        Target::tell(self, message, SendOptions::of::<M>())
    }

    /// Like [`tell`](Self::tell), but returns a refused message to the caller.
    pub fn try_tell<M: SentTo<A>>(&self, message: M) -> Result<(), SendError<M>> {
        Target::try_tell(self, message, SendOptions::of::<M>())
    }

    /// Sends a message with backpressure: waits for room in a mailbox with [`Overflow::Block`]. Waiting
    /// senders are admitted in FIFO order. An unbounded mailbox always has room.
    ///
    /// Cancel-safe: dropping the future while it waits withdraws the message. Called by the actor on itself,
    /// inside its own turn, it fails instead of waiting, which would be a deadlock.
    ///
    /// [`Overflow::Block`]: crate::Overflow::Block
    pub async fn send<M: SentTo<A>>(&self, message: M) -> Result<()> {
        self.dispatch(message, SendOptions::of::<M>()).await
    }

    /// Sends a message and returns the handler's reply.
    ///
    /// The ask is sent when it is first polled, like any Rust future; [`Ask::enqueue`] sends it at once.
    ///
    /// The ask borrows the ref, which saves a reference count. For an ask that borrows nothing:
    ///
    /// ```
    /// # use dactor_core::{Actor, ActorRef, Message, Result, SentTo};
    /// # async fn ways<A: Actor, M: SentTo<A> + Message<Reply = u64> + Clone>(actor: ActorRef<A>, message: M) -> Result<()> {
    /// # let (first, second, third) = (message.clone(), message.clone(), message);
    /// // Send now, await in a task: the pending reply borrows nothing.
    /// let replied = tokio::spawn(actor.ask(first).enqueue()?);
    /// // Send and await in a task, which owns a ref.
    /// let asker = actor.clone();
    /// let asked = tokio::spawn(async move { asker.ask(second).await });
    /// // Several asks in the same task only borrow the refs.
    /// let all = futures_util::future::join_all([&actor].map(|actor| actor.ask(third.clone()))).await;
    /// # Ok(()) }
    /// ```
    pub fn ask<M: SentTo<A>>(&self, message: M) -> Ask<'_, M> {
        let ask = Ask::new(self, message, SendOptions::of::<M>());
        // Built in place: an actor of this process has no such limit.
        if self.core.meta.is_far() { ask.or_timeout(self.core.ask_timeout()) } else { ask }
    }

    /// Sends with this [`Priority`] instead of the message type's own.
    ///
    /// ```
    /// # use dactor_core::{Actor, ActorRef, Priority, Result, SentTo};
    /// # fn cancel<A: Actor, M: SentTo<A>>(actor: ActorRef<A>, message: M) -> Result<()> {
    /// actor.at(Priority::High).tell(message)
    /// # }
    /// ```
    pub fn at(&self, priority: Priority) -> SendBuilder<'_, Self> {
        SendBuilder::new(self).at(priority)
    }

    /// Sends with a header beside the message.
    pub fn header(&self, header: impl Header) -> SendBuilder<'_, Self> {
        SendBuilder::new(self).header(header)
    }

    /// A ref to the same actor whose messages also pass this interceptor, after those the ref already has.
    pub fn outbound(&self, interceptor: impl Outbound) -> Self {
        let outbound = extend(&self.outbound, vec![Arc::new(interceptor)]);
        Self { core: self.core.clone(), outbound }
    }

    pub(crate) async fn dispatch<M: SentTo<A>>(&self, message: M, mut options: SendOptions) -> Result<()> {
        let mut guard = None;
        if self.outbound.is_some() {
            match run_on_send(self, &message, Mode::Tell, &mut options.headers) {
                Ok((pause, run)) => {
                    guard = run.map(Box::new);
                    if !pause.delay.is_zero() {
                        tokio::time::sleep(pause.delay).await;
                    }
                }
                Err(error) => {
                    self.dead_letter(&message, &error);
                    return Err(error);
                }
            }
        }
        let sent = self.core.send(message.into_tell(options.headers), options.priority).await;
        finish_send(guard, sent)
    }

    /// Runs `on_send` for a sender that cannot wait: a delay is an error. The guard reports to the
    /// interceptors whether the message was sent.
    pub(crate) fn run_on_send_now<M: SentTo<A>>(
        &self,
        message: &M,
        options: &mut SendOptions,
    ) -> Result<Option<OutboundGuard>> {
        match run_on_send(self, message, Mode::Tell, &mut options.headers)? {
            (Pause { delay: Duration::ZERO, .. }, guard) => Ok(guard),
            (pause, guard) => Err(not_sent(guard, delay_unsupported::<M>(self, pause))),
        }
    }

    /// This actor as the recipient of one message type.
    pub fn recipient<M: SentTo<A>>(&self) -> Recipient<M> {
        Recipient::new(Arc::new(self.clone()))
    }

    /// A weak handle, which does not keep the actor's memory alive.
    pub fn downgrade(&self) -> WeakRef<A> {
        WeakRef { core: Arc::downgrade(&self.core), outbound: self.outbound.clone() }
    }

    /// Stops the actor after its current message. Queued messages become dead letters, their askers get
    /// [`Stopped`](crate::ErrorKind::Stopped); `on_stop` runs.
    pub fn stop(&self) {
        let _ = self.end(End::Stop);
    }

    /// Graceful stop: the actor handles all messages accepted so far, then stops. New messages are refused.
    pub fn drain(&self) {
        let _ = self.end(End::Drain);
    }

    /// Ends the actor at its next await: the running handler or hook is dropped, `on_stop` does not run.
    pub fn kill(&self) {
        let _ = self.end(End::Kill);
    }

    /// Asks the actor to [drain](Self::drain), to [stop](Self::stop) or to be [killed](Self::kill), and says whether the request
    /// is on its way.
    ///
    /// # Errors
    ///
    /// Never for an actor of this process. A remote actor may not be reachable, or not allow it: a [dead letter](crate::DeadLetter).
    pub fn end(&self, how: End) -> Result<()> {
        self.core.request_end(how)
    }

    /// Waits until the actor has ended and returns the reason. Any number of callers can wait, before or
    /// after the end.
    ///
    /// # Errors
    ///
    /// [`AskedItself`](crate::ErrorKind::AskedItself), at once, when the actor awaits its own end in one of its handlers or
    /// hooks: it ends only after that. A task that it spawns may wait for it. For an actor that lives elsewhere, the error of
    /// its route: [`Unsupported`](crate::ErrorKind::Unsupported) for a virtual actor, which has no end.
    pub async fn wait(&self) -> Result<StopReason> {
        match self.core.meta.is_far() {
            true => Box::pin(wait(self.core.clone())).await,
            false => self.core.meta.ended_outside_turn(&*self.core).await,
        }
    }

    /// The reason, when the actor has ended. Of an actor that lives elsewhere the end is known after a watch or a
    /// [`wait`](Self::wait) has told of it.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.core.meta.stop_reason().cloned()
    }

    /// Whether the actor has not ended yet. `None` for an actor that lives elsewhere whose end is not known: only an answer
    /// shows that it lives.
    pub fn is_alive(&self) -> Option<bool> {
        self.core.meta.is_alive()
    }

    /// Whether the actor lives in this process, and not elsewhere.
    pub fn is_local(&self) -> bool {
        !self.core.meta.is_far()
    }

    /// The actor's number in this process. Refs to one actor that lives elsewhere have the same one as long as one of them
    /// is kept; it means nothing to other processes, which know the actor by its [path](Self::path).
    pub fn id(&self) -> Pid {
        self.core.meta.pid()
    }

    /// Which incarnation at its path the actor is. [`ActorUid::ANY`] for a virtual actor, which has none.
    pub fn uid(&self) -> ActorUid {
        Labelled::uid(self)
    }

    /// The name it was spawned with, if any. Of an actor that lives elsewhere, the last name of its path.
    pub fn name(&self) -> Option<&str> {
        self.core.meta.name().map(|name| &**name)
    }

    /// Where the actor is in its system, with its UID. It is put together here: keep it if you look at it
    /// often.
    pub fn path(&self) -> ActorPath {
        self.core.meta.path()
    }

    /// The system of this process that the ref belongs to: the system of the actor or, for a remote actor, the system
    /// that sends to it. The [address](ActorPath::parts) of the path tells where it lives.
    pub fn system(&self) -> &System {
        self.core.meta.system()
    }

    /// How many messages wait in its mailbox, not counting those of the turn in hand. `None` for an actor that lives
    /// elsewhere.
    pub fn queued(&self) -> Option<usize> {
        self.is_local().then(|| self.core.mailbox.len())
    }

    /// The native actor underneath, as the adapter gives it; `None` before the actor has started, and for an actor that
    /// lives elsewhere. Adapters offer it with its true type.
    ///
    /// Call this before acting on the native actor: from then on the actor lets its runtime check for native
    /// signals whenever it is idle, which it may skip otherwise.
    pub fn native(&self) -> Option<&(dyn Any + Send + Sync)> {
        self.core.native()
    }
}

impl<A: Actor> Labelled for ActorRef<A> {
    fn path(&self) -> ActorPath {
        self.core.meta.path()
    }

    fn pid(&self) -> Pid {
        self.core.meta.pid()
    }

    fn uid(&self) -> ActorUid {
        self.core.uid()
    }

    fn address(&self) -> &ActorPathParts {
        self.core.meta.address()
    }

    fn actor_type(&self) -> &'static str {
        self.core.actor_type()
    }

    fn is_own_code(&self) -> bool {
        self.core.is_own_code()
    }

    fn queued(&self) -> usize {
        self.core.mailbox.len()
    }
}

impl<A: Actor, M: SentTo<A>> Target<M> for ActorRef<A> {
    fn tell(&self, message: M, mut options: SendOptions) -> Result<()> {
        if self.outbound.is_none() {
            return self.core.tell(message, options).map(drop);
        }
        match self.run_on_send_now(&message, &mut options) {
            Ok(guard) => finish_send(guard, self.core.tell(message, options)),
            Err(error) => {
                self.dead_letter(&message, &error);
                Err(error)
            }
        }
    }

    fn try_tell(&self, message: M, mut options: SendOptions) -> Result<(), SendError<M>> {
        if self.outbound.is_none() {
            return self.core.try_tell(message, options).map(drop);
        }
        let guard = match self.run_on_send_now(&message, &mut options) {
            Ok(guard) => guard,
            Err(reason) => return Err(SendError { message, reason }),
        };
        let (back, sent) = match self.core.try_tell(message, options) {
            Ok(delivered) => (None, Ok(delivered)),
            Err(SendError { message, reason }) => (Some(message), Err(reason)),
        };
        match (finish_send(guard, sent), back) {
            (Err(reason), Some(message)) => Err(SendError { message, reason }),
            _ => Ok(()),
        }
    }

    fn send(&self, message: M, options: SendOptions) -> Sending<'_> {
        Box::pin(self.dispatch(message, options))
    }

    fn deliver(&self, ask: Arc<AskState<M>>, priority: Priority) -> Result<Delivered> {
        let delivered = self.core.deliver(M::into_ask(ask), priority);
        self.core.rouse_for::<M>();
        delivered
    }

    fn outbound(&self) -> &Chain<dyn Outbound> {
        &self.outbound
    }

    fn labelled(&self) -> Arc<dyn Labelled> {
        self.core.clone()
    }

    fn holder(&self) -> Arc<dyn Holder> {
        self.core.clone()
    }

    fn erased(&self) -> Arc<dyn DynActor> {
        self.core.clone()
    }

    fn ask_timeout(&self) -> Option<Duration> {
        self.core.ask_timeout()
    }

    fn dead_letter(&self, message: &M, error: &Error) {
        self.system().events().dead_letter(self, M::type_name(), error, || message.describe());
    }
}

impl<A: Actor> Clone for ActorRef<A> {
    fn clone(&self) -> Self {
        Self { core: self.core.clone(), outbound: self.outbound.clone() }
    }
}

impl<A: Actor> PartialEq for ActorRef<A> {
    fn eq(&self, other: &Self) -> bool {
        is_same_actor(self, other)
    }
}

impl<A: Actor> Eq for ActorRef<A> {}

impl<A: Actor> Hash for ActorRef<A> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_actor(self, state);
    }
}

impl<A: Actor> fmt::Debug for ActorRef<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ActorRef").field(&self.core).finish()
    }
}

/// A weak handle: keeps neither the actor nor its memory alive.
pub struct WeakRef<A: Actor> {
    core: Weak<ActorCore<A>>,
    outbound: Chain<dyn Outbound>,
}

impl<A: Actor> WeakRef<A> {
    /// Upgrades to a full handle, as long as the actor is alive or another full handle exists.
    pub fn upgrade(&self) -> Option<ActorRef<A>> {
        Some(ActorRef { core: self.core.upgrade()?, outbound: self.outbound.clone() })
    }
}

impl<A: Actor> Clone for WeakRef<A> {
    fn clone(&self) -> Self {
        Self { core: self.core.clone(), outbound: self.outbound.clone() }
    }
}

impl<A: Actor> fmt::Debug for WeakRef<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WeakRef").field(&self.upgrade()).finish()
    }
}
