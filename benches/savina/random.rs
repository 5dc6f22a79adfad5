//! Pseudo-random numbers with fixed seeds.

use std::iter::successors;

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.next().map_or(0, |number| (number % limit as u64) as usize)
    }
}

impl Iterator for Random {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        Some(mix(self.state))
    }
}

/// A hash: consecutive inputs give unrelated outputs.
pub(crate) fn mix(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Savina's generator, with 16 bits.
pub(crate) fn savina(seed: u64) -> impl Iterator<Item = u64> {
    successors(Some(seed), |number| Some((number * 1_309 + 13_849) % 65_536)).skip(1)
}
