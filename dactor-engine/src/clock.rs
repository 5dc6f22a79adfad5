use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A clock for leases.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The time since a fixed instant.
    fn now(&self) -> Duration;
}

/// The time since boot, including suspended time.
///
/// All processes of a machine read the same time, unless they are in different time namespaces. On systems
/// other than Linux this is the wall clock: setting it back extends leases, and setting it forward ends them.
#[derive(Debug, Clone, Copy, Default)]
pub struct BootClock;

impl Clock for BootClock {
    #[cfg(target_os = "linux")]
    fn now(&self) -> Duration {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or(0);
        Duration::new(seconds, nanoseconds)
    }

    #[cfg(not(target_os = "linux"))]
    fn now(&self) -> Duration {
        std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default()
    }
}

/// A clock for tests, which moves only when advanced.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// A clock at zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        let by = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        self.0.fetch_add(by, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_do_not_go_back() {
        let (before, after) = (BootClock.now(), BootClock.now());
        assert!(before > Duration::ZERO && after >= before);
        let manual = ManualClock::new();
        manual.advance(Duration::from_secs(2));
        manual.advance(Duration::from_millis(5));
        assert_eq!(manual.now(), Duration::from_millis(2005));
    }
}
