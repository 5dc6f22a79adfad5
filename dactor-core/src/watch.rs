//! Who wants to know when an actor ends.
//!
//! A watch is in two places: at the target, which tells its watchers when it ends, and at the watcher, whose list
//! decides whether a notice that arrives is still wanted. Each place is behind its own actor's lock; nothing is global.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::envelope::{Envelope, Labelled};
use crate::shared::{Control, Shared};
use crate::{Actor, ActorPath, ActorRef, Handler, Message, Pid, StopReason};

/// An actor that this one [watches](crate::Context::watch) has ended.
///
/// It comes once, behind everything that the other actor sent to this one, and takes no room in the mailbox.
#[derive(Clone)]
pub struct Terminated {
    who: Arc<dyn Labelled>,
    reason: StopReason,
}

impl Terminated {
    /// The number of the actor that has ended.
    pub fn who(&self) -> Pid {
        self.who.pid()
    }

    /// The path of the actor that has ended.
    pub fn path(&self) -> ActorPath {
        self.who.path()
    }

    /// The same as a text, without its UID.
    pub fn label(&self) -> String {
        self.who.label()
    }

    /// Whether it is this one.
    pub fn is<A: Actor>(&self, actor: &ActorRef<A>) -> bool {
        self.who() == actor.id()
    }

    /// How it ended.
    pub fn reason(&self) -> &StopReason {
        &self.reason
    }
}

impl Message for Terminated {
    type Reply = ();

    fn describe(&self) -> Option<String> {
        Some(format!("{self:?}"))
    }
}

impl fmt::Debug for Terminated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminated").field("who", &self.label()).field("reason", &self.reason).finish()
    }
}

/// An actor that watches others.
pub(crate) trait Witness: Send + Sync {
    /// Puts the notice into its mailbox. One that is ending does not want it any more.
    fn notice(&self, terminated: Terminated, watch: u64);
}

impl<A: Handler<Terminated>> Witness for Shared<A> {
    fn notice(&self, terminated: Terminated, watch: u64) {
        if let Ok(nudge) = self.mailbox.notify(Envelope::terminated(terminated, watch)) {
            self.head.act(nudge);
        }
    }
}

/// One watch, as its target knows it.
struct Watch {
    witness: Arc<dyn Witness>,
    number: u64,
}

/// Those who watch one actor.
#[derive(Default)]
pub(crate) struct Watchers(Mutex<State>);

#[derive(Default)]
enum State {
    #[default]
    Nobody,
    /// Boxed: most actors are watched by nobody.
    Some(Box<Watches>),
    /// The reason is at its actor.
    Ended,
}

#[derive(Default)]
struct Watches {
    /// Told in the order of their birth: so a program on one thread runs the same each time.
    by_watcher: BTreeMap<Pid, Watch>,
}

impl Watchers {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a watch. `false` when the target has ended already.
    fn add(&self, watcher: Pid, watch: Watch) -> bool {
        let mut state = self.lock();
        let watches = match &mut *state {
            State::Ended => return false,
            State::Some(watches) => watches,
            nobody => {
                *nobody = State::Some(Box::default());
                let State::Some(watches) = nobody else { unreachable!("it has just been set") };
                watches
            }
        };
        watches.by_watcher.insert(watcher, watch);
        true
    }

    fn remove(&self, watcher: Pid) {
        let mut state = self.lock();
        if let State::Some(watches) = &mut *state {
            watches.by_watcher.remove(&watcher);
            if watches.by_watcher.is_empty() {
                *state = State::Nobody;
            }
        }
    }

    /// Tells everyone, once. The reason can be read already.
    pub(crate) fn end(&self, who: &Arc<dyn Labelled>, reason: &StopReason) {
        // Told outside the lock: a watcher may be woken, and it may watch somebody else.
        let before = mem::replace(&mut *self.lock(), State::Ended);
        if let State::Some(watches) = before {
            for Watch { witness, number } in watches.by_watcher.into_values() {
                witness.notice(Terminated { who: who.clone(), reason: reason.clone() }, number);
            }
        }
    }
}

/// Those whom one actor watches. When it is gone, it leaves nothing behind at its targets.
pub(crate) struct Watching {
    watcher: Pid,
    last: u64,
    targets: HashMap<Pid, Target>,
}

struct Target {
    control: Arc<dyn Control>,
    number: u64,
}

impl Watching {
    pub(crate) fn new(watcher: Pid) -> Self {
        Self { watcher, last: 0, targets: HashMap::new() }
    }

    /// Begins to watch. Watching twice is watching once.
    pub(crate) fn begin<A: Handler<Terminated>>(
        &mut self,
        watcher: Arc<Shared<A>>,
        target: Arc<dyn Control>,
    ) {
        let who = target.pid();
        if self.targets.contains_key(&who) {
            return;
        }
        self.last += 1;
        let number = self.last;
        let watch = Watch { witness: watcher.clone(), number };
        self.targets.insert(who, Target { control: target.clone(), number });
        if !target.head().watchers.add(self.watcher, watch)
            && let Some(reason) = target.head().end.get().cloned()
        {
            watcher.notice(Terminated { who: target.into_labelled(), reason }, number);
        }
    }

    /// Ends a watch: a notice that is on its way is not wanted any more.
    pub(crate) fn end(&mut self, who: Pid) -> bool {
        let Some(target) = self.targets.remove(&who) else { return false };
        target.control.head().watchers.remove(self.watcher);
        true
    }

    /// Ends the watches of the watcher's own children.
    pub(crate) fn end_children(&mut self) {
        let watcher = self.watcher;
        self.targets.retain(|_, Target { control, .. }| {
            let is_child = control.head().parent.as_ref().is_some_and(|parent| parent.pid() == watcher);
            if is_child {
                control.head().watchers.remove(watcher);
            }
            !is_child
        });
    }

    /// Whether the notice of a watch is wanted. It is wanted once.
    pub(crate) fn claim(&mut self, who: Pid, number: u64) -> bool {
        let wanted = self.targets.get(&who).is_some_and(|target| target.number == number);
        if wanted {
            self.targets.remove(&who);
        }
        wanted
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        for target in mem::take(&mut self.targets).into_values() {
            target.control.head().watchers.remove(self.watcher);
        }
    }
}

#[cfg(test)]
mod tests;
