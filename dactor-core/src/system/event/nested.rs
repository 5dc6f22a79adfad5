//! Events caused by observers.
//!
//! An observer may send messages, and so cause further events. Delivering each of them inside the observer
//! that caused it would recurse: an observer that tells a dead actor about every dead letter would overflow
//! the stack. So an event raised while an observer runs on this thread is deferred until that observer is
//! done.

use std::cell::RefCell;
use std::collections::VecDeque;

use super::{Event, Observers};
use crate::base::panic::contain;

/// How many events the observers of one event may cause: a longer chain is treated as endless.
const LIMIT: usize = 256;

thread_local! {
    /// The deferred events, while an observer runs on this thread.
    static DEFERRED: RefCell<Option<DeferredEvents>> = const { RefCell::new(None) };
}

#[derive(Default)]
struct DeferredEvents {
    events: VecDeque<(Observers, Event)>,
    accepted: usize,
    lost: u64,
}

/// Delivers an event to the observers: now, or when the observer that caused it is done.
pub(super) fn deliver(observers: &Observers, event: Event) {
    let mut event = Some(event);
    let is_outermost = DEFERRED.try_with(|deferred| match &mut *deferred.borrow_mut() {
        Some(deferred) if deferred.accepted < LIMIT => {
            deferred.accepted += 1;
            deferred.events.extend(event.take().map(|event| (observers.clone(), event)));
            false
        }
        Some(deferred) => {
            deferred.lost += 1;
            false
        }
        none => {
            *none = Some(DeferredEvents::default());
            true
        }
    });
    // Thread-locals are gone while a thread exits: nothing can be deferred.
    if is_outermost == Ok(false) {
        return;
    }
    let ended = Ended;
    event.iter().for_each(|event| tell(observers, event));
    while let Some((observers, event)) = next() {
        tell(&observers, &event);
    }
    drop(ended);
}

fn tell(observers: &Observers, event: &Event) {
    for observer in observers.iter() {
        if let Err(panic) = contain(|| observer(event)) {
            tracing::warn!(%panic, "an observer panicked");
        }
    }
}

fn next() -> Option<(Observers, Event)> {
    DEFERRED.try_with(|deferred| deferred.borrow_mut().as_mut()?.events.pop_front()).ok()?
}

/// Ends the outermost delivery.
struct Ended;

impl Drop for Ended {
    fn drop(&mut self) {
        let Ok(Some(DeferredEvents { lost, .. })) = DEFERRED.try_with(RefCell::take) else { return };
        if lost > 0 {
            tracing::warn!(
                lost,
                limit = LIMIT,
                "observers cause events without end: the rest was not delivered"
            );
        }
    }
}
