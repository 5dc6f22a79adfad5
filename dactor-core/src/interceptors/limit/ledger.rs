//! The ledger of a rate limit: open charges, which can still be refunded.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::{NotKeyed, StateStore};
use governor::{Quota, RateLimiter};

/// An admitted message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Charge {
    /// Identifies the charge, to refund it.
    pub(super) id: u64,
    /// How long the message is delayed.
    pub(super) wait: Duration,
}

/// Decides by governor's generic cell rate algorithm (GCRA), whose state is a single time: when the bucket is
/// empty again. A charge in the middle cannot be subtracted from it, so charges of messages that have not
/// left yet are kept, and the state is recomputed from the remaining ones.
pub(super) struct Ledger {
    limiter: Limiter,
    time: Register,
    /// The state after all charges.
    state: Register,
    /// The state after the charges whose time has passed.
    base: Nanos,
    interval: Nanos,
    /// Open charges, by id and time. Both only grow.
    open: VecDeque<(u64, Nanos)>,
    next: u64,
    /// Charges before this one are part of the base.
    closed: u64,
    /// The last charge that found room for more than one message in the bucket: earlier charges have at least
    /// partly leaked by then, and are not refunded.
    refilled_at: u64,
    is_stale: bool,
}

type Limiter = RateLimiter<NotKeyed, Register, Register, NoOpMiddleware<Nanos>>;

impl Ledger {
    pub(super) fn new(quota: Quota) -> Self {
        let (time, state) = (Register::default(), Register::default());
        Self {
            limiter: RateLimiter::new(quota, state.clone(), time.clone()),
            time,
            state,
            base: 0.into(),
            interval: quota.replenish_interval().into(),
            open: VecDeque::new(),
            next: 0,
            closed: 0,
            refilled_at: 0,
            is_stale: false,
        }
    }

    /// Charges a message, now or, if it can wait, at the time it may pass. Otherwise returns the time to
    /// wait.
    pub(super) fn charge(&mut self, now: Nanos, can_wait: bool) -> Result<Charge, Duration> {
        self.close(now);
        if self.is_stale {
            self.recompute();
        }
        // A message does not overtake a message that waits before it.
        let last = self.open.back().map(|(_, time)| *time).filter(|_| can_wait);
        let mut time = last.map_or(now, |last| last.max(now));
        if let Err(earliest) = self.check(time) {
            if !can_wait {
                return Err(earliest.saturating_sub(now).into());
            }
            time = earliest;
            let _ = self.check(time);
        }
        let id = self.next;
        self.next += 1;
        self.open.push_back((id, time));
        Ok(Charge { id, wait: time.saturating_sub(now).into() })
    }

    /// Refunds a message that did not get through.
    pub(super) fn refund(&mut self, id: u64) {
        if let Ok(index) = self.open.binary_search_by_key(&id, |(id, _)| *id) {
            self.open.remove(index);
            self.is_stale = true;
        } else if (self.refilled_at..self.closed).contains(&id) {
            self.base = self.base.saturating_sub(self.interval);
            self.is_stale = true;
        }
    }

    /// Moves charges whose time has passed into the base.
    fn close(&mut self, now: Nanos) {
        while let Some((id, time)) = self.open.front().copied().filter(|(_, time)| *time < now) {
            self.open.pop_front();
            self.closed = id + 1;
            if self.base < time + self.interval {
                self.refilled_at = id;
            }
            self.base = self.base.max(time) + self.interval;
        }
    }

    fn recompute(&mut self) {
        self.is_stale = false;
        self.state.set(self.base);
        for index in 0..self.open.len() {
            let (_, time) = self.open[index];
            // Fewer charges than when it was admitted: it passes again.
            let _ = self.check(time);
        }
    }

    /// Charges a message at this time, or returns the time at which one may pass.
    fn check(&self, time: Nanos) -> Result<(), Nanos> {
        self.time.set(time);
        self.limiter.check().map_err(|too_many| too_many.earliest_possible())
    }
}

/// A time read and written under the ledger's lock: the limiter's state, and its clock, which shows tokio's
/// time or a future time.
#[derive(Debug, Clone, Default)]
struct Register(Arc<AtomicU64>);

impl Register {
    fn set(&self, time: Nanos) {
        self.0.store(time.as_u64(), Ordering::Relaxed);
    }

    fn get(&self) -> Nanos {
        self.0.load(Ordering::Relaxed).into()
    }
}

impl Clock for Register {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        self.get()
    }
}

impl StateStore for Register {
    type Key = NotKeyed;

    fn measure_and_replace<T, F, E>(&self, _: &NotKeyed, decide: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let (decided, state) = decide(Some(self.get()))?;
        self.set(state);
        Ok(decided)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::base::random::random;

    const T: u64 = 100;

    fn ledger(burst: u32) -> Ledger {
        let quota = Quota::with_period(Duration::from_nanos(T)).unwrap();
        Ledger::new(quota.allow_burst(NonZeroU32::new(burst).unwrap()))
    }

    fn wait(ledger: &mut Ledger, now: u64) -> u64 {
        ledger.charge(now.into(), true).unwrap().wait.as_nanos() as u64
    }

    #[test]
    fn what_is_given_back_is_not_waited_for() {
        let mut ledger = ledger(1);
        assert_eq!([0; 4].map(|now| wait(&mut ledger, now)), [0, T, 2 * T, 3 * T]);
        // In FIFO order, as when they time out.
        for id in 1..4 {
            ledger.refund(id);
        }
        assert_eq!(wait(&mut ledger, 0), T);
        ledger.refund(4);
        ledger.refund(4);
        assert_eq!(wait(&mut ledger, 10), T - 10, "a charge is refunded once");
    }

    #[test]
    fn those_that_wait_keep_their_time_and_are_not_overtaken() {
        let mut ledger = ledger(1);
        assert_eq!([0; 3].map(|now| wait(&mut ledger, now)), [0, T, 2 * T]);
        ledger.refund(1);
        assert_eq!(wait(&mut ledger, 0), 3 * T, "the message before it leaves at 200");
    }

    #[test]
    fn a_charge_that_has_run_out_is_not_given_back() {
        let mut ledger = ledger(2);
        assert_eq!(wait(&mut ledger, 0), 0);
        assert_eq!([1000; 3].map(|now| wait(&mut ledger, now)), [0, 0, T]);
        ledger.refund(0);
        assert_eq!(wait(&mut ledger, 1000), 2 * T);
        // A charge whose time has passed, but has not leaked yet, is refunded.
        let mut ledger = super::tests::ledger(3);
        assert_eq!([0; 3].map(|now| wait(&mut ledger, now)), [0; 3]);
        assert_eq!(wait(&mut ledger, 1), T - 1);
        ledger.refund(2);
        assert_eq!(wait(&mut ledger, 1), T - 1, "the slot of the refunded message, behind the waiting one");
    }

    /// No order of charges and refunds admits more messages than a limiter that sees only the admitted ones.
    #[test]
    fn the_rate_is_never_exceeded() {
        let seed = random() | 1;
        println!("seed {seed}");
        let mut state = seed;
        let mut fraction = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        for burst in [1, 2, 5] {
            let (mut ledger, mut now) = (ledger(burst), 0);
            let mut passed: Vec<(u64, u64)> = Vec::new();
            for _ in 0..20_000 {
                now += (fraction() * fraction() * 300.0) as u64;
                let Charge { id, wait } = ledger.charge(now.into(), true).unwrap();
                passed.push((id, now + wait.as_nanos() as u64));
                if fraction() < 0.4 {
                    let index = passed.len() - 1 - (fraction() * passed.len().min(6) as f64) as usize;
                    // A message that has left is not refunded.
                    if passed[index].1 >= now {
                        ledger.refund(passed.remove(index).0);
                    }
                }
            }
            let judge = super::tests::ledger(burst);
            for (id, time) in passed {
                assert!(judge.check(time.into()).is_ok(), "burst {burst}: {id} at {time} is too early");
            }
        }
    }
}
