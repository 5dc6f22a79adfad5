use std::fmt;
use std::future::Future;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::reply::{defer, forward};
use crate::actor::deferred::Later;
use crate::base::label::Labelled;
use crate::base::panic::{Panic, contain};
use crate::delivery::ask_state::Asker;
use crate::delivery::envelope::lifecycle::SharedLifecycle;
use crate::kernel::actor_core::ActorCore;
use crate::{
    Actor, ActorPath, ActorRef, AnyActorRef, Context, Failure, Header, Headers, Message, Outcome, Pid,
    SentTo, System,
};

/// What a [`ReadHandler`](crate::ReadHandler) knows about its own actor, and about its message.
///
/// Reads share their actor, so it has nothing that would change it: no stash, no children to spawn, no watches, no
/// timers. A read that needs one of these tells its actor a message that is not a read:
/// `ctx.actor_ref().tell(..)`.
pub struct ReadContext<A: Actor> {
    myself: ActorRef<A>,
    headers: Headers,
    asker: Option<Arc<dyn Asker>>,
    /// Another holder has the reply to give.
    promised: AtomicBool,
    lifecycle: Option<SharedLifecycle<A>>,
}

impl<A: Actor> ReadContext<A> {
    pub(crate) fn new(core: Arc<ActorCore<A>>, lifecycle: Option<SharedLifecycle<A>>) -> Self {
        Self {
            myself: ActorRef::of(core),
            headers: Headers::default(),
            asker: None,
            promised: AtomicBool::new(false),
            lifecycle,
        }
    }

    /// For a read that has the actor to itself.
    pub(crate) fn in_turn(ctx: &Context<A>) -> Self {
        Self {
            myself: ctx.myself.clone(),
            headers: ctx.headers.clone(),
            asker: ctx.asker.clone(),
            promised: AtomicBool::new(false),
            lifecycle: ctx.lifecycle().cloned(),
        }
    }

    /// See [`Context::lifecycle`].
    pub(crate) fn lifecycle(&self) -> Option<&SharedLifecycle<A>> {
        self.lifecycle.as_ref()
    }

    /// The message is in hand.
    pub(crate) fn begin(&mut self, headers: Headers, asker: Option<Arc<dyn Asker>>) {
        self.headers = headers;
        self.asker = asker;
    }

    /// Lets go of what came with the message, each under a guard of its own: a header, and a reply that the asker has not
    /// fetched, may panic when they are dropped.
    pub(crate) fn release(&mut self) -> Result<(), Panic> {
        let asker = self.asker.take();
        let dropped = contain(|| drop(asker));
        if self.headers.is_empty() {
            return dropped;
        }
        let headers = mem::take(&mut self.headers);
        contain(|| drop(headers)).and(dropped)
    }

    /// The reference to this actor.
    pub fn actor_ref(&self) -> &ActorRef<A> {
        &self.myself
    }

    /// This actor's id.
    pub fn id(&self) -> Pid {
        self.myself.id()
    }

    /// This actor's name, if it was spawned with one.
    pub fn name(&self) -> Option<&str> {
        self.myself.name()
    }

    /// This actor's path, with its UID: see [`ActorRef::path`].
    pub fn path(&self) -> ActorPath {
        self.myself.path()
    }

    /// The system this actor lives in.
    pub fn system(&self) -> &System {
        self.myself.system()
    }

    /// Stops this actor after the reads that run: see [`ActorRef::stop`].
    pub fn stop(&self) {
        self.myself.stop();
    }

    /// The live child of this name, if there is one and it is a `B`.
    pub fn child<B: Actor>(&self, name: &str) -> Option<ActorRef<B>> {
        ActorRef::known(self.myself.core.meta.family().child(name)?)
    }

    /// The live children of this actor, in the order in which they were spawned.
    pub fn children(&self) -> Vec<AnyActorRef> {
        self.myself.core.meta.family().children().into_iter().map(AnyActorRef::new).collect()
    }

    /// How many live children this actor has.
    pub fn child_count(&self) -> usize {
        self.myself.core.meta.family().count()
    }

    /// The headers beside the message.
    pub fn headers(&self) -> &Headers {
        &self.headers
    }

    /// Sets a header beside the reply: see [`Context::set_reply_header`].
    pub fn set_reply_header(&self, header: impl Header) {
        if let Some(asker) = &self.asker {
            asker.change_headers(&mut |headers| headers.insert(header.clone()));
        }
    }

    /// Until when the asker wants the reply: see [`Context::deadline`].
    pub fn deadline(&self) -> Option<Instant> {
        self.asker.as_ref().and_then(|asker| asker.deadline())
    }

    /// Whether the asker does not want the reply any more. Never for a message that was told.
    pub fn is_cancelled(&self) -> bool {
        self.asker.as_ref().is_some_and(|asker| asker.is_gone())
    }

    /// Completes when the asker does not want the reply any more: see [`Context::cancelled`].
    pub fn cancelled(&self) -> impl Future<Output = ()> + Send + use<A> {
        self.cancellation().cancelled_owned()
    }

    /// The same as a token, to be given to other tasks.
    pub fn cancellation(&self) -> CancellationToken {
        self.asker.as_ref().map_or_else(CancellationToken::new, |asker| asker.gone())
    }

    /// Lets the handler return without a reply, which the holder of the [`Later`] gives: see [`Context::reply_later`].
    ///
    /// # Panics
    ///
    /// When the message is an ask that wants another type of reply than `M`'s.
    pub fn reply_later<M: Message>(&self) -> (Later<M::Reply>, Outcome<M::Reply>) {
        let later = defer::<M>(self.unpromised(), self.myself.core.clone());
        self.promised.store(true, Ordering::Relaxed);
        (later, Err(Failure::promise()))
    }

    /// Hands a message over to another actor, whose reply goes to the asker of this one: see [`Context::forward`].
    ///
    /// # Errors
    ///
    /// Always: the value is for the handler to return, as there.
    pub fn forward<B: Actor, M: SentTo<B>>(&self, to: &ActorRef<B>, message: M) -> Outcome<M::Reply> {
        let forwarded = forward(self.unpromised(), self.headers.clone(), to, message);
        if forwarded.is_ok() {
            self.promised.store(true, Ordering::Relaxed);
        }
        Err(forwarded.map_or_else(Failure::from, |()| Failure::promise()))
    }

    fn unpromised(&self) -> Option<Arc<dyn Asker>> {
        self.asker.clone().filter(|_| !self.promised.load(Ordering::Relaxed))
    }
}

/// A read may be dropped at any await.
impl<A: Actor> Drop for ReadContext<A> {
    fn drop(&mut self) {
        if let Err(panic) = self.release() {
            tracing::warn!(actor = %self.myself.core.label(), %panic, "a destructor panicked");
        }
    }
}

impl<A: Actor> fmt::Debug for ReadContext<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReadContext").field(&self.myself).finish()
    }
}
