//! What happens to a failed actor, decided by pure functions.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::base::panic::discard;
use crate::{Directive, Error, Pid};

/// A supervision strategy: which actors a failure affects, what happens to them, how often, and how soon.
///
/// A failure is a panic, or an `Err` for which [`on_error`](crate::Actor::on_error) said
/// [`Escalate`](Directive::Escalate). By default an actor spawned from a factory is restarted immediately, at
/// most ten times per minute, and an actor spawned from a value is stopped.
///
/// Set it for the children of an actor ([`Actor::supervision`](crate::Actor::supervision)), for the top-level
/// actors of a system ([`SystemBuilder::supervision`](crate::SystemBuilder::supervision)), or for one actor
/// when it is spawned ([`Spawn::supervision`](crate::Spawn::supervision)).
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
    decide: Option<DeciderGuard>,
    budget: Budget,
    backoff: Option<Backoff>,
}

type Decider = Arc<dyn Fn(&Error) -> Directive + Send + Sync>;

/// A user's decider, dropped under the panic guard: a failed actor drops the strategy that was applied to it.
#[derive(Clone)]
struct DeciderGuard(Option<Decider>);

impl Drop for DeciderGuard {
    fn drop(&mut self) {
        discard(self.0.take());
    }
}

/// Which actors a restart or stop affects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    One,
    All,
    /// The failed actor, and siblings spawned after it.
    Rest,
}

impl Scope {
    /// Whether the failure of `failed` also affects a sibling.
    pub(crate) fn concerns(self, failed: Pid, other: Pid) -> bool {
        match self {
            Self::One => false,
            Self::All => other != failed,
            Self::Rest => other > failed,
        }
    }
}

/// The restart budget: a maximum number of restarts per window.
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

    /// A failure affects only the actor that failed.
    pub const fn one_for_one() -> Self {
        Self::new(Scope::One)
    }

    /// A restart or stop affects all children of the parent: they depend on each other.
    pub const fn all_for_one() -> Self {
        Self::new(Scope::All)
    }

    /// A restart or stop also affects the children spawned after the failed one: they depend on it.
    pub const fn rest_for_one() -> Self {
        Self::new(Scope::Rest)
    }

    /// Uses the same directive for every failure.
    pub fn always(self, directive: Directive) -> Self {
        self.decide(move |_| directive)
    }

    /// Decides by the error.
    pub fn decide(mut self, decide: impl Fn(&Error) -> Directive + Send + Sync + 'static) -> Self {
        self.decide = Some(DeciderGuard(Some(Arc::new(decide))));
        self
    }

    /// Limits restarts to this many per window. When the budget is exceeded, the actor is stopped instead,
    /// and its parent fails. Children that are restarted together share one budget.
    pub fn budget(mut self, restarts: u32, window: Duration) -> Self {
        self.budget = Budget { restarts: Some(restarts), window };
        self
    }

    /// Allows any number of restarts.
    pub fn unlimited(mut self) -> Self {
        self.budget.restarts = None;
        self
    }

    /// Waits before each restart, with exponential backoff. Messages wait meanwhile.
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

    /// Turns a directive into a decision. `roll` is a random number between 0 and 1.
    pub(crate) fn decision(
        &self,
        directive: Directive,
        record: &mut Record,
        now: Instant,
        roll: f64,
    ) -> Decision {
        match directive {
            Directive::Resume => Decision::Resume,
            Directive::Stop => Decision::Stop,
            Directive::Escalate => Decision::Escalate,
            Directive::Restart => match record.admit(self.budget, now) {
                Some(nth) => {
                    let after =
                        self.backoff.as_ref().map_or(Duration::ZERO, |backoff| backoff.delay(nth, roll));
                    // The backoff itself does not count as a quiet period.
                    record.last = now.checked_add(after);
                    Decision::Restart { after }
                }
                None => Decision::Exhausted,
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

/// The decision about a failed actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    Resume,
    Restart {
        after: Duration,
    },
    Stop,
    Escalate,
    /// The restart budget is exceeded: the actor is stopped, and its parent fails.
    Exhausted,
}

/// Exponential backoff with jitter: the delay before a restart doubles each time, up to a maximum.
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use]
pub struct Backoff {
    first: Duration,
    most: Duration,
    jitter: f64,
}

impl Backoff {
    /// Waits `first`, then twice as long each time, up to `most`. Starts again with `first` when the window
    /// of the [budget](Supervision::budget) has passed without a restart.
    pub const fn exponential(first: Duration, most: Duration) -> Self {
        Self { first, most, jitter: 0.2 }
    }

    /// Adds a random fraction of the delay, up to this much (default: 0.2), so that actors that failed
    /// together do not restart together. Clamped to `0.0..=1.0`.
    pub const fn jitter(mut self, fraction: f64) -> Self {
        self.jitter = if fraction > 0.0 { fraction.min(1.0) } else { 0.0 };
        self
    }

    /// The delay before the `nth` consecutive restart, counted from 0.
    fn delay(&self, nth: u32, roll: f64) -> Duration {
        let factor = 2_u32.checked_pow(nth).unwrap_or(u32::MAX);
        let wait = self.first.saturating_mul(factor).min(self.most);
        let more = Duration::try_from_secs_f64(wait.as_secs_f64() * self.jitter * roll);
        wait.saturating_add(more.unwrap_or_default())
    }
}

/// The restart history of an actor, or of a group that restarts together.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// The latest ones, up to the budget.
    restarts: VecDeque<Instant>,
    /// Consecutive restarts without a quiet period as long as the window.
    row: u32,
    /// When the latest restart happens, after its backoff.
    last: Option<Instant>,
}

impl Record {
    /// The number of consecutive restarts before this one; `None` when the budget is exceeded.
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
mod tests;
