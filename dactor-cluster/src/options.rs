use std::time::Duration;

use dactor_core::Overflow;

use crate::StateSerializer;
use crate::placement::PlacementStrategy;

/// The options of an actor type: see [`ClusterBuilder::register_with`](crate::ClusterBuilder::register_with).
#[derive(Debug, Clone)]
#[must_use]
#[non_exhaustive]
pub struct TypeOptions {
    pub(crate) idle_after: Option<Duration>,
    pub(crate) ask_timeout: Option<Duration>,
    pub(crate) activate_within: Duration,
    pub(crate) bound: Option<(usize, Overflow)>,
    pub(crate) serializer: StateSerializer,
    pub(crate) placement: PlacementStrategy,
}

impl Default for TypeOptions {
    fn default() -> Self {
        Self {
            idle_after: Some(Duration::from_secs(600)),
            ask_timeout: Some(Duration::from_secs(30)),
            activate_within: Duration::from_secs(30),
            bound: None,
            serializer: StateSerializer::default(),
            placement: PlacementStrategy::default(),
        }
    }
}

impl TypeOptions {
    /// The idle timeout, after which an actor without messages is deactivated: ten minutes by default.
    pub fn idle_after(mut self, idle: Duration) -> Self {
        self.idle_after = Some(idle);
        self
    }

    /// Disables the idle timeout.
    pub fn never_idle(mut self) -> Self {
        self.idle_after = None;
        self
    }

    /// The timeout of an ask without a timeout or deadline of its own: 30 seconds by default.
    pub fn ask_timeout(mut self, timeout: Duration) -> Self {
        self.ask_timeout = Some(timeout);
        self
    }

    /// The timeout of an activation, including claim, load, `activate` and `on_start`: 30 seconds by default.
    pub fn activate_within(mut self, limit: Duration) -> Self {
        self.activate_within = limit;
        self
    }

    /// Bounds the mailbox. The same number of messages is held while an actor is being activated or
    /// deactivated; more are refused with [`MailboxFull`](dactor_core::ErrorKind::MailboxFull).
    pub fn bounded(mut self, capacity: usize, overflow: Overflow) -> Self {
        self.bound = Some((capacity, overflow));
        self
    }

    /// The serialization format of states: JSON by default.
    pub fn serializer(mut self, serializer: StateSerializer) -> Self {
        self.serializer = serializer;
        self
    }

    /// Sets the placement strategy.
    pub fn placement(mut self, strategy: PlacementStrategy) -> Self {
        self.placement = strategy;
        self
    }
}

/// How a node reacts to a lost lease. Its activations are dropped without a final save in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum OnLeaseLost {
    /// Rejoins as a new incarnation.
    #[default]
    Rejoin,
    /// Shuts down its system.
    ShutDown,
}
