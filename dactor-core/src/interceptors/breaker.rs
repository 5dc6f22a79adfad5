use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::{Completion, Delivery, Error, ErrorKind, Header, Mode, Outbound, Verdict};

/// Spares an actor that fails: after some failed asks in a row it refuses further ones for a while, with
/// [`RetryLater`](ErrorKind::RetryLater), then lets one through to see.
///
/// ```text
///   Closed ── so many failures in a row ──► Open ── the pause is over ──► HalfOpen: one ask probes
///     ▲                                      ▲                              │
///     │                                      └──────── it fails ────────────┤
///     └──────────────────────────────────────────── it succeeds ────────────┘
/// ```
///
/// A probe that says nothing about the actor gives its place to the next ask: one that is cancelled or dropped, or
/// that an interceptor refuses. Clones are one breaker. For one actor, give it to its ref
/// ([`ActorRef::outbound`](crate::ActorRef::outbound)); given to a system it is one breaker for all its actors.
///
/// It learns from asks alone: nobody hears how a tell ends. A tell is refused while the breaker is open, and passes
/// otherwise.
///
/// ```
/// # use std::time::Duration;
/// # use dactor_core::{ErrorKind, System};
/// use dactor_core::interceptors::{Breaker, BreakerState};
///
#[doc = include_str!("backend.md")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> dactor_core::Result<()> {
/// # let system = System::builder("careful").backend(Bare).build()?;
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

/// What a [`Breaker`] does with an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BreakerState {
    /// Lets it pass.
    Closed,
    /// Refuses it.
    Open,
    /// Lets one pass at a time.
    HalfOpen,
}

impl Breaker {
    /// Opens after this many failures in a row (at least one), for this long.
    pub fn new(failures: u32, pause: Duration) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let inner = Inner {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            policy: Policy { failures, pause },
            machine: Mutex::new(Machine { epoch: 0, state: State::Closed { failures: 0 } }),
        };
        Self { inner: Arc::new(inner), fails_on: Arc::new(|_| true) }
    }

    /// Counts only these errors as failures; another answer of the actor's is a success then, though an error. What
    /// says nothing about the actor never counts: see the type.
    #[must_use]
    pub fn fails_on(mut self, is_failure: impl Fn(&Error) -> bool + Send + Sync + 'static) -> Self {
        self.fails_on = Arc::new(is_failure);
        self
    }

    /// Its state now.
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
            Some(error) if says_nothing(error.kind()) => Report::Nothing,
            Some(error) if (self.fails_on)(error) => Report::Failure,
            Some(_) => Report::Success,
        }
    }
}

/// Whether an ask that ended like this never met the actor's own code, by its caller's choice or an interceptor's.
fn says_nothing(kind: ErrorKind) -> bool {
    use ErrorKind::{
        AskCycle, AskedItself, Cancelled, Dropped, InterceptorPanicked, InvalidHeader, NoRuntime, Rejected,
        RetryLater, Unsupported,
    };
    matches!(
        kind,
        Cancelled
            | Rejected
            | RetryLater
            | Dropped
            | InterceptorPanicked
            | InvalidHeader
            | AskedItself
            | AskCycle
            | NoRuntime
            | Unsupported
    )
}

impl Outbound for Breaker {
    fn on_send(&self, delivery: &mut Delivery<'_>) -> Verdict {
        let now = Instant::now();
        let mut machine = self.machine();
        if delivery.mode() != Mode::Ask {
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
        // A forwarded message may still have the pass of the ask that it was.
        if completion.mode() != Mode::Ask {
            return;
        }
        // One that was refused has no pass.
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

/// By which breakers an ask was let through, and in which epoch of each.
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
    /// The probe may be under way, or its place is free.
    HalfOpen {
        probing: bool,
    },
}

/// How an ask ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Report {
    Success,
    Failure,
    /// Nothing is known about the actor.
    Nothing,
}

/// The state, and how often it changed: what was sent in an earlier epoch says nothing about this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Machine {
    epoch: u64,
    state: State,
}

impl Machine {
    /// Lets an ask through, in this epoch, or says how long to wait.
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
mod tests {
    use super::*;
    use crate::interceptors::testbed::{Echo, Fault, Never, Say, system};
    use crate::{ActorRef, Overflow};

    const PAUSE: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn every_state_and_every_report() {
        let now = Instant::now();
        let (over, until) = (now - Duration::from_secs(1), now + Duration::from_secs(3));
        let policy = Policy { failures: 2, pause: PAUSE };
        let closed = |failures| State::Closed { failures };
        let open = |until| State::Open { until };
        let half = |probing| State::HalfOpen { probing };
        for (state, admitted, after) in [
            (closed(0), Ok(7), closed(0)),
            (closed(1), Ok(7), closed(1)),
            (open(until), Err(Duration::from_secs(3)), open(until)),
            (open(over), Ok(8), half(true)),
            (open(now), Ok(8), half(true)),
            (half(true), Err(PAUSE), half(true)),
            (half(false), Ok(8), half(true)),
        ] {
            let mut machine = Machine { epoch: 7, state };
            assert_eq!((machine.admit(now, policy), machine.state), (admitted, after), "{state:?}");
        }
        use Report::{Failure, Nothing, Success};
        let again = open(now + PAUSE);
        for (state, report, after, changes) in [
            (closed(1), Success, closed(0), false),
            (closed(0), Failure, closed(1), false),
            (closed(1), Failure, again, true),
            (closed(1), Nothing, closed(1), false),
            (half(true), Success, closed(0), true),
            (half(true), Failure, again, true),
            (half(true), Nothing, half(false), true),
            (open(until), Success, open(until), false),
            (open(until), Failure, open(until), false),
            (open(until), Nothing, open(until), false),
        ] {
            let mut machine = Machine { epoch: 7, state };
            machine.report(6, report, now, policy);
            assert_eq!(
                machine,
                Machine { epoch: 7, state },
                "an old epoch says nothing: {state:?} {report:?}"
            );
            machine.report(7, report, now, policy);
            assert_eq!(
                machine,
                Machine { epoch: 7 + u64::from(changes), state: after },
                "{state:?} {report:?}"
            );
        }
    }

    async fn opened() -> (ActorRef<Echo>, Breaker) {
        let breaker = Breaker::new(2, PAUSE);
        let echo = system(|builder| builder).spawn(Echo).await.unwrap().outbound(breaker.clone());
        for _ in 0..2 {
            assert_eq!(breaker.state(), BreakerState::Closed);
            assert_eq!(echo.ask(Fault).await.unwrap_err().kind(), ErrorKind::Failed);
        }
        assert_eq!(breaker.state(), BreakerState::Open);
        (echo, breaker)
    }

    async fn refused(echo: &ActorRef<Echo>) -> Option<Duration> {
        let error = echo.ask(Say(1)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RetryLater);
        error.retry_after()
    }

    #[tokio::test(start_paused = true)]
    async fn it_opens_and_says_how_long_and_closes_after_a_good_probe() {
        let (echo, breaker) = opened().await;
        assert_eq!(refused(&echo).await, Some(PAUSE));
        assert_eq!(echo.tell(Say(1)).unwrap_err().kind(), ErrorKind::RetryLater);
        tokio::time::advance(Duration::from_secs(4)).await;
        assert_eq!(refused(&echo).await, Some(Duration::from_secs(6)));
        tokio::time::advance(Duration::from_secs(6)).await;
        assert_eq!(breaker.state(), BreakerState::HalfOpen);
        echo.tell(Say(1)).unwrap();
        let probe = echo.ask(Say(2)).enqueue().unwrap();
        refused(&echo).await;
        echo.tell(Say(1)).unwrap();
        assert_eq!((probe.await.unwrap(), breaker.state()), (2, BreakerState::Closed));
        assert_eq!(echo.ask(Fault).await.unwrap_err().kind(), ErrorKind::Failed);
        assert_eq!(echo.ask(Say(1)).await.unwrap(), 1, "one failure is not two");
    }

    #[tokio::test(start_paused = true)]
    async fn a_failed_probe_opens_it_again() {
        let (echo, _) = opened().await;
        tokio::time::advance(PAUSE).await;
        assert_eq!(echo.ask(Fault).await.unwrap_err().kind(), ErrorKind::Failed);
        assert_eq!(refused(&echo).await, Some(PAUSE));
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_that_is_dropped_or_cancelled_releases_its_place() {
        let (echo, breaker) = opened().await;
        tokio::time::advance(PAUSE).await;
        let probe = echo.ask(Never).enqueue().unwrap();
        refused(&echo).await;
        drop(probe);
        let token = tokio_util::sync::CancellationToken::new();
        let probe = echo.ask(Never).cancel(token.clone()).enqueue().unwrap();
        refused(&echo).await;
        token.cancel();
        assert_eq!(probe.await.unwrap_err().kind(), ErrorKind::Cancelled);
        assert_eq!(breaker.state(), BreakerState::HalfOpen);
        assert_eq!((echo.ask(Say(1)).await.unwrap(), breaker.state()), (1, BreakerState::Closed));
    }

    /// Refuses the first.
    #[derive(Default)]
    struct Refuse(AtomicU64, Option<Duration>);

    impl Outbound for Refuse {
        fn on_send(&self, _: &mut Delivery<'_>) -> Verdict {
            match (self.0.fetch_add(1, Ordering::Relaxed), self.1) {
                (0, Some(delay)) => Verdict::Delay(delay),
                (0, None) => Verdict::Reject("first".into()),
                _ => Verdict::Continue,
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_that_a_later_interceptor_refuses_releases_its_place() {
        let (echo, breaker) = opened().await;
        tokio::time::advance(PAUSE).await;
        let refusing = echo.outbound(Refuse::default());
        assert_eq!(refusing.ask(Say(1)).await.unwrap_err().kind(), ErrorKind::Rejected);
        assert_eq!((refusing.ask(Say(1)).await.unwrap(), breaker.state()), (1, BreakerState::Closed));

        let (echo, breaker) = opened().await;
        tokio::time::advance(PAUSE).await;
        let delaying = echo.outbound(Refuse(0.into(), Some(PAUSE)));
        assert_eq!(delaying.ask(Say(1)).enqueue().unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!((delaying.ask(Say(1)).await.unwrap(), breaker.state()), (1, BreakerState::Closed));

        // Dropped before it was sent.
        let (echo, breaker) = opened().await;
        tokio::time::advance(PAUSE).await;
        let delaying = echo.outbound(Refuse(0.into(), Some(PAUSE)));
        let waiting = tokio::time::timeout(PAUSE / 2, delaying.ask(Say(1))).await;
        assert!(waiting.is_err(), "it is being delayed");
        assert_eq!((delaying.ask(Say(1)).await.unwrap(), breaker.state()), (1, BreakerState::Closed));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_counted_can_be_chosen_and_two_breakers_do_not_mix() {
        let (strict, lax) = (Breaker::new(1, PAUSE), Breaker::new(1, PAUSE));
        let lax = lax.fails_on(|error| error.kind() == ErrorKind::Timeout);
        let echo = system(|builder| builder.outbound(lax.clone())).spawn(Echo).await.unwrap();
        let echo = echo.outbound(strict.clone());
        assert_eq!(echo.ask(Fault).await.unwrap_err().kind(), ErrorKind::Failed);
        assert_eq!((strict.state(), lax.state()), (BreakerState::Open, BreakerState::Closed));
        tokio::time::advance(PAUSE).await;
        let slow = echo.ask(Never).timeout(Duration::from_secs(1)).await.unwrap_err();
        assert_eq!(slow.kind(), ErrorKind::Timeout);
        assert_eq!((strict.state(), lax.state()), (BreakerState::Open, BreakerState::Open));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_sent_before_it_opened_does_not_close_it() {
        let breaker = Breaker::new(1, PAUSE);
        let echo = system(|builder| builder).spawn(Echo).bounded(8, Overflow::Reject).await.unwrap();
        let echo = echo.outbound(breaker.clone());
        let good = echo.ask(Say(1)).enqueue().unwrap();
        let bad = echo.ask(Fault).enqueue().unwrap();
        let dropped = echo.ask(Never).enqueue().unwrap();
        assert_eq!(bad.await.unwrap_err().kind(), ErrorKind::Failed);
        assert_eq!((good.await.unwrap(), breaker.state()), (1, BreakerState::Open));
        drop(dropped);
        assert_eq!(refused(&echo).await, Some(PAUSE));
    }
}
