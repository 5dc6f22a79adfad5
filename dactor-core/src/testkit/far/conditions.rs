//! What a link does to its frames.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::Codec;
use crate::base::random::Random;

/// An ask without an answer fails after this long.
const LIMIT: Duration = Duration::from_secs(30);

pub(super) struct Conditions {
    random: Random,
    faults: Mutex<Faults>,
    /// Whether the seed was printed.
    printed: AtomicBool,
    codec: Mutex<Codec>,
    limit: Mutex<Duration>,
    /// Odd while the link is cut. A frame of an earlier number is lost.
    epoch: AtomicU64,
    allows_end: AtomicBool,
    at_once: AtomicBool,
    sent: AtomicU64,
    delivered: AtomicU64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Faults {
    pub(super) lose: f64,
    pub(super) duplicate: f64,
    pub(super) reorder: f64,
    pub(super) delay: Option<RangeInclusive<Duration>>,
}

/// What happens to one frame.
#[derive(Debug, Default)]
pub(super) struct FrameFault {
    pub(super) lost: bool,
    pub(super) twice: bool,
    pub(super) late: bool,
    pub(super) delay: Duration,
}

impl Conditions {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            faults: Mutex::default(),
            printed: AtomicBool::new(false),
            codec: Mutex::new(Codec::MessagePack),
            limit: Mutex::new(LIMIT),
            epoch: AtomicU64::new(0),
            allows_end: AtomicBool::new(true),
            at_once: AtomicBool::new(false),
            sent: AtomicU64::new(0),
            delivered: AtomicU64::new(0),
        }
    }

    pub(super) fn seed(&self) -> u64 {
        self.random.seed()
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Faults)) {
        change(&mut lock(&self.faults));
        if !self.printed.swap(true, Ordering::Relaxed) {
            eprintln!("a link with faults: seed {}", self.seed());
        }
    }

    /// Decides over the next frame. Without faults no random number is drawn.
    pub(super) fn decide(&self) -> FrameFault {
        let faults = lock(&self.faults).clone();
        let strikes = |probability: f64| probability > 0.0 && self.random.fraction() < probability;
        let delay = faults.delay.as_ref().map_or(Duration::ZERO, |range| {
            let spread = range.end().saturating_sub(*range.start());
            *range.start() + spread.mul_f64(self.random.fraction())
        });
        FrameFault {
            lost: strikes(faults.lose),
            twice: strikes(faults.duplicate),
            late: strikes(faults.reorder),
            delay,
        }
    }

    pub(super) fn codec(&self) -> Codec {
        *lock(&self.codec)
    }

    pub(super) fn set_codec(&self, codec: Codec) {
        *lock(&self.codec) = codec;
    }

    pub(super) fn limit(&self) -> Duration {
        *lock(&self.limit)
    }

    pub(super) fn set_limit(&self, limit: Duration) {
        *lock(&self.limit) = limit;
    }

    pub(super) fn allows_end(&self) -> bool {
        self.allows_end.load(Ordering::SeqCst)
    }

    pub(super) fn set_allows_end(&self, allowed: bool) {
        self.allows_end.store(allowed, Ordering::SeqCst);
    }

    pub(super) fn at_once(&self) -> bool {
        self.at_once.load(Ordering::SeqCst)
    }

    pub(super) fn set_at_once(&self, at_once: bool) {
        self.at_once.store(at_once, Ordering::SeqCst);
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    pub(super) fn is_cut(&self) -> bool {
        self.epoch() % 2 == 1
    }

    pub(super) fn cut(&self) {
        let _ = self.epoch.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |epoch| Some(epoch | 1));
    }

    pub(super) fn heal(&self) {
        let heal = |epoch: u64| (epoch % 2 == 1).then_some(epoch + 1);
        let _ = self.epoch.fetch_update(Ordering::SeqCst, Ordering::SeqCst, heal);
    }

    pub(super) fn note_sent(&self) {
        self.sent.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn note_delivered(&self) {
        self.delivered.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn frames(&self) -> (u64, u64) {
        (self.sent.load(Ordering::Relaxed), self.delivered.load(Ordering::Relaxed))
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
