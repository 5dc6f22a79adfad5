//! The lease of a node, as seen by the node itself.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use dactor_engine::{Clock, NodeId};

use crate::ClusterError;

/// An incarnation of the node, and the time until which it may serve.
pub(crate) struct Epoch {
    node: NodeId,
    clock: Arc<dyn Clock>,
    /// The send time of the last acknowledged renewal + TTL − margin, in nanoseconds of the clock.
    until: AtomicU64,
    /// Never reset.
    lost: AtomicBool,
}

impl Epoch {
    pub(crate) fn new(node: NodeId, clock: Arc<dyn Clock>, until: Duration) -> Self {
        Self { node, clock, until: AtomicU64::new(nanos(until)), lost: AtomicBool::new(false) }
    }

    pub(crate) fn node(&self) -> &NodeId {
        &self.node
    }

    /// Returns the current time, if the node may serve now.
    #[inline]
    pub(crate) fn check(&self) -> Result<u64, ClusterError> {
        let now = self.now();
        if now < self.until.load(Ordering::Acquire) && !self.is_lost() { Ok(now) } else { Err(self.error()) }
    }

    pub(crate) fn now(&self) -> u64 {
        nanos(self.clock.now())
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    /// How long the node may still serve.
    pub(crate) fn remaining(&self) -> Duration {
        Duration::from_nanos(self.until.load(Ordering::Acquire).saturating_sub(self.now()))
    }

    /// Extends the lease after an acknowledged renewal.
    pub(crate) fn prolong(&self, until: Duration) {
        self.until.fetch_max(nanos(until), Ordering::AcqRel);
    }

    /// Marks the lease as lost. Returns `false` if it already was.
    pub(crate) fn lose(&self) -> bool {
        !self.lost.swap(true, Ordering::AcqRel)
    }

    #[cold]
    pub(crate) fn error(&self) -> ClusterError {
        ClusterError::LeaseLost { node: self.node.clone() }
    }
}

impl fmt::Debug for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Epoch")
            .field("node", &self.node)
            .field("lost", &self.is_lost())
            .finish_non_exhaustive()
    }
}

pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use dactor_engine::ManualClock;

    use super::*;

    #[test]
    fn a_node_serves_until_its_lease_ends() {
        let second = Duration::from_secs;
        let clock = Arc::new(ManualClock::new());
        let epoch = Epoch::new(NodeId::start("a"), clock.clone(), second(9));
        clock.advance(second(9) - Duration::from_nanos(1));
        assert!(epoch.check().is_ok());
        clock.advance(Duration::from_nanos(1));
        assert!(matches!(epoch.check(), Err(ClusterError::LeaseLost { .. })));
        epoch.prolong(second(12));
        assert_eq!(epoch.remaining(), second(3));
        assert!(epoch.check().is_ok());
        epoch.prolong(second(10));
        assert_eq!(epoch.remaining(), second(3));
        assert!(epoch.lose() && !epoch.lose());
        epoch.prolong(second(20));
        assert!(epoch.check().is_err());
    }
}
