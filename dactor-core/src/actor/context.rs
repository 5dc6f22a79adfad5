mod about;
pub(crate) mod read;
mod reply;
mod watching;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::about::accessors;
pub(crate) use self::reply::into_sink;
pub(crate) use self::watching::check_watch;
use crate::actor::stream::open::OpenStreams;
use crate::actor::streams::Streams;
use crate::actor::timers::Timers;
use crate::actor::watch::Watching;
use crate::base::exclusive::Exclusive;
use crate::base::label::Labelled;
use crate::base::panic::Panic;
use crate::delivery::ask_state::Asker;
use crate::delivery::current_message::CurrentMessage;
use crate::delivery::envelope::Envelope;
use crate::delivery::envelope::lifecycle::SharedLifecycle;
use crate::delivery::gate::SharedGate;
use crate::kernel::actor_core::{ActorCore, DynActor};
use crate::mailbox::Signals;
use crate::{
    Actor, ActorPath, ActorRef, AnyActorRef, Error, ErrorKind, Header, Headers, IntoActor, Pid, Priority,
    Result, Spawn, System,
};

/// The context of a handler or hook: its actor, and the current message.
pub struct Context<A: Actor> {
    pub(super) myself: ActorRef<A>,
    pub(super) current: CurrentMessage,
    /// The reply was deferred, forwarded or stashed.
    pub(super) promised: bool,
    /// There is an idle timeout, or a lifecycle that may have one.
    pub(super) idles: bool,
    /// The current message counts as activity: known only if the actor `idles`.
    is_activity: bool,
    /// `None` until the first watch.
    watching: Option<Box<Watching>>,
    /// `None` until the first timer.
    pub(super) timers: Option<Box<Exclusive<Timers<A>>>>,
    /// The lane of the current message.
    pub(super) taken: Signals,
    /// How many messages the stash can hold.
    pub(super) stash_capacity: usize,
    /// `None` until this instance attaches its first stream.
    pub(super) streams: Option<Streams>,
    /// The stream requests this instance answers; `None` until the first.
    open_streams: Option<OpenStreams>,
    lifecycle: Option<SharedLifecycle<A>>,
}

accessors!(Context);

impl<A: Actor> Context<A> {
    pub(crate) fn new(
        core: Arc<ActorCore<A>>,
        stash_capacity: usize,
        lifecycle: Option<SharedLifecycle<A>>,
    ) -> Self {
        Self {
            myself: ActorRef::of(core),
            current: CurrentMessage::default(),
            promised: false,
            idles: lifecycle.is_some(),
            is_activity: false,
            watching: None,
            timers: None,
            taken: Signals::default(),
            stash_capacity,
            streams: None,
            open_streams: None,
            lifecycle,
        }
    }

    /// What the crate that has spawned the actor does around it.
    #[inline]
    pub(crate) fn lifecycle(&self) -> Option<&SharedLifecycle<A>> {
        self.lifecycle.as_ref()
    }

    /// [`lifecycle`](Self::lifecycle) for one message.
    pub(crate) fn gate(&self) -> Option<SharedGate> {
        self.lifecycle.clone().map(|lifecycle| lifecycle as SharedGate)
    }

    /// [`lifecycle`](Self::lifecycle) for the end of the actor, once.
    pub(crate) fn take_lifecycle(&mut self) -> Option<SharedLifecycle<A>> {
        self.lifecycle.take()
    }

    /// Drops the state that belongs to the instance. The stash is kept for the next instance.
    #[inline]
    pub(crate) fn drop_instance_state(&mut self) {
        self.cancel_timers();
        if self.streams.is_some() {
            self.streams = None;
        }
        self.fail_streams();
    }

    /// Fails the streams that this instance answers.
    #[inline]
    fn fail_streams(&mut self) {
        if self.open_streams.is_some() {
            self.fail_open_streams();
        }
    }

    #[cold]
    fn fail_open_streams(&mut self) {
        if let Some(open) = self.open_streams.take() {
            let error = Error::new(ErrorKind::Interrupted).about(&self.myself);
            open.fail_all(&error.with("because", "the instance that answered the stream is gone"));
        }
    }

    /// The streams that this instance answers.
    pub(crate) fn open_streams(&mut self) -> &OpenStreams {
        let core = &self.myself.core;
        self.open_streams.get_or_insert_with(|| OpenStreams::new(core.draining_token()))
    }

    /// The same, or `None` if there are none.
    pub(crate) fn unfinished_streams(&self) -> Option<OpenStreams> {
        self.open_streams.clone().filter(|open| !open.is_empty())
    }

    /// The actor ends: refuses stashed messages.
    #[inline]
    pub(crate) fn close(&mut self) {
        self.drop_instance_state();
        self.abandon();
    }

    /// Drops the message during which the actor was killed.
    #[inline]
    fn abandon(&mut self) {
        if let Err(panic) = self.finish_message() {
            self.report_panic(&panic);
        }
    }

    #[cold]
    fn report_panic(&self, panic: &Panic) {
        tracing::warn!(actor = %self.myself.core.label(), %panic, "a destructor panicked");
    }

    /// Records the lane of the next message: read only when the message is stashed.
    #[inline]
    pub(crate) fn set_taken(&mut self, taken: Signals) -> &mut Signals {
        self.taken = taken;
        &mut self.taken
    }

    /// The lane of the message that was taken last.
    pub(crate) fn lane(&self) -> Priority {
        self.taken.lane()
    }

    /// Whether handling this message, which is next, resets the idle timeout.
    #[inline]
    pub(crate) fn counts_as_activity(&mut self, envelope: &Envelope<A>) -> bool {
        self.idles && {
            self.is_activity = envelope.is_letter() && envelope.keeps_alive();
            self.is_activity
        }
    }

    /// Whether the current message does.
    pub(crate) fn is_activity(&self) -> bool {
        self.is_activity
    }

    /// The idle timeout is gone.
    pub(super) fn set_not_idling(&mut self) {
        self.idles = self.lifecycle.is_some();
    }

    /// Begins the next message.
    #[inline(always)]
    pub(crate) fn begin(&mut self, headers: Headers, asker: Option<Arc<dyn Asker>>) {
        self.current.begin(headers, asker);
        self.promised = false;
    }

    /// Makes a message of another context the current one, if anything came with it.
    pub(crate) fn resume(&mut self, message: CurrentMessage) {
        if !message.is_empty() {
            self.current = message;
            self.promised = false;
        }
    }

    /// Ends the current message. Its headers and asker are dropped here rather than with the next message, so
    /// an idle actor holds no permits. A header, or a reply the asker has not fetched, may panic when
    /// dropped.
    #[inline]
    pub(crate) fn finish_message(&mut self) -> Result<(), Panic> {
        self.current.release()
    }

    /// Spawns a child of this actor. It is supervised by [`Actor::supervision`], ends before this actor does,
    /// and is stopped when this actor is restarted.
    ///
    /// When the await returns, the child has started. Its name is free again as soon as it has ended.
    pub fn spawn<K, S: IntoActor<K>>(&self, actor: S) -> Spawn<S::Actor> {
        let meta = &self.myself.core.meta;
        let parent = Some(self.myself.core.clone() as Arc<dyn DynActor>);
        Spawn::new(meta.system().clone(), actor.into_factory(), meta.guardian(), parent)
    }
}

/// A backend may drop a cell in the middle of a message.
impl<A: Actor> Drop for Context<A> {
    fn drop(&mut self) {
        self.fail_streams();
        self.abandon();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nobody;
    impl Actor for Nobody {}

    /// A handler may hold `&Context` over an await.
    #[test]
    fn a_context_can_be_shared() {
        fn shared<T: Send + Sync>() {}
        shared::<Context<Nobody>>();
    }
}
