use std::time::Duration;

use tokio::time::Instant;

/// What an interval does when its actor was too busy to handle a tick in time. At most one tick of an
/// interval is in the mailbox at a time.
///
/// For a period of one second, and a handler that is busy from 1 s to 3.5 s:
///
/// ```text
///   Burst    1  . . . . 3.5 3.5  4   5        all missed ticks follow immediately, until it has caught up
///   Delay    1  . . . . 3.5     4.5     5.5   the schedule starts over at the late tick
///   Skip     1  . . . . 3.5      4   5        missed ticks are skipped
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum MissedTick {
    /// Catch up: all missed ticks follow immediately, one after the other.
    Burst,
    /// One period passes after a late tick, and the schedule starts over.
    Delay,
    /// The late tick replaces all missed ones, and the schedule is kept.
    #[default]
    Skip,
}

/// Tolerance for a late tick: tokio's clock counts in milliseconds, and an interval that treated every
/// rounding as a delay would drift.
const IN_TIME: Duration = Duration::from_millis(5);

impl MissedTick {
    /// When the next tick is due, after a tick that was `due` and is handled `now`.
    pub(super) fn next(self, due: Instant, now: Instant, period: Duration) -> Instant {
        let late = now.saturating_duration_since(due);
        match self {
            Self::Burst => later(due, period),
            Self::Delay if late < period.min(IN_TIME) => later(due, period),
            Self::Delay => later(now, period),
            Self::Skip => later(now, period - remainder(late, period)),
        }
    }
}

fn remainder(late: Duration, period: Duration) -> Duration {
    let nanos = late.as_nanos() % period.as_nanos();
    // Less than the period, so both parts fit.
    Duration::new((nanos / 1_000_000_000) as u64, (nanos % 1_000_000_000) as u32)
}

/// Stands for durations that overflow `Instant`.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// `then + after`, or thirty years from `then` on overflow.
pub(super) fn later(then: Instant, after: Duration) -> Instant {
    then.checked_add(after).unwrap_or_else(|| then + FAR)
}

#[cfg(test)]
mod tests {
    use super::MissedTick::{Burst, Delay, Skip};
    use super::*;

    #[test]
    fn the_next_tick_by_policy() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        // Policy, due, handled, period, next.
        let table = [
            (Burst, 1000, 1000, 1000, 2000),
            (Burst, 1000, 1900, 1000, 2000),
            (Burst, 1000, 4500, 1000, 2000),
            (Delay, 1000, 1000, 1000, 2000),
            (Delay, 1000, 1004, 1000, 2000),
            (Delay, 1000, 1005, 1000, 2005),
            (Delay, 1000, 4500, 1000, 5500),
            (Delay, 10, 12, 1, 13),
            (Skip, 1000, 1000, 1000, 2000),
            (Skip, 1000, 1999, 1000, 2000),
            (Skip, 1000, 2000, 1000, 3000),
            (Skip, 1000, 4500, 1000, 5000),
            (Skip, 10, 12, 1, 13),
        ];
        for (policy, due, now, period, next) in table {
            let found = policy.next(at(due), at(now), Duration::from_millis(period));
            assert_eq!(found, at(next), "{policy:?}, due {due}, handled {now}, every {period}");
        }
    }

    #[test]
    fn a_period_beyond_the_clock_does_not_panic() {
        let year = Duration::from_secs(31_536_000);
        assert_eq!(FAR, year * 30);
        let now = Instant::now();
        for policy in [Burst, Delay, Skip] {
            assert!(policy.next(now, now, Duration::MAX) > now + FAR / 2);
        }
    }
}
