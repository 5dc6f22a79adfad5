use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dactor_engine::{Clock, Engine, ManualClock, Memory};

/// An engine under test.
pub trait EngineSubject: Send + Sync + 'static {
    /// The name in the output.
    fn name(&self) -> &'static str;

    /// Whether its engines have [SQL](dactor_engine::FencedSql); then the rules for that apply too.
    fn has_sql(&self) -> bool {
        false
    }

    /// Makes an empty store.
    fn store(&self) -> Arc<dyn TestStore>;
}

/// A store of the engine under test.
#[async_trait]
pub trait TestStore: Send + Sync {
    /// Opens the store, as a new process does. It may be open already.
    ///
    /// Dropping the engine without any farewell is a crash of that process.
    async fn open(&self) -> Engine;

    /// The TTL of the leases that the rules take. With a clock that [`advance`](Self::advance) moves, any will do.
    fn ttl(&self) -> Duration {
        Duration::from_secs(10)
    }

    /// Moves the clock of the leases forward, or waits for this long.
    async fn advance(&self, by: Duration) {
        tokio::time::sleep(by).await;
    }
}

/// The memory engine as a subject: the reference.
#[derive(Debug, Clone, Copy, Default)]
pub struct InMemory;

impl EngineSubject for InMemory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn store(&self) -> Arc<dyn TestStore> {
        let clock = Arc::new(ManualClock::new());
        let memory = Memory::with_clock(clock.clone());
        Arc::new(SharedStore::new(clock, memory))
    }
}

/// A store in memory that every open shares.
pub(crate) struct SharedStore {
    clock: Arc<ManualClock>,
    engine: Engine,
}

impl SharedStore {
    pub(crate) fn new(clock: Arc<ManualClock>, engine: impl Into<Engine>) -> Self {
        // Zero is also the default of a forgotten deadline.
        clock.advance(Duration::from_secs(1000));
        debug_assert!(clock.now() > Duration::ZERO);
        Self { clock, engine: engine.into() }
    }
}

#[async_trait]
impl TestStore for SharedStore {
    async fn open(&self) -> Engine {
        self.engine.clone()
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}
