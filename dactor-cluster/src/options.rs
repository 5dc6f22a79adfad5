use std::time::Duration;

use dactor_core::Overflow;

use crate::StateSerializer;
use crate::placement::PlacementStrategy;

/// How the actors of one type are run: see [`ClusterBuilder::register_with`](crate::ClusterBuilder::register_with).
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
    /// Deactivates an actor that has handled no message for this long: ten minutes unless set.
    pub fn idle_after(mut self, idle: Duration) -> Self {
        self.idle_after = Some(idle);
        self
    }

    /// Does not deactivate actors because they are idle.
    pub fn never_idle(mut self) -> Self {
        self.idle_after = None;
        self
    }

    /// How long an ask waits that sets neither a timeout nor a deadline: 30 seconds unless set.
    pub fn ask_timeout(mut self, timeout: Duration) -> Self {
        self.ask_timeout = Some(timeout);
        self
    }

    /// How long an activation may take, with claim, load, `activate` and `on_start`: 30 seconds unless set.
    pub fn activate_within(mut self, limit: Duration) -> Self {
        self.activate_within = limit;
        self
    }

    /// Bounds the mailbox. As many messages are held for an actor that is being activated or deactivated; more of them are
    /// refused with [`MailboxFull`](dactor_core::ErrorKind::MailboxFull).
    pub fn bounded(mut self, capacity: usize, overflow: Overflow) -> Self {
        self.bound = Some((capacity, overflow));
        self
    }

    /// How states are encoded: as JSON unless set.
    pub fn serializer(mut self, serializer: StateSerializer) -> Self {
        self.serializer = serializer;
        self
    }

    /// Which node runs an actor.
    pub fn placement(mut self, strategy: PlacementStrategy) -> Self {
        self.placement = strategy;
        self
    }
}

/// What a node does that has lost its lease. Its activations are dropped without a final save in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum OnLeaseLost {
    /// Joins again, as a new incarnation.
    #[default]
    Rejoin,
    /// Shuts its system down.
    ShutDown,
}
