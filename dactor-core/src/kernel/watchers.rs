//! The watchers of an actor: the list at the target.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::base::label::Labelled;
use crate::{Pid, StopReason};

/// An actor that watches others.
pub(crate) trait Watcher: Send + Sync {
    /// Puts the notice of a watch into its mailbox, unless it is ending.
    fn notice(&self, who: Arc<dyn Labelled>, reason: StopReason, watch: u64);
}

/// One watch, as seen by its target.
pub(crate) struct Watch {
    pub(crate) watcher: Arc<dyn Watcher>,
    pub(crate) number: u64,
}

/// The watchers of one actor.
#[derive(Default)]
pub(crate) struct Watchers(Mutex<State>);

#[derive(Default)]
enum State {
    #[default]
    Nobody,
    /// Boxed: most actors have no watchers.
    Some(Box<Watches>),
    /// The actor itself has the reason.
    Ended,
}

/// All watches of one actor.
#[derive(Default)]
pub(crate) struct Watches {
    /// Notified in spawn order, so that a single-threaded program is reproducible.
    by_watcher: BTreeMap<Pid, Watch>,
}

impl Watchers {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a watch. `false` when the target has ended already.
    pub(crate) fn add(&self, watcher: Pid, watch: Watch) -> bool {
        let mut state = self.lock();
        let watches = match &mut *state {
            State::Ended => return false,
            State::Some(watches) => watches,
            empty => {
                *empty = State::Some(Box::default());
                let State::Some(watches) = empty else { unreachable!("the state has just been set") };
                watches
            }
        };
        watches.by_watcher.insert(watcher, watch);
        true
    }

    pub(crate) fn remove(&self, watcher: Pid) {
        let mut state = self.lock();
        if let State::Some(watches) = &mut *state {
            watches.by_watcher.remove(&watcher);
            if watches.by_watcher.is_empty() {
                *state = State::Nobody;
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn are_none(&self) -> bool {
        matches!(*self.lock(), State::Nobody)
    }

    /// Accepts no more watches, and returns the existing ones, once, to be notified; the reason is readable already.
    pub(crate) fn end(&self) -> Option<Box<Watches>> {
        match mem::replace(&mut *self.lock(), State::Ended) {
            State::Some(watches) => Some(watches),
            State::Nobody | State::Ended => None,
        }
    }
}

impl Watches {
    /// Tells all of them. The lock is not held: a watcher may be woken, and it may watch another actor.
    pub(crate) fn tell(self, who: &Arc<dyn Labelled>, reason: &StopReason) {
        for Watch { watcher, number } in self.by_watcher.into_values() {
            watcher.notice(who.clone(), reason.clone(), number);
        }
    }
}
