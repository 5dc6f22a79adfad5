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

/// A system of actors on one backend. Cheap to clone; all clones are the same system.
///
/// Systems are independent: two systems in one process, on the same or different backends, do not interfere,
/// and their actors can hold each other's refs.
#[derive(Clone)]
pub struct System {
    inner: Arc<Inner>,
}

struct Inner {
    parts: ActorPathParts,
    incarnation: u64,
    /// The length of the address in a path.
    address_length: usize,
    /// The default guardian for spawns.
    guardian: Guardian,
    backend: Box<dyn Backend>,
    grace: Duration,
    detects_cycles: bool,
    slow_read: Option<Duration>,
    limit: Limit,
    inbound: Chain<dyn Inbound>,
    outbound: Chain<dyn Outbound>,
    supervision: Supervision,
    /// Restart history of the top-level actors that are restarted together: user actors, and services.
    users: Mutex<Record>,
    services: Mutex<Record>,
    phases: Phases,
    shutdown_state: ShutdownState,
    events: Events,
    registry: Registry,
    far: FarTable,
    random: Random,
    /// Notified when an actor has started.
    starts: Arc<Notify>,
}

impl System {
    /// Configures a system: with a name, or with an [`ActorSystemConfig`] for other parts of its address.
    pub fn builder(config: impl Into<ActorSystemConfig>) -> SystemBuilder {
        SystemBuilder::new(config.into())
    }

    /// The system's name.
    pub fn name(&self) -> &str {
        self.inner.parts.system()
    }

    /// The common prefix of its actors' paths: scheme, name, host and port.
    pub fn parts(&self) -> &ActorPathParts {
        &self.inner.parts
    }

    /// The incarnation of the system: two systems that are built one after the other at one address, in one process
    /// or in two, have different incarnations, and the later one has the greater (by the clock of the machine).
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
    /// Awaiting it returns the ref of the started actor. `on_start` runs in the awaiting task, so dropping
    /// the future before it is ready abandons the actor.
    pub fn spawn<K, S: IntoActor<K>>(&self, actor: S) -> Spawn<S::Actor> {
        Spawn::new(self.clone(), actor.into_factory(), self.inner.guardian, None)
    }

    /// Spawns a service: an actor under `/system` that serves other actors. In a [shutdown](Self::shutdown)
    /// it ends after all user actors. [`get`](Self::get) does not find it.
    pub fn spawn_service<K, S: IntoActor<K>>(&self, actor: S) -> Spawn<S::Actor> {
        Spawn::new(self.clone(), actor.into_factory(), Guardian::System, None)
    }

    /// The live top-level actor with this name, if it is an `A`.
    pub fn get<A: Actor>(&self, name: &str) -> Option<ActorRef<A>> {
        ActorRef::known(self.inner.registry.get(self.inner.guardian, name)?)
    }

    /// The [seed](SystemBuilder::seed) of its random numbers: log it, to replay a run.
    pub fn seed(&self) -> u64 {
        self.inner.random.seed()
    }

    /// The number of live actors.
    pub fn actor_count(&self) -> usize {
        self.inner.registry.len()
    }

    /// Subscribes to dead letters from now on.
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

    /// The number of dead letters so far: see [`DeadLetter`](crate::DeadLetter).
    pub fn dead_letter_count(&self) -> u64 {
        self.inner.events.dead_letter_count()
    }

    /// Waits until every currently live actor has ended.
    ///
    /// # Errors
    ///
    /// The failure of the actor that failed first; all others have ended by then, too.
    /// [`AskedItself`](ErrorKind::AskedItself), immediately, in a handler or hook of one of these actors.
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

    /// Returns the result of a poll, or an error if it is pending within the turn of an actor of this system:
    /// the result would only come after that turn.
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

    /// The length of a guardian's path.
    pub(crate) fn guardian_length(&self, guardian: Guardian) -> usize {
        self.inner.address_length + "/".len() + guardian.as_str().len()
    }

    pub(crate) fn events(&self) -> &Events {
        &self.inner.events
    }

    pub(crate) fn grace(&self) -> Duration {
        self.inner.grace
    }

    /// After how long a read that runs is an event.
    pub(crate) fn slow_read(&self) -> Option<Duration> {
        self.inner.slow_read
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

    /// The top-level actors below a guardian, in spawn order.
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

    /// Whether an actor with this id is live here.
    pub(crate) fn has_actor(&self, pid: Pid) -> bool {
        pid != Pid::NOBODY && self.inner.registry.by_number(pid).is_some()
    }

    /// Registers a new actor under its name: see [`Registry::register`].
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
