//! Pseudo-random numbers, not cryptographic: trace ids, and the jitter of retries and restarts.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    // Keyed by the operating system's randomness, differently in every thread.
    static KEYED: RandomState = RandomState::new();
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// A pseudo-random `u64`, independent of any seed.
pub(crate) fn random() -> u64 {
    let count = COUNT.get();
    COUNT.set(count.wrapping_add(1));
    KEYED.with(|keyed| keyed.hash_one(count))
}

/// A number in `0.0..1.0`, independent of any seed.
pub(crate) fn fraction() -> f64 {
    to_fraction(random())
}

fn to_fraction(number: u64) -> f64 {
    // As many bits as an `f64` holds exactly.
    (number >> 11) as f64 / (1_u64 << 53) as f64
}

/// The random numbers of one system: the same seed gives the same sequence.
#[derive(Debug)]
pub(crate) struct Random {
    seed: u64,
    drawn: AtomicU64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, drawn: AtomicU64::new(0) }
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// A number in `0.0..1.0`.
    pub(crate) fn fraction(&self) -> f64 {
        to_fraction(self.next())
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
    fn numbers_differ_and_fractions_spread() {
        let here: HashSet<u64> = (0..1000).map(|_| random()).collect();
        let there: HashSet<u64> =
            std::thread::spawn(|| (0..1000).map(|_| random()).collect()).join().unwrap();
        assert_eq!((here.len(), here.union(&there).count()), (1000, 2000));
        let fractions: Vec<f64> = (0..1000).map(|_| fraction()).collect();
        assert!(fractions.iter().all(|fraction| (0.0..1.0).contains(fraction)));
        let mean = fractions.iter().sum::<f64>() / 1000.0;
        assert!((0.4..0.6).contains(&mean), "{mean}");
    }

    #[test]
    fn a_seed_determines_the_numbers() {
        let drawn = |seed| {
            let random = Random::new(seed);
            assert_eq!(random.seed(), seed);
            (0..1000).map(|_| random.fraction()).collect::<Vec<f64>>()
        };
        let numbers = drawn(7);
        assert!(numbers == drawn(7) && numbers != drawn(8));
        assert!(numbers.iter().all(|fraction| (0.0..1.0).contains(fraction)));
        let mean = numbers.iter().sum::<f64>() / 1000.0;
        assert!((0.4..0.6).contains(&mean), "{mean}");
        // The first number of the published algorithm for the seed 0.
        assert_eq!(Random::new(0).next(), 0xE220_A839_7B1D_CDAF);
    }
}
