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
    slow_read: Option<Duration>,
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
            slow_read: None,
            limit: Limit::NONE,
            supervision: Supervision::default(),
            phases: Vec::new(),
            inbound: Vec::new(),
            outbound: Vec::new(),
            observers: Vec::new(),
            seed: None,
        }
    }

    /// The backend that runs the actors.
    pub fn backend(mut self, backend: impl Backend) -> Self {
        self.backend = Some(Box::new(backend));
        self
    }

    /// The grace period of [`System::shutdown`], and of stopping a tree of actors; ten seconds by default.
    /// Zero kills immediately, [`Duration::MAX`] never kills.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Detects ask cycles, a deadlock: actors whose handlers or hooks wait for each other's answers, directly
    /// or through others. By default on in debug builds and off in release builds.
    ///
    /// The ask that closes the cycle fails immediately with [`AskCycle`](ErrorKind::AskCycle), whose context
    /// lists the actors in order; the other asks continue. Cycles are detected across actors that await the
    /// start of a child, and across systems with detection on. An actor is part of a cycle only if nothing
    /// but asks without a timeout, deadline or cancellation can wake it: not if it also awaits a timer or
    /// another branch of a `select!`, awaits the ask in another task, or if the ask was forwarded, stashed or
    /// deferred. So a reported cycle is a real deadlock, unless an actor is killed at that moment or its
    /// overflow policy drops a message. A cycle through `FuturesUnordered`, or through a message with
    /// [`ABORT`](crate::Message::ABORT), is not detected.
    ///
    /// Off, it costs a branch per turn and per waiting ask. On, an ask awaited in a handler costs a second
    /// poll of the handler, one allocation, and an entry in a process-wide table: such an ask took 1.6 to 1.7 µs instead
    /// of 0.9 to 1.0 µs where it was measured. Tells and asks from outside of actors cost the same.
    pub fn detect_ask_cycles(mut self, detect: bool) -> Self {
        self.detects_cycles = detect;
        self
    }

    /// Reports a read that runs longer than this ([`Event::SlowRead`]), where a spawn does not say otherwise: it holds up
    /// writes and restarts. Not reported if not set.
    pub fn slow_read(mut self, after: Duration) -> Self {
        self.slow_read = Some(after);
        self
    }

    /// The default bound for mailboxes of actors spawned without a bound of their own; unbounded if not set.
    pub fn bounded(mut self, capacity: usize, overflow: Overflow) -> Self {
        self.limit = Limit { capacity, overflow, ..self.limit };
        self
    }

    /// Default load shedding: mailboxes refuse new messages while they are too long or too slow, unless the
    /// spawn overrides it.
    pub fn shed(mut self, shed: Shed) -> Self {
        self.limit.shed = Some(shed);
        self
    }

    /// The supervision strategy for top-level actors. The default is [`Supervision::default`]. A top-level
    /// actor has no parent: escalating stops it.
    pub fn supervision(mut self, supervision: Supervision) -> Self {
        self.supervision = supervision;
        self
    }

    /// Adds a phase to the shutdown, after the existing ones of its kind: see [`System::on_shutdown`].
    pub fn phase(mut self, phase: Phase) -> Self {
        self.phases.push(phase);
        self
    }

    /// Adds an inbound interceptor for all actors of the system.
    pub fn inbound(mut self, interceptor: impl Inbound) -> Self {
        self.inbound.push(Arc::new(interceptor));
        self
    }

    /// Adds an outbound interceptor for all messages sent to actors of the system.
    pub fn outbound(mut self, interceptor: impl Outbound) -> Self {
        self.outbound.push(Arc::new(interceptor));
        self
    }

    /// Adds an observer, called with every [`Event`] in the task where it happens: it must be quick. Panics
    /// are contained.
    ///
    /// An observer may send messages. An event that this causes is delivered on the same thread, after all
    /// observers have seen the current one. An endless chain of events, for example when an observer tells a
    /// dead actor about every dead letter, is cut off after 256 with a warning in the log; the dead letter
    /// counter and feed still get all of them.
    pub fn observe(mut self, observer: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.observers.push(Box::new(observer));
        self
    }

    /// Seeds the system's random numbers, used for the jitter of restarts and of [`Retry::ask`]; random by
    /// default, see [`System::seed`].
    ///
    /// With the same seed, a program whose actors run on one thread is reproducible: no table is iterated in
    /// the order of a random hasher, and all times come from tokio's clock, which a test may
    /// [pause](https://docs.rs/tokio/latest/tokio/time/fn.pause.html) and advance: timers, timeouts,
    /// deadlines, backoff, load shedding and the grace period. Trace ids do not depend on the seed.
    ///
    /// [`Retry::ask`]: crate::interceptors::Retry::ask
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Applies a function to the builder, such as one that installs an interceptor.
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
            slow_read: self.slow_read,
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
