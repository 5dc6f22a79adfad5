//! Pseudo-random numbers: unpredictable for tokens, reproducible for injected faults.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    // Both are keyed by the operating system's randomness, differently in each thread.
    static KEYED: (RandomState, RandomState) = (RandomState::new(), RandomState::new());
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// An unpredictable `u128`.
pub(crate) fn random() -> u128 {
    let count = COUNT.get();
    COUNT.set(count.wrapping_add(1));
    KEYED.with(|(high, low)| u128::from(high.hash_one(count)) << 64 | u128::from(low.hash_one(count)))
}

/// A reproducible sequence of numbers.
#[derive(Debug)]
pub(crate) struct Sequence {
    seed: u64,
    drawn: AtomicU64,
}

impl Sequence {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, drawn: AtomicU64::new(0) }
    }

    /// A number in `0.0..1.0`.
    pub(crate) fn fraction(&self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// SplitMix64.
    fn next(&self) -> u64 {
        let count = self.drawn.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let mut number = self.seed.wrapping_add(count.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        number ^ (number >> 31)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn random_numbers_differ_between_threads() {
        let threads: Vec<_> =
            (0..8).map(|_| std::thread::spawn(|| (0..1000).map(|_| random()).collect::<Vec<_>>())).collect();
        let all: HashSet<u128> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        assert_eq!(all.len(), 8000);
    }

    #[test]
    fn a_seed_determines_the_sequence() {
        let draw = |seed| {
            let sequence = Sequence::new(seed);
            (0..5).map(|_| sequence.next()).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        let sequence = Sequence::new(1);
        assert!((0..1000).all(|_| (0.0..1.0).contains(&sequence.fraction())));
    }
}
