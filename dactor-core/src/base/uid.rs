//! Numbers that no later process gives out again: the UIDs of actors and the incarnations of systems.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::base::pid::Pid;
use crate::base::random::random;
use crate::path::ActorUid;

/// When this process first needed a UID, in nanoseconds since 1970. UIDs count up from here, one for each actor. A
/// process spawns fewer actors than one per nanosecond, so a process that is started later begins above all of them.
static BASE: LazyLock<u64> = LazyLock::new(nanoseconds);

/// The UID of an actor of this process. It is derived, so that a spawn pays nothing for it.
#[inline]
pub(crate) fn uid_of(pid: Pid) -> ActorUid {
    ActorUid::new(BASE.wrapping_add(pid.get()))
}

/// The incarnation of a system that is built now: later systems of this process have greater ones.
pub(crate) fn next_incarnation() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = nanoseconds();
    let later = |last: u64| now.max(last.saturating_add(1));
    let before = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(later(last)));
    later(before.unwrap_or_else(|last| last))
}

fn nanoseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    // A clock before 1970, or after 2554, is of no use. A random number repeats with a probability of 2⁻⁶³.
    since.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or_else(|| random() >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uid_is_above_those_of_earlier_processes() {
        let [first, second] = [(); 2].map(|()| Pid::next());
        assert!(uid_of(first) < uid_of(second));
        assert_eq!(uid_of(first), uid_of(first));
        // The clock, in nanoseconds, and not a counter from 1. A process that starts later begins above it.
        assert!(uid_of(first).get() > 1_700_000_000_000_000_000);
        assert!(uid_of(Pid::next()).get() < nanoseconds(), "fewer actors than nanoseconds");
    }

    #[test]
    fn incarnations_grow() {
        let mut last = next_incarnation();
        for _ in 0..10_000 {
            let next = next_incarnation();
            assert!(next > last);
            last = next;
        }
    }
}
