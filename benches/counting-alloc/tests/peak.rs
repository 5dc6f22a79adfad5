//! The peak is kept after memory is freed. The counter is global, so there is one test.

use std::hint::black_box;

use counting_alloc::{Counting, start_counting, stop_counting};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const LARGE: usize = 1 << 20;
const SMALL: usize = 1 << 10;
/// Allocations that the test's own threads may make meanwhile.
const SLACK: isize = 64 << 10;

#[test]
fn the_peak_outlasts_what_made_it() {
    start_counting();
    for _ in 0..3 {
        drop(black_box(Vec::<u8>::with_capacity(LARGE)));
    }
    let kept = black_box(Vec::<u8>::with_capacity(SMALL));
    let count = stop_counting();
    drop(kept);
    let above = |bytes: isize, size: usize| (0..SLACK).contains(&(bytes - size as isize));
    assert!(above(count.peak_bytes, LARGE), "{count:?}");
    assert!(above(count.live_bytes, SMALL), "{count:?}");
    assert!(count.allocations >= 4, "{count:?}");

    start_counting();
    assert!((0..SLACK).contains(&stop_counting().peak_bytes), "counting starts anew");
}
