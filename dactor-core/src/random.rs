//! Random numbers that need not be secret: ids of traces, and the jitter of retries.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

thread_local! {
    // Keyed by the operating system's randomness, differently in every thread.
    static KEYED: RandomState = RandomState::new();
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// A number like no other.
pub(crate) fn random() -> u64 {
    let count = COUNT.get();
    COUNT.set(count.wrapping_add(1));
    KEYED.with(|keyed| keyed.hash_one(count))
}

/// A number from 0 up to 1, without it.
pub(crate) fn fraction() -> f64 {
    // As many bits as the number holds exactly.
    (random() >> 11) as f64 / (1_u64 << 53) as f64
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
}
