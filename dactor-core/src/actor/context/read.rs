use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::about::accessors;
use super::reply::{defer, forward};
use crate::actor::deferred::Later;
use crate::base::label::Labelled;
use crate::base::panic::Panic;
use crate::delivery::ask_state::Asker;
use crate::delivery::current_message::CurrentMessage;
use crate::delivery::gate::SharedGate;
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
    current: CurrentMessage,
    /// Another holder has the reply to give.
    promised: AtomicBool,
    /// Of the actor's lifecycle, and whether the message counts as activity.
    gate: Option<(SharedGate, bool)>,
}

accessors!(ReadContext);

impl<A: Actor> ReadContext<A> {
    pub(crate) fn new(core: Arc<ActorCore<A>>, gate: Option<(SharedGate, bool)>) -> Self {
        Self {
            myself: ActorRef::of(core),
            current: CurrentMessage::default(),
            promised: AtomicBool::new(false),
            gate,
        }
    }

    /// For a read that has the actor to itself.
    pub(crate) fn in_turn(ctx: &Context<A>) -> Self {
        let Context { myself, current, .. } = ctx;
        Self {
            myself: myself.clone(),
            current: CurrentMessage { headers: current.headers.clone(), asker: current.asker.clone() },
            promised: AtomicBool::new(false),
            gate: ctx.gate().map(|gate| (gate, ctx.is_activity())),
        }
    }

    /// See [`Context::gate`].
    pub(crate) fn gate(&self) -> Option<(SharedGate, bool)> {
        self.gate.clone()
    }

    /// Begins the message.
    pub(crate) fn begin(&mut self, headers: Headers, asker: Option<Arc<dyn Asker>>) {
        self.current.begin(headers, asker);
    }

    /// What came with the message, for `on_error`: without the asker if another holder has the reply to give.
    pub(crate) fn current(&self) -> CurrentMessage {
        CurrentMessage { headers: self.current.headers.clone(), asker: self.unpromised() }
    }

    /// Drops what came with the message.
    pub(crate) fn release(&mut self) -> Result<(), Panic> {
        self.current.release()
    }

    /// Lets the handler return without a reply, which the holder of the [`Later`] gives: see [`Context::reply_later`].
    ///
    /// # Panics
    ///
    /// When the message is an ask that wants another type of reply than `M`'s.
    pub fn reply_later<M: Message>(&self) -> (Later<M::Reply>, Outcome<M::Reply>) {
        let gate = self.gate.as_ref().map(|(gate, _)| gate.clone());
        let later = defer::<M>(self.unpromised(), self.myself.core.clone(), gate);
        self.promised.store(true, Ordering::Relaxed);
        (later, Err(Failure::promise()))
    }

    /// Hands a message over to another actor, whose reply goes to the asker of this one: see [`Context::forward`].
    ///
    /// # Errors
    ///
    /// Always: the value is for the handler to return, as there.
    pub fn forward<B: Actor, M: SentTo<B>>(&self, to: &ActorRef<B>, message: M) -> Outcome<M::Reply> {
        let refused = self.gate.as_ref().and_then(|(gate, counts)| gate.may_reply(*counts).err());
        let forwarded = forward(self.unpromised(), self.current.headers.clone(), to, message, refused);
        if forwarded.is_ok() {
            self.promised.store(true, Ordering::Relaxed);
        }
        Err(forwarded.map_or_else(Failure::from, |()| Failure::promise()))
    }

    fn unpromised(&self) -> Option<Arc<dyn Asker>> {
        self.current.asker.clone().filter(|_| !self.promised.load(Ordering::Relaxed))
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
