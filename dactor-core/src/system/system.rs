mod builder;

use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, ready};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::Notify;

pub use self::builder::SystemBuilder;
use crate::base::current::{self, awaits_itself};
use crate::base::origin::Locate;
use crate::base::random::Random;
use crate::interceptor::chain::Chain;
use crate::kernel::actor_core::DynActor;
use crate::kernel::actor_core::place::FarTable;
use crate::kernel::backend::Backend;
use crate::kernel::registry::{Refused, Registration, Registry};
use crate::mailbox::bound::Limit;
use crate::path::{ActorPathParts, Guardian};
use crate::supervision::strategy::Record;
use crate::system::event::Events;
use crate::system::phases::Phases;
use crate::system::shutdown_state::ShutdownState;
use crate::{
    Actor, ActorPath, ActorRef, ActorSystemConfig, DeadLetterFeed, Error, ErrorKind, Inbound, IntoActor,
    Outbound, Pid, Result, Spawn, Supervision,
};

/// A world of actors on one backend. Cheap to clone; every clone is the same system.
///
/// Systems are independent: two in one process, on the same backend or on different ones, never collide, and
/// their actors can hold each other's refs.
#[derive(Clone)]
pub struct System {
    inner: Arc<Inner>,
}

struct Inner {
    parts: ActorPathParts,
    incarnation: u64,
    /// How long the address is in a path.
    address_length: usize,
    /// Below which actors are spawned.
    guardian: Guardian,
    backend: Box<dyn Backend>,
    grace: Duration,
    detects_cycles: bool,
    limit: Limit,
    inbound: Chain<dyn Inbound>,
    outbound: Chain<dyn Outbound>,
    supervision: Supervision,
    /// Of the actors at the top that are restarted together: those of the users, and the system's own.
    users: Mutex<Record>,
    services: Mutex<Record>,
    phases: Phases,
    shutdown_state: ShutdownState,
    events: Events,
    registry: Registry,
    far: FarTable,
    random: Random,
    /// An actor has started.
    starts: Arc<Notify>,
}

impl System {
    /// Starts to configure a system: with its name, or with an [`ActorSystemConfig`] that says more about how its actors
    /// are addressed.
    pub fn builder(config: impl Into<ActorSystemConfig>) -> SystemBuilder {
        SystemBuilder::new(config.into())
    }

    /// The system's name.
    pub fn name(&self) -> &str {
        self.inner.parts.system()
    }

    /// The first part of the paths of its actors: scheme, name and where it is reached.
    pub fn parts(&self) -> &ActorPathParts {
        &self.inner.parts
    }

    /// Which system of those that have used its address this is: two that are built one after the other, in one process
    /// or in two, have different ones, and the later one has the greater (by the clock of the machine).
    pub fn incarnation(&self) -> u64 {
        self.inner.incarnation
    }

    /// The backend that runs the actors of this system.
    pub fn backend(&self) -> &dyn Backend {
        &*self.inner.backend
    }

    /// The name of the backend, as in `"ractor"` or `"kameo"`.
    pub fn backend_name(&self) -> &'static str {
        self.inner.backend.name()
    }

    /// Spawns an actor from a factory, which lets it be restarted, or from a value.
    ///
    /// Await it for the ref: the actor has started by then. `on_start` runs in the awaiting task, so dropping
    /// the future before it is ready abandons the actor.
    pub fn spawn<K, S: IntoActor<K>>(&self, actor: S) -> Spawn<S::Actor> {
        Spawn::new(self.clone(), actor.into_factory(), self.inner.guardian, None)
    }

    /// Spawns an actor that serves the others, under `/system`. In a [shutdown](Self::shutdown) it ends after all of
    /// them, and it is out of reach of [`get`](Self::get).
    pub fn spawn_service<K, S: IntoActor<K>>(&self, actor: S) -> Spawn<S::Actor> {
        Spawn::new(self.clone(), actor.into_factory(), Guardian::System, None)
    }

    /// The live actor of this name at the top, if there is one and it is an `A`.
    pub fn get<A: Actor>(&self, name: &str) -> Option<ActorRef<A>> {
        ActorRef::known(self.inner.registry.get(self.inner.guardian, name)?)
    }

    /// The [seed](SystemBuilder::seed) of its random numbers: log it, to replay a run.
    pub fn seed(&self) -> u64 {
        self.inner.random.seed()
    }

    /// How many actors live here.
    pub fn actor_count(&self) -> usize {
        self.inner.registry.len()
    }

    /// Subscribes to the messages that are not handled from now on.
    ///
    /// ```
    /// # use dactor_core::System;
    /// # async fn log(system: System) {
    /// let mut feed = system.dead_letter_feed();
    /// tokio::spawn(async move {
    ///     loop {
    ///         match feed.next().await {
    ///             Ok(letter) => eprintln!("{} for {}: {}", letter.message, letter.target, letter.error),
    ///             Err(lagged) => eprintln!("{lagged}"),
    ///         }
    ///     }
    /// });
    /// # }
    /// ```
    pub fn dead_letter_feed(&self) -> DeadLetterFeed {
        self.inner.events.subscribe()
    }

    /// How many messages were not handled so far: see [`DeadLetter`](crate::DeadLetter).
    pub fn dead_letter_count(&self) -> u64 {
        self.inner.events.dead_letter_count()
    }

    /// Waits until every actor that lives now has ended.
    ///
    /// # Errors
    ///
    /// The failure of the actor that failed first. The others have ended, too, by then. In a handler or hook of one of
    /// these actors it is [`AskedItself`](ErrorKind::AskedItself), at once.
    pub async fn wait_all(&self) -> Result<()> {
        let live = self.inner.registry.snapshot();
        let mut ends: FuturesUnordered<_> = live.iter().map(|actor| actor.meta().ended()).collect();
        let mut first = Ok(());
        poll_fn(|cx| {
            while let Some(reason) = ready!(self.poll_outside_turns("wait_all", ends.poll_next_unpin(cx))?) {
                if let (Ok(()), Some(error)) = (&first, reason.failure()) {
                    first = Err(error.clone());
                }
            }
            Poll::Ready(first.clone())
        })
        .await
    }

    /// What a poll gave, unless it is pending and is a poll in the turn of an actor of this system: what is awaited there
    /// would come only after that turn.
    pub(crate) fn poll_outside_turns<T>(&self, call: &'static str, polled: Poll<T>) -> Poll<Result<T>> {
        match (polled, current::actor()) {
            (Poll::Ready(ready), _) => Poll::Ready(Ok(ready)),
            (Poll::Pending, Pid::NOBODY) => Poll::Pending,
            (Poll::Pending, current) => match self.inner.registry.by_number(current) {
                Some(actor) => Poll::Ready(Err(awaits_itself(&*actor, call))),
                None => Poll::Pending,
            },
        }
    }

    /// How long the path of a guardian is.
    pub(crate) fn guardian_length(&self, guardian: Guardian) -> usize {
        self.inner.address_length + "/".len() + guardian.as_str().len()
    }

    pub(crate) fn events(&self) -> &Events {
        &self.inner.events
    }

    pub(crate) fn grace(&self) -> Duration {
        self.inner.grace
    }

    pub(crate) fn detects_cycles(&self) -> bool {
        self.inner.detects_cycles
    }

    pub(crate) fn limit(&self) -> Limit {
        self.inner.limit
    }

    pub(crate) fn supervision(&self) -> &Supervision {
        &self.inner.supervision
    }

    pub(crate) fn phases(&self) -> &Phases {
        &self.inner.phases
    }

    pub(crate) fn shutdown_state(&self) -> &ShutdownState {
        &self.inner.shutdown_state
    }

    pub(crate) fn record(&self, guardian: Guardian) -> MutexGuard<'_, Record> {
        let record = if guardian == Guardian::User { &self.inner.users } else { &self.inner.services };
        record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The actors right below a guardian, in the order of their birth.
    pub(crate) fn top_level(&self, guardian: Guardian) -> Vec<Arc<dyn DynActor>> {
        let mut top = self.inner.registry.top_level(guardian);
        top.sort_by_key(|actor| actor.pid());
        top
    }

    pub(crate) fn inbound(&self) -> &Chain<dyn Inbound> {
        &self.inner.inbound
    }

    pub(crate) fn outbound(&self) -> &Chain<dyn Outbound> {
        &self.inner.outbound
    }

    pub(crate) fn random(&self) -> &Random {
        &self.inner.random
    }

    /// The actors elsewhere that this system has refs to.
    pub(crate) fn far(&self) -> &FarTable {
        &self.inner.far
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.inner.registry
    }

    /// Notified when an actor has started.
    pub(crate) fn starts(&self) -> &Arc<Notify> {
        &self.inner.starts
    }

    /// Whether it is an actor that lives here.
    pub(crate) fn has_actor(&self, pid: Pid) -> bool {
        pid != Pid::NOBODY && self.inner.registry.by_number(pid).is_some()
    }

    /// Takes a new actor in, under its name: see [`Registry::register`].
    pub(crate) fn register(&self, actor: Arc<dyn DynActor>, generation: u32) -> Result<Registration> {
        self.inner.registry.register(&actor, generation).map_err(|refused| {
            let error = match refused {
                Refused::Closed => Error::new(ErrorKind::SystemShutDown),
                Refused::NameTaken => Error::new(ErrorKind::NameTaken).with("actor", actor.label()),
                Refused::ParentStopped => Error::new(ErrorKind::Stopped),
            };
            let error = match actor.meta().parent() {
                Some(parent) => error.with("parent", parent.label()),
                None => error,
            };
            error.with("system", self.name())
        })
    }
}

impl Locate for Inner {
    fn locate(&self, pid: Pid) -> Option<ActorPath> {
        self.registry.by_number(pid).map(|actor| actor.path())
    }
}

impl fmt::Debug for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("System")
            .field("name", &self.name())
            .field("backend", &self.backend_name())
            .field("actor_count", &self.actor_count())
            .finish_non_exhaustive()
    }
}
