//! A global allocator that counts on demand.
//!
//! The switch is a relaxed flag: while it is off, an allocation costs one predictable branch and touches no shared
//! counter, so it does not distort timings.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering::Relaxed};

static ON: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

/// The system allocator plus the counters.
#[derive(Debug)]
pub struct Counting;

/// The counters.
#[derive(Debug, Clone, Copy)]
pub struct Count {
    /// Bytes allocated and not freed.
    pub live_bytes: isize,
    /// The maximum of `live_bytes`: the peak heap growth since the start.
    pub peak_bytes: isize,
    /// The number of calls that allocated, or grew an allocation.
    pub allocations: usize,
}

/// Starts counting from zero.
pub fn start_counting() {
    LIVE.store(0, Relaxed);
    PEAK.store(0, Relaxed);
    ALLOCATIONS.store(0, Relaxed);
    ON.store(true, Relaxed);
}

/// Stops counting.
pub fn stop_counting() -> Count {
    ON.store(false, Relaxed);
    Count {
        live_bytes: LIVE.load(Relaxed),
        peak_bytes: PEAK.load(Relaxed),
        allocations: ALLOCATIONS.load(Relaxed),
    }
}

fn record(bytes: isize, allocations: usize) {
    if ON.load(Relaxed) {
        let live = LIVE.fetch_add(bytes, Relaxed) + bytes;
        // The load avoids the write: at a steady level few allocations are a new peak.
        if live > PEAK.load(Relaxed) {
            PEAK.fetch_max(live, Relaxed);
        }
        ALLOCATIONS.fetch_add(allocations, Relaxed);
    }
}

// SAFETY: every call is forwarded unchanged to the system allocator; counting neither allocates nor panics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        record(layout.size() as isize, 1);
        // SAFETY: the caller upholds the contract that `System` requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        record(layout.size() as isize, 1);
        // SAFETY: the caller upholds the contract that `System` requires.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        record(new_size as isize - layout.size() as isize, 1);
        // SAFETY: the caller upholds the contract that `System` requires.
        unsafe { System.realloc(ptr, layout, new_size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        record(-(layout.size() as isize), 0);
        // SAFETY: the caller upholds the contract that `System` requires.
        unsafe { System.dealloc(ptr, layout) }
    }
}
