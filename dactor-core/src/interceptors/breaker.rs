use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::{Completion, Delivery, Error, Header, Outbound, Verdict};

/// A circuit breaker for a failing actor: after some consecutive failed asks it opens and refuses further
/// messages for a while, with [`RetryLater`](crate::ErrorKind::RetryLater), then half-opens and lets one ask
/// through as a probe.
///
/// ```text
///   Closed ── consecutive failures ───────► Open ── the pause is over ──► HalfOpen: one ask probes
///     ▲                                      ▲                              │
///     │                                      └──────── it fails ────────────┤
///     └──────────────────────────────────────────── it succeeds ────────────┘
/// ```
///
/// A probe that is cancelled, dropped or refused by an interceptor has no result, and passes its slot to the next ask. Clones share their state. For one actor, add it to its ref
/// ([`ActorRef::outbound`](crate::ActorRef::outbound)); added to a system, it is one breaker for all its
/// actors.
///
/// A stream request is an ask: one whose stream ends with an error of the actor is a failure, a whole stream is a success, and a
/// stream that the caller drops says nothing.
///
/// Only asks change its state, because a tell has no result. A tell is refused while the breaker is open, and
/// passes otherwise.
///
/// ```
/// # use std::time::Duration;
/// # use dactor_core::{ErrorKind, System};
/// use dactor_core::interceptors::{Breaker, BreakerState};
///
#[doc = include_str!("backend.md")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> dactor_core::Result<()> {
/// # let system = System::builder("careful").backend(TokioTasks).build()?;
/// let breaker = Breaker::new(2, Duration::from_millis(50));
/// let echo = system.spawn(Echo).await?.outbound(breaker.clone());
/// for _ in 0..2 {
///     assert_eq!(echo.ask(Say(0)).await.unwrap_err().kind(), ErrorKind::Failed);
/// }
/// let refused = echo.ask(Say(1)).await.unwrap_err(); // the actor does not see it
/// assert_eq!((refused.kind(), breaker.state()), (ErrorKind::RetryLater, BreakerState::Open));
/// tokio::time::sleep(refused.retry_after().unwrap()).await;
/// assert_eq!(echo.ask(Say(1)).await?, 1); // the probe
/// assert_eq!(breaker.state(), BreakerState::Closed);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Breaker {
    inner: Arc<Inner>,
    fails_on: Arc<dyn Fn(&Error) -> bool + Send + Sync>,
}

struct Inner {
    id: u64,
    policy: Policy,
    machine: Mutex<Machine>,
}

/// The state of a [`Breaker`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BreakerState {
    /// Asks pass.
    Closed,
    /// Asks are refused.
    Open,
    /// One ask passes at a time, as a probe.
    HalfOpen,
}

impl Breaker {
    /// Opens after this many consecutive failures (at least one), for this long.
    pub fn new(failures: u32, pause: Duration) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let inner = Inner {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            policy: Policy { failures, pause },
            machine: Mutex::new(Machine { epoch: 0, state: State::Closed { failures: 0 } }),
        };
        Self { inner: Arc::new(inner), fails_on: Arc::new(|_| true) }
    }

    /// Counts only these errors as failures; other errors from the actor then count as successes. Errors that
    /// say nothing about the actor never count: see the type.
    #[must_use]
    pub fn fails_on(mut self, is_failure: impl Fn(&Error) -> bool + Send + Sync + 'static) -> Self {
        self.fails_on = Arc::new(is_failure);
        self
    }

    /// The current state.
    pub fn state(&self) -> BreakerState {
        match self.machine().state {
            State::Closed { .. } => BreakerState::Closed,
            State::Open { until } if until > Instant::now() => BreakerState::Open,
            State::Open { .. } | State::HalfOpen { .. } => BreakerState::HalfOpen,
        }
    }

    fn machine(&self) -> MutexGuard<'_, Machine> {
        self.inner.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn judge(&self, error: Option<&Error>) -> Report {
        match error {
            None => Report::Success,
            Some(error) if !error.is_about_actor() => Report::Nothing,
            Some(error) if (self.fails_on)(error) => Report::Failure,
            Some(_) => Report::Success,
        }
    }
}

impl Outbound for Breaker {
    fn on_send(&self, delivery: &mut Delivery<'_>) -> Verdict {
        let now = Instant::now();
        let mut machine = self.machine();
        if !delivery.mode().has_caller() {
            return match machine.state {
                State::Open { until } if until > now => Verdict::Retry(until - now),
                _ => Verdict::Continue,
            };
        }
        match machine.admit(now, self.inner.policy) {
            Err(wait) => Verdict::Retry(wait),
            Ok(epoch) => {
                drop(machine);
                let mut passes = delivery.headers_mut().remove::<Passes>().unwrap_or_default();
                passes.0.push((self.inner.id, epoch));
                delivery.headers_mut().insert(passes);
                Verdict::Continue
            }
        }
    }

    fn on_reply(&self, completion: &mut Completion<'_>) {
        // A forwarded message may still carry the pass of the original ask.
        if !completion.mode().has_caller() {
            return;
        }
        // A refused message has no pass.
        let Some(Passes(passes)) = completion.headers().get() else { return };
        if let Some((_, epoch)) = passes.iter().find(|(id, _)| *id == self.inner.id) {
            let report = self.judge(completion.error());
            self.machine().report(*epoch, report, Instant::now(), self.inner.policy);
        }
    }
}

impl fmt::Debug for Breaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Breaker").field("policy", &self.inner.policy).field("state", &self.state()).finish()
    }
}

/// The breakers that admitted an ask, and the epoch of each.
#[derive(Debug, Clone, Default)]
struct Passes(Vec<(u64, u64)>);

impl Header for Passes {
    const NAME: &'static str = "breaker-passes";
}

#[derive(Debug, Clone, Copy)]
struct Policy {
    failures: u32,
    pause: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed {
        failures: u32,
    },
    Open {
        until: Instant,
    },
    /// The probe may be in flight, or its slot is free.
    HalfOpen {
        probing: bool,
    },
}

/// How an ask ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Report {
    Success,
    Failure,
    /// Says nothing about the actor.
    Nothing,
}

/// The state, and how often it changed: a result from an earlier epoch is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Machine {
    epoch: u64,
    state: State,
}

impl Machine {
    /// Admits an ask in the current epoch, or returns how long to wait.
    fn admit(&mut self, now: Instant, policy: Policy) -> Result<u64, Duration> {
        match self.state {
            State::Closed { .. } => {}
            State::Open { until } if until > now => return Err(until - now),
            State::HalfOpen { probing: true } => return Err(policy.pause),
            State::Open { .. } | State::HalfOpen { probing: false } => {
                self.change(State::HalfOpen { probing: true });
            }
        }
        Ok(self.epoch)
    }

    fn report(&mut self, epoch: u64, report: Report, now: Instant, policy: Policy) {
        if epoch != self.epoch {
            return;
        }
        let open = State::Open { until: now + policy.pause };
        match (self.state, report) {
            (State::Closed { .. }, Report::Success) => self.state = State::Closed { failures: 0 },
            (State::Closed { failures }, Report::Failure) if failures + 1 >= policy.failures => {
                self.change(open)
            }
            (State::Closed { failures }, Report::Failure) => {
                self.state = State::Closed { failures: failures + 1 };
            }
            (State::HalfOpen { .. }, Report::Success) => self.change(State::Closed { failures: 0 }),
            (State::HalfOpen { .. }, Report::Failure) => self.change(open),
            (State::HalfOpen { .. }, Report::Nothing) => self.change(State::HalfOpen { probing: false }),
            (State::Closed { .. }, Report::Nothing) | (State::Open { .. }, _) => {}
        }
    }

    fn change(&mut self, state: State) {
        self.epoch += 1;
        self.state = state;
    }
}

#[cfg(test)]
mod tests;
