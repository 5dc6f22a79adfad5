//! Shared helpers of the loom models.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Wake;

use loom::sync::Notify;

use super::atomic::{AtomicUsize, Ordering};

/// Runs the model in every order and returns all outcomes: a test asserts that exactly these can happen. A
/// thread that waits forever is a deadlock, which loom reports.
pub(crate) fn explore<O: Ord + Send + 'static>(model: impl Fn() -> O + Send + Sync + 'static) -> BTreeSet<O> {
    let seen = Arc::new(Mutex::new((0_usize, BTreeSet::new())));
    loom::model({
        let seen = seen.clone();
        move || {
            let outcome = model();
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.0 += 1;
            seen.1.insert(outcome);
        }
    });
    let (orders, outcomes) = std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
    let thread = std::thread::current();
    println!("{}: {orders} orders, {} outcomes", thread.name().unwrap_or("a model"), outcomes.len());
    outcomes
}

/// Wakes one thread, and counts: a task's waker, or the host of a cell.
#[derive(Debug)]
pub(crate) struct Bell {
    rung: AtomicUsize,
    notify: Notify,
}

impl Bell {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { rung: AtomicUsize::new(0), notify: Notify::new() })
    }

    pub(crate) fn ring(&self) {
        self.rung.fetch_add(1, Ordering::AcqRel);
        self.notify.notify();
    }

    /// Waits for a wake-up. Returns the number since the last call.
    pub(crate) fn wait(&self) -> usize {
        loop {
            self.notify.wait();
            match self.rung() {
                0 => {}
                rung => return rung,
            }
        }
    }

    /// The number of wake-ups since the last call.
    pub(crate) fn rung(&self) -> usize {
        self.rung.swap(0, Ordering::AcqRel)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }
}
