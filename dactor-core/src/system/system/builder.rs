use std::fmt;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use super::{Inner, System};
use crate::base::origin::{self, Locate};
use crate::base::random::{Random, random};
use crate::base::uid::next_incarnation;
use crate::interceptor::chain::extend;
use crate::kernel::actor_core::place::FarTable;
use crate::kernel::backend::Backend;
use crate::kernel::registry::Registry;
use crate::mailbox::bound::Limit;
use crate::mailbox::overflow::Overflow;
use crate::system::event::{Events, Observer};
use crate::system::phases::Phases;
use crate::system::shutdown_state::ShutdownState;
use crate::{
    ActorSystemConfig, Error, ErrorKind, Event, Inbound, Outbound, Phase, Result, Shed, Supervision,
};

const DEFAULT_GRACE: Duration = Duration::from_secs(10);

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
    seed: Option<u64>,
}

impl SystemBuilder {
    pub(super) fn new(config: ActorSystemConfig) -> Self {
        Self {
            config,
            backend: None,
            grace: DEFAULT_GRACE,
            detects_cycles: cfg!(debug_assertions),
            limit: Limit::NONE,
            supervision: Supervision::default(),
            phases: Vec::new(),
            inbound: Vec::new(),
            outbound: Vec::new(),
            observers: Vec::new(),
            seed: None,
        }
    }

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

    /// The seed of the system's random numbers, on which the jitter of restarts and of [`Retry::ask`] depends; chosen at
    /// random if not set, see [`System::seed`].
    ///
    /// With the same seed a program whose actors run on one thread runs the same each time: no table is iterated in the
    /// order of a random hasher, and all times are those of tokio's clock, which a test may
    /// [pause](https://docs.rs/tokio/latest/tokio/time/fn.pause.html) and advance: timers, timeouts, deadlines, backoff, load
    /// shedding and the grace period. Ids of traces are not determined by it.
    ///
    /// [`Retry::ask`]: crate::interceptors::Retry::ask
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
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
            incarnation: next_incarnation(),
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
            shutdown_state: ShutdownState::default(),
            events: Events::new(self.observers),
            registry: Registry::default(),
            far: FarTable::default(),
            random: Random::new(self.seed.unwrap_or_else(random)),
            starts: Arc::default(),
        };
        let inner = Arc::new(inner);
        origin::add(Arc::downgrade(&inner) as Weak<dyn Locate>);
        Ok(System { inner })
    }
}

impl fmt::Debug for SystemBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemBuilder").field("name", &self.config.name()).finish_non_exhaustive()
    }
}
