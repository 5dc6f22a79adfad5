pub(crate) mod read;
mod reply;
mod watching;

use std::fmt;
use std::mem;
use std::sync::Arc;

pub(crate) use self::reply::into_sink;
pub(crate) use self::watching::check_watch;
use crate::actor::stream::open::OpenStreams;
use crate::actor::streams::Streams;
use crate::actor::timers::Timers;
use crate::actor::watch::Watching;
use crate::base::exclusive::Exclusive;
use crate::base::label::Labelled;
use crate::base::panic::{Panic, contain};
use crate::delivery::ask_state::Asker;
use crate::delivery::envelope::Envelope;
use crate::delivery::envelope::lifecycle::SharedLifecycle;
use crate::kernel::actor_core::{ActorCore, DynActor};
use crate::mailbox::Signals;
use crate::{
    Actor, ActorPath, ActorRef, AnyActorRef, Error, ErrorKind, Headers, IntoActor, Pid, Priority, Result,
    Spawn, System,
};

/// The context of a handler or hook: its actor, and the current message.
pub struct Context<A: Actor> {
    pub(super) myself: ActorRef<A>,
    pub(super) headers: Headers,
    pub(super) asker: Option<Arc<dyn Asker>>,
    /// The reply was deferred, forwarded or stashed.
    pub(super) promised: bool,
    /// There is an idle timeout.
    pub(super) idles: bool,
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

impl<A: Actor> Context<A> {
    pub(crate) fn new(
        core: Arc<ActorCore<A>>,
        stash_capacity: usize,
        lifecycle: Option<SharedLifecycle<A>>,
    ) -> Self {
        Self {
            myself: ActorRef::of(core),
            headers: Headers::default(),
            asker: None,
            promised: false,
            idles: false,
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

    /// The same for the end of the actor, once.
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

    /// Whether handling this message resets the idle timeout.
    #[inline]
    pub(crate) fn counts_as_activity(&self, envelope: &Envelope<A>) -> bool {
        self.idles && envelope.is_letter() && envelope.keeps_alive()
    }

    /// Begins the next message.
    #[inline]
    pub(crate) fn begin(&mut self, headers: Headers, asker: Option<Arc<dyn Asker>>) {
        self.headers = headers;
        self.asker = asker;
        self.promised = false;
    }

    /// Ends the current message. Its headers and asker are dropped here rather than with the next message, so
    /// an idle actor holds no permits. A header, or a reply the asker has not fetched, may panic when
    /// dropped.
    #[inline]
    pub(crate) fn finish_message(&mut self) -> Result<(), Panic> {
        self.promised = false;
        if self.headers.is_empty() && self.asker.is_none() { Ok(()) } else { self.release_message() }
    }

    fn release_message(&mut self) -> Result<(), Panic> {
        let asker = self.asker.take();
        let dropped = contain(|| drop(asker));
        if self.headers.is_empty() {
            return dropped;
        }
        let headers = mem::take(&mut self.headers);
        contain(|| drop(headers)).and(dropped)
    }

    /// The ref to this actor.
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

    /// Stops this actor after the current message: see [`ActorRef::stop`].
    pub fn stop(&self) {
        self.myself.stop();
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

    /// The live child with this name, if it is a `B`.
    pub fn child<B: Actor>(&self, name: &str) -> Option<ActorRef<B>> {
        ActorRef::known(self.myself.core.meta.family().child(name)?)
    }

    /// The live children of this actor, in spawn order.
    pub fn children(&self) -> Vec<AnyActorRef> {
        self.myself.core.meta.family().children().into_iter().map(AnyActorRef::new).collect()
    }

    /// The number of live children of this actor.
    pub fn child_count(&self) -> usize {
        self.myself.core.meta.family().count()
    }

    /// The headers of the current message.
    pub fn headers(&self) -> &Headers {
        &self.headers
    }
}

/// A backend may drop a cell in the middle of a message.
impl<A: Actor> Drop for Context<A> {
    fn drop(&mut self) {
        self.fail_streams();
        self.abandon();
    }
}

impl<A: Actor> fmt::Debug for Context<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Context").field(&self.myself).finish()
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
