//! What becomes of an actor that has failed. Everything here is decided by pure functions.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::base::panic::discard;
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
    decide: Option<DeciderGuard>,
    budget: Budget,
    backoff: Option<Backoff>,
}

type Decider = Arc<dyn Fn(&Error) -> Directive + Send + Sync>;

/// A decider of the user's, dropped under the panic guard: a failed actor drops the strategy that decided over it.
#[derive(Clone)]
struct DeciderGuard(Option<Decider>);

impl Drop for DeciderGuard {
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
        self.decide = Some(DeciderGuard(Some(Arc::new(decide))));
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
                    // The wait itself is no pause.
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

/// What is decided over a failed actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
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
mod tests;
