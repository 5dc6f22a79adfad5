//! What becomes of an actor that has failed. Everything here is decided by pure functions.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::panic::discard;
use crate::{Directive, Error, Pid};

/// How an actor's failures are met: whom they concern, what follows, how often, and how soon.
///
/// A failure is a panic, or an `Err` for which [`on_error`](crate::Actor::on_error) said
/// [`Escalate`](Directive::Escalate). By default an actor that was spawned from a factory is restarted, at once and at
/// the most ten times a minute, and one that was spawned from a value is stopped.
///
/// A parent says how its children are supervised ([`Actor::supervision`](crate::Actor::supervision)), a system how its
/// top-level actors are ([`SystemBuilder::supervision`](crate::SystemBuilder::supervision)), and a spawn may say it for
/// one actor ([`Spawn::supervision`](crate::Spawn::supervision)).
///
/// ```
/// use std::time::Duration;
/// use dactor_core::{Backoff, Directive, ErrorKind, Supervision};
///
/// let patient = Supervision::one_for_one()
///     .budget(5, Duration::from_secs(60))
///     .backoff(Backoff::exponential(Duration::from_millis(100), Duration::from_secs(10)));
/// let strict = Supervision::all_for_one().decide(|failure| match failure.kind() {
///     ErrorKind::Panicked => Directive::Restart,
///     _ => Directive::Stop,
/// });
/// # let _ = (patient, strict);
/// ```
#[derive(Clone)]
#[must_use]
pub struct Supervision {
    pub(crate) scope: Scope,
    decide: Option<Decide>,
    budget: Budget,
    backoff: Option<Backoff>,
}

type Decision = Arc<dyn Fn(&Error) -> Directive + Send + Sync>;

/// A decision of the user's, dropped under the guard: a failed actor drops the strategy that it was met by.
#[derive(Clone)]
struct Decide(Option<Decision>);

impl Drop for Decide {
    fn drop(&mut self) {
        discard(self.0.take());
    }
}

/// Whom a restart or stop concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    One,
    All,
    /// The failed one, and those who were spawned after it.
    Rest,
}

impl Scope {
    /// Whether what follows the failure of `failed` concerns another actor of the same parent.
    pub(crate) fn concerns(self, failed: Pid, other: Pid) -> bool {
        match self {
            Self::One => false,
            Self::All => other != failed,
            Self::Rest => other > failed,
        }
    }
}

/// How many restarts there may be in a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Budget {
    pub(crate) restarts: Option<u32>,
    pub(crate) window: Duration,
}

impl Supervision {
    const fn new(scope: Scope) -> Self {
        let budget = Budget { restarts: Some(10), window: Duration::from_secs(60) };
        Self { scope, decide: None, budget, backoff: None }
    }

    /// A failure concerns the actor that failed, and no other.
    pub const fn one_for_one() -> Self {
        Self::new(Scope::One)
    }

    /// A restart or stop concerns all children of the parent: they depend on each other.
    pub const fn all_for_one() -> Self {
        Self::new(Scope::All)
    }

    /// A restart or stop also concerns the children that were spawned after the failed one: they depend on it.
    pub const fn rest_for_one() -> Self {
        Self::new(Scope::Rest)
    }

    /// What follows every failure.
    pub fn always(self, directive: Directive) -> Self {
        self.decide(move |_| directive)
    }

    /// What follows a failure, by what failed.
    pub fn decide(mut self, decide: impl Fn(&Error) -> Directive + Send + Sync + 'static) -> Self {
        self.decide = Some(Decide(Some(Arc::new(decide))));
        self
    }

    /// Allows this many restarts in any span of this length. One more, and the actor is stopped instead, and its parent
    /// fails. Children that are restarted together have one budget.
    pub fn budget(mut self, restarts: u32, window: Duration) -> Self {
        self.budget = Budget { restarts: Some(restarts), window };
        self
    }

    /// Allows any number of restarts.
    pub fn unlimited(mut self) -> Self {
        self.budget.restarts = None;
        self
    }

    /// Waits before a restart, longer each time. Messages wait meanwhile.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = Some(backoff);
        self
    }

    pub(crate) fn directive(&self, failure: &Error, factory: bool) -> Directive {
        match self.decide.as_ref().and_then(|decide| decide.0.as_ref()) {
            Some(decide) => decide(failure),
            None if factory => Directive::Restart,
            None => Directive::Stop,
        }
    }

    /// What a directive comes to. `roll` is a random number between 0 and 1.
    pub(crate) fn fate(&self, directive: Directive, record: &mut Record, now: Instant, roll: f64) -> Fate {
        match directive {
            Directive::Resume => Fate::Resume,
            Directive::Stop => Fate::Stop,
            Directive::Escalate => Fate::Escalate,
            Directive::Restart => match record.admit(self.budget, now) {
                Some(nth) => {
                    let after =
                        self.backoff.as_ref().map_or(Duration::ZERO, |backoff| backoff.delay(nth, roll));
                    // The wait itself is no pause.
                    record.last = now.checked_add(after);
                    Fate::Restart { after }
                }
                None => Fate::Exhausted,
            },
        }
    }

    pub(crate) fn budget_text(&self) -> String {
        let Budget { restarts, window } = self.budget;
        format!("{} restarts in {window:?}", restarts.unwrap_or(u32::MAX))
    }
}

impl Default for Supervision {
    fn default() -> Self {
        Self::one_for_one()
    }
}

impl fmt::Debug for Supervision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supervision")
            .field("scope", &self.scope)
            .field("decides", &self.decide.is_some())
            .field("budget", &self.budget)
            .field("backoff", &self.backoff)
            .finish()
    }
}

/// What becomes of a failed actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Resume,
    Restart {
        after: Duration,
    },
    Stop,
    Escalate,
    /// It was to be restarted once too often: it is stopped, and its parent fails.
    Exhausted,
}

/// How long to wait before a restart: twice as long each time, up to a limit, and never the same for two actors.
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use]
pub struct Backoff {
    first: Duration,
    most: Duration,
    jitter: f64,
}

impl Backoff {
    /// Waits `first`, then twice as long each time, but never longer than `most`. It starts again with `first` when
    /// the window of the [budget](Supervision::budget) has passed without a restart.
    pub const fn exponential(first: Duration, most: Duration) -> Self {
        Self { first, most, jitter: 0.2 }
    }

    /// Adds up to this fraction of the wait at random, a fifth if not set: actors that failed together do not come back
    /// together. What is not between 0 and 1 is taken as the nearer of the two.
    pub const fn jitter(mut self, fraction: f64) -> Self {
        self.jitter = if fraction > 0.0 { fraction.min(1.0) } else { 0.0 };
        self
    }

    /// The wait before the `nth` restart in a row, counted from 0.
    fn delay(&self, nth: u32, roll: f64) -> Duration {
        let factor = 2_u32.checked_pow(nth).unwrap_or(u32::MAX);
        let wait = self.first.saturating_mul(factor).min(self.most);
        let more = Duration::try_from_secs_f64(wait.as_secs_f64() * self.jitter * roll);
        wait.saturating_add(more.unwrap_or_default())
    }
}

/// When an actor, or a group of them, was restarted.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// As many as the budget allows, the latest ones.
    restarts: VecDeque<Instant>,
    /// How many there were without a pause as long as the window.
    row: u32,
    /// When the latest one happens: when its wait is over.
    last: Option<Instant>,
}

impl Record {
    /// How many restarts came before this one in a row; `None` when the budget is spent.
    fn admit(&mut self, Budget { restarts, window }: Budget, now: Instant) -> Option<u32> {
        if let Some(most) = restarts {
            while self.restarts.front().is_some_and(|restart| now - *restart >= window) {
                self.restarts.pop_front();
            }
            if self.restarts.len() >= most as usize {
                return None;
            }
            self.restarts.push_back(now);
        }
        if self.last.replace(now).is_some_and(|last| now - last >= window) {
            self.row = 0;
        }
        self.row = self.row.saturating_add(1);
        Some(self.row - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn every_directive_has_its_fate() {
        let plenty = Supervision::one_for_one();
        let none = Supervision::one_for_one().budget(0, SECOND);
        let now = Instant::now();
        for (directive, with_budget, without) in [
            (Directive::Resume, Fate::Resume, Fate::Resume),
            (Directive::Restart, Fate::Restart { after: Duration::ZERO }, Fate::Exhausted),
            (Directive::Stop, Fate::Stop, Fate::Stop),
            (Directive::Escalate, Fate::Escalate, Fate::Escalate),
        ] {
            assert_eq!(
                plenty.fate(directive, &mut Record::default(), now, 0.0),
                with_budget,
                "{directive:?}"
            );
            assert_eq!(none.fate(directive, &mut Record::default(), now, 0.0), without, "{directive:?}");
        }
    }

    #[test]
    fn a_scope_concerns_all_the_younger_or_nobody() {
        let [first, second, third] = [(); 3].map(|()| Pid::next());
        for (scope, of_first, of_second, of_third) in [
            (Scope::One, [false; 3], [false; 3], [false; 3]),
            (Scope::All, [false, true, true], [true, false, true], [true, true, false]),
            (Scope::Rest, [false, true, true], [false, false, true], [false; 3]),
        ] {
            for (failed, expected) in [(first, of_first), (second, of_second), (third, of_third)] {
                assert_eq!(
                    [first, second, third].map(|other| scope.concerns(failed, other)),
                    expected,
                    "{scope:?}"
                );
            }
        }
    }

    #[test]
    fn constructors_say_the_scope() {
        for (supervision, scope) in [
            (Supervision::one_for_one(), Scope::One),
            (Supervision::all_for_one(), Scope::All),
            (Supervision::rest_for_one(), Scope::Rest),
            (Supervision::default(), Scope::One),
        ] {
            assert_eq!(supervision.scope, scope);
            let ten = Budget { restarts: Some(10), window: SECOND * 60 };
            assert_eq!((supervision.budget, supervision.backoff), (ten, None), "at once, ten times a minute");
        }
        assert_eq!(Supervision::default().budget(3, SECOND * 5).budget_text(), "3 restarts in 5s");
    }

    #[test]
    fn only_a_restart_is_charged() {
        let supervision = Supervision::one_for_one().budget(1, SECOND);
        let (now, mut record) = (Instant::now(), Record::default());
        for directive in [Directive::Resume, Directive::Stop, Directive::Escalate] {
            supervision.fate(directive, &mut record, now, 0.0);
        }
        let restart = |record: &mut Record| supervision.fate(Directive::Restart, record, now, 0.0);
        assert_eq!(restart(&mut record), Fate::Restart { after: Duration::ZERO });
        assert_eq!(restart(&mut record), Fate::Exhausted);
        assert_eq!(restart(&mut record), Fate::Exhausted, "a refusal is not charged, and does not help");
    }

    #[test]
    fn a_long_wait_is_no_quiet_window() {
        let supervision =
            Supervision::one_for_one().budget(9, SECOND).backoff(Backoff::exponential(SECOND, SECOND * 60));
        let (mut now, mut record) = (Instant::now(), Record::default());
        for seconds in [1, 2, 4, 8] {
            let fate = supervision.fate(Directive::Restart, &mut record, now, 0.0);
            assert_eq!(fate, Fate::Restart { after: SECOND * seconds });
            // It fails right after its restart.
            now += SECOND * seconds;
        }
        now += SECOND;
        let fate = supervision.fate(Directive::Restart, &mut record, now + SECOND * 8, 0.0);
        assert_eq!(fate, Fate::Restart { after: SECOND }, "and a quiet one is");
        let absurd = Supervision::one_for_one().backoff(Backoff::exponential(Duration::MAX, Duration::MAX));
        let fate = absurd.fate(Directive::Restart, &mut record, now, 0.0);
        assert_eq!(fate, Fate::Restart { after: Duration::MAX });
    }

    #[test]
    fn what_follows_a_failure() {
        let (panicked, failed) = (Error::new(ErrorKind::Panicked), Error::new(ErrorKind::Failed));
        let default = Supervision::default();
        let told = Supervision::default().always(Directive::Escalate);
        let asked = Supervision::default().decide(|failure| match failure.kind() {
            ErrorKind::Panicked => Directive::Resume,
            _ => Directive::Stop,
        });
        for (supervision, failure, factory, expected) in [
            (&default, &panicked, true, Directive::Restart),
            (&default, &panicked, false, Directive::Stop),
            (&default, &failed, true, Directive::Restart),
            (&told, &failed, true, Directive::Escalate),
            (&told, &failed, false, Directive::Escalate),
            (&asked, &panicked, false, Directive::Resume),
            (&asked, &failed, true, Directive::Stop),
        ] {
            assert_eq!(
                supervision.directive(failure, factory),
                expected,
                "{supervision:?} {failure:?} {factory}"
            );
        }
    }

    /// Restarts at these seconds, and which of them the budget allows.
    fn admitted(budget: Option<u32>, window: u64, seconds: &[u64]) -> Vec<Option<u32>> {
        let (begin, mut record) = (Instant::now(), Record::default());
        let budget = Budget { restarts: budget, window: SECOND * window as u32 };
        seconds.iter().map(|at| record.admit(budget, begin + SECOND * *at as u32)).collect()
    }

    #[test]
    fn a_budget_counts_the_restarts_of_any_window() {
        assert_eq!(admitted(Some(0), 10, &[0, 100]), [None, None]);
        assert_eq!(admitted(Some(2), 10, &[0, 1, 2]), [Some(0), Some(1), None]);
        // The first one is out of the window exactly when the window is over.
        assert_eq!(
            admitted(Some(2), 10, &[0, 5, 9, 10, 14, 15]),
            [Some(0), Some(1), None, Some(2), None, Some(3)]
        );
        assert_eq!(admitted(None, 10, &[0, 0, 0, 0]), [Some(0), Some(1), Some(2), Some(3)]);
        assert_eq!(admitted(Some(1), 0, &[0, 0, 0]), [Some(0), Some(0), Some(0)]);
    }

    #[test]
    fn without_a_budget_there_is_no_restart_too_many() {
        let supervision = Supervision::rest_for_one().unlimited();
        let (now, mut record) = (Instant::now(), Record::default());
        for _ in 0..100 {
            let fate = supervision.fate(Directive::Restart, &mut record, now, 0.0);
            assert_eq!(fate, Fate::Restart { after: Duration::ZERO });
        }
        assert_eq!(supervision.scope, Scope::Rest, "and nothing else is changed");
    }

    #[test]
    fn a_quiet_window_begins_a_new_row() {
        assert_eq!(admitted(None, 10, &[0, 9, 18, 28, 29]), [Some(0), Some(1), Some(2), Some(0), Some(1)]);
    }

    #[test]
    fn waits_double_up_to_a_limit() {
        let backoff = Backoff::exponential(SECOND, SECOND * 5).jitter(0.5);
        let waits: Vec<_> = (0..5).map(|nth| backoff.delay(nth, 0.0).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 5, 5]);
        assert_eq!(backoff.delay(1, 1.0), SECOND * 3);
        assert_eq!(backoff.delay(1, 0.5), SECOND * 5 / 2);
        assert_eq!(backoff.delay(u32::MAX, 0.0), SECOND * 5);
        assert_eq!(backoff.jitter(-1.0).delay(0, 1.0), SECOND);
        assert_eq!(backoff.jitter(f64::NAN).delay(0, 1.0), SECOND);
        assert_eq!(backoff.jitter(7.0).delay(0, 1.0), SECOND * 2);
        let absurd = Backoff::exponential(Duration::MAX, Duration::MAX).jitter(1.0);
        assert_eq!(absurd.delay(3, 1.0), Duration::MAX);
    }

    #[test]
    fn a_restart_waits_as_its_backoff_says() {
        let supervision =
            Supervision::one_for_one().unlimited().backoff(Backoff::exponential(SECOND, SECOND * 60));
        let (now, mut record) = (Instant::now(), Record::default());
        let waits: Vec<_> =
            (0..3).map(|_| supervision.fate(Directive::Restart, &mut record, now, 0.0)).collect();
        let restart = |seconds| Fate::Restart { after: SECOND * seconds };
        assert_eq!(waits, [restart(1), restart(2), restart(4)]);
    }
}
