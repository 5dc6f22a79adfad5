use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, ready};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::bound::{Limit, Overflow};
use crate::closing::Closing;
use crate::event::{Events, Observer};
use crate::path::{ActorPathParts, Guardian};
use crate::phases::Phases;
use crate::pipeline::{Chain, extend};
use crate::registry::{Enrolment, Refused, Registry};
use crate::shared::Control;
use crate::spi::Backend;
use crate::supervision::Record;
use crate::turn::{self, awaits_itself};
use crate::{
    Actor, ActorRef, ActorSystemConfig, DeadLetterFeed, Error, ErrorKind, Event, Inbound, Outbound, Phase,
    Pid, Result, Shed, Source, Spawn, Supervision,
};

const DEFAULT_GRACE: Duration = Duration::from_secs(10);

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
    closing: Closing,
    events: Events,
    registry: Registry,
}

impl System {
    /// Starts to configure a system: with its name, or with an [`ActorSystemConfig`] that says more about how its actors
    /// are addressed.
    pub fn builder(config: impl Into<ActorSystemConfig>) -> SystemBuilder {
        SystemBuilder {
            config: config.into(),
            backend: None,
            grace: DEFAULT_GRACE,
            detects_cycles: cfg!(debug_assertions),
            limit: Limit::NONE,
            supervision: Supervision::default(),
            phases: Vec::new(),
            inbound: Vec::new(),
            outbound: Vec::new(),
            observers: Vec::new(),
        }
    }

    /// The system's name.
    pub fn name(&self) -> &str {
        self.inner.parts.system()
    }

    /// The first part of the paths of its actors: scheme, name and where it is reached.
    pub fn parts(&self) -> &ActorPathParts {
        &self.inner.parts
    }

    /// The name of the runtime underneath.
    pub fn backend(&self) -> &'static str {
        self.inner.backend.name()
    }

    /// Spawns an actor from a factory, which lets it be restarted, or from a value.
    ///
    /// Await it for the ref: the actor has started by then. `on_start` runs in the awaiting task, so dropping
    /// the future before it is ready abandons the actor.
    pub fn spawn<K, S: Source<K>>(&self, source: S) -> Spawn<S::Actor> {
        Spawn::new(self.clone(), source.into_seed(), self.inner.guardian, None)
    }

    /// Spawns an actor that serves the others, under `/system`. In a [shutdown](Self::shutdown) it ends after all of
    /// them, and it is out of reach of [`get`](Self::get).
    pub fn spawn_service<K, S: Source<K>>(&self, source: S) -> Spawn<S::Actor> {
        Spawn::new(self.clone(), source.into_seed(), Guardian::System, None)
    }

    /// The live actor of this name at the top, if there is one and it is an `A`.
    pub fn get<A: Actor>(&self, name: &str) -> Option<ActorRef<A>> {
        ActorRef::known(self.inner.registry.get(self.inner.guardian, name)?)
    }

    /// How many actors live here.
    pub fn live(&self) -> usize {
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
    ///             Ok(letter) => eprintln!("{} for {}: {}", letter.message, letter.actor, letter.error),
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
    pub fn dead_letters(&self) -> u64 {
        self.inner.events.dead_letters()
    }

    /// Waits until every actor that lives now has ended.
    ///
    /// # Errors
    ///
    /// The failure of the actor that failed first. The others have ended, too, by then. In a handler or hook of one of
    /// these actors it is [`AskedItself`](ErrorKind::AskedItself), at once.
    pub async fn wait_all(&self) -> Result<()> {
        let live = self.inner.registry.snapshot();
        let mut ends: FuturesUnordered<_> = live.iter().map(|actor| actor.head().end.wait()).collect();
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
        match (polled, turn::current()) {
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

    pub(crate) fn closing(&self) -> &Closing {
        &self.inner.closing
    }

    pub(crate) fn record(&self, guardian: Guardian) -> MutexGuard<'_, Record> {
        let record = if guardian == Guardian::User { &self.inner.users } else { &self.inner.services };
        record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The actors right below a guardian, in the order of their birth.
    pub(crate) fn top_level(&self, guardian: Guardian) -> Vec<Arc<dyn Control>> {
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

    pub(crate) fn host(&self) -> &dyn Backend {
        &*self.inner.backend
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.inner.registry
    }

    /// Whether it is an actor that lives here.
    pub(crate) fn has_actor(&self, pid: Pid) -> bool {
        pid != Pid::NOBODY && self.inner.registry.by_number(pid).is_some()
    }

    /// Takes a new actor in, under its name: see [`Registry::enrol`].
    pub(crate) fn enrol(&self, actor: Arc<dyn Control>, generation: u32) -> Result<Enrolment> {
        self.inner.registry.enrol(&actor, generation).map_err(|refused| {
            let error = match refused {
                Refused::Closed => Error::new(ErrorKind::SystemShutDown),
                Refused::NameTaken => Error::new(ErrorKind::NameTaken).with("actor", actor.label()),
                Refused::ParentStopped => Error::new(ErrorKind::Stopped),
            };
            let error = match &actor.head().parent {
                Some(parent) => error.with("parent", parent.label()),
                None => error,
            };
            error.with("system", self.name())
        })
    }
}

impl fmt::Debug for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("System")
            .field("name", &self.name())
            .field("backend", &self.backend())
            .field("live", &self.live())
            .finish_non_exhaustive()
    }
}

/// Configures a [`System`].
#[must_use]
pub struct SystemBuilder {
    config: ActorSystemConfig,
    backend: Option<Box<dyn Backend>>,
    grace: Duration,
    detects_cycles: bool,
    limit: Limit,
    supervision: Supervision,
    phases: Vec<Phase>,
    inbound: Vec<Arc<dyn Inbound>>,
    outbound: Vec<Arc<dyn Outbound>>,
    observers: Vec<Observer>,
}

impl SystemBuilder {
    /// The runtime that the actors run on.
    pub fn backend(mut self, backend: impl Backend) -> Self {
        self.backend = Some(Box::new(backend));
        self
    }

    /// How long [`System::shutdown`] may take, and a tree of actors whose top stops; ten seconds if not set. Zero kills
    /// at once, and [`Duration::MAX`] never.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Detects cycles of asks: actors whose handlers or hooks wait for each other's answers, directly or through others,
    /// and so for ever. On in debug builds and off in release builds, unless this says otherwise.
    ///
    /// The ask that closes the cycle fails at once with [`AskCycle`](ErrorKind::AskCycle), whose context lists the actors
    /// in order; the others go on. It is seen across actors that await the start of a child, and across systems that all
    /// detect cycles. An actor counts only while nothing but asks without a timeout, deadline or cancellation can wake
    /// it: not when it also awaits a timer or another branch of a `select!`, not when it awaits the ask in another task,
    /// and not when the ask was forwarded, stashed or is to be answered later. So what is reported is a deadlock, unless
    /// an actor is killed in that moment or its mailbox drops a message by its policy. A cycle through `FuturesUnordered`,
    /// or through a message that is [aborted](crate::Message::ABORT) with its asker, is not seen.
    ///
    /// Off, it costs a branch per turn and per ask that waits. On, an ask that is awaited in a handler costs a second
    /// poll of the handler, one allocation, and an entry in a table of the process.
    pub fn detect_ask_cycles(mut self, detect: bool) -> Self {
        self.detects_cycles = detect;
        self
    }

    /// Bounds the mailboxes of actors that are spawned without a bound of their own; unbounded if not set.
    pub fn bounded(mut self, capacity: usize, overflow: Overflow) -> Self {
        self.limit = Limit { capacity, overflow, ..self.limit };
        self
    }

    /// Lets mailboxes refuse new messages while they are too long or too slow, where a spawn does not say otherwise.
    pub fn shed(mut self, shed: Shed) -> Self {
        self.limit.shed = Some(shed);
        self
    }

    /// How failures of the actors at the top are met. The default is [`Supervision::default`]. Nobody is above them: one
    /// that escalates is stopped.
    pub fn supervision(mut self, supervision: Supervision) -> Self {
        self.supervision = supervision;
        self
    }

    /// Adds a phase to the shutdown, behind those of its kind that are there: see [`System::on_shutdown`].
    pub fn phase(mut self, phase: Phase) -> Self {
        self.phases.push(phase);
        self
    }

    /// Lets an interceptor see every message that an actor of the system is about to handle.
    pub fn inbound(mut self, interceptor: impl Inbound) -> Self {
        self.inbound.push(Arc::new(interceptor));
        self
    }

    /// Lets an interceptor see every message that is sent to an actor of the system.
    pub fn outbound(mut self, interceptor: impl Outbound) -> Self {
        self.outbound.push(Arc::new(interceptor));
        self
    }

    /// Is called with every [`Event`], in the task in which it happens: be quick. Panics are contained.
    ///
    /// An observer may send messages. An event that this causes is delivered, on the same thread, when all observers have
    /// seen the one in hand. A chain of events without end, as by an observer that tells a dead actor of every dead
    /// letter, is cut off after 256 with a warning in the log; the counter and the feed of dead letters have them all.
    pub fn observe(mut self, observer: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.observers.push(Box::new(observer));
        self
    }

    /// Adds what belongs together, such as the parts of a ready-made interceptor.
    ///
    /// ```
    /// # use dactor_core::{System, interceptors::Trace};
    /// let builder = System::builder("traced").with(Trace::install);
    /// ```
    pub fn with(self, parts: impl FnOnce(Self) -> Self) -> Self {
        parts(self)
    }

    /// Builds the system.
    ///
    /// # Errors
    ///
    /// [`InvalidName`](ErrorKind::InvalidName), [`InvalidCapacity`](ErrorKind::InvalidCapacity),
    /// [`InvalidPhase`](ErrorKind::InvalidPhase) and [`NoBackend`](ErrorKind::NoBackend).
    pub fn build(self) -> Result<System> {
        let (parts, guardian) = self.config.check()?;
        self.limit.check()?;
        let Some(backend) = self.backend else {
            return Err(Error::new(ErrorKind::NoBackend).with("system", parts.system()));
        };
        let inner = Inner {
            address_length: parts.to_string().len(),
            parts,
            guardian,
            backend,
            grace: self.grace,
            detects_cycles: self.detects_cycles,
            limit: self.limit,
            inbound: extend(&None, self.inbound),
            outbound: extend(&None, self.outbound),
            supervision: self.supervision,
            users: Mutex::default(),
            services: Mutex::default(),
            phases: Phases::new(self.phases)?,
            closing: Closing::default(),
            events: Events::new(self.observers),
            registry: Registry::default(),
        };
        Ok(System { inner: Arc::new(inner) })
    }
}

impl fmt::Debug for SystemBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemBuilder").field("name", &self.config.name()).finish_non_exhaustive()
    }
}
