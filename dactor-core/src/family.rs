//! Parents and children.
//!
//! ```text
//!          /user                 a child is in its parent's family from its birth until it has settled,
//!          │                     and holds its parent: no child outlives it unseen
//!   ┌──────┴─────┐
//!   pool         cache           failure: the child asks its parent's supervision for its fate,
//!   │                            and its siblings share it where the scope says so
//!   ├── worker-1
//!   └── worker-2                 escalation: the parent fails in turn
//! ```

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;

use crate::mailbox::Ending;
use crate::path::Guardian;
use crate::registry::Refused;
use crate::shared::{Control, Head};
use crate::supervision::{Fate, Record, Scope};
use crate::{Directive, Error, Pid, Supervision, System};

/// What an actor's family wants of it, between two messages.
#[derive(Debug)]
pub(crate) enum Summons {
    /// A sibling failed, and this actor is restarted with it.
    Restart { failure: Error, after: Duration },
    /// A child failed and left it to its parent.
    ChildFailed { child: String, failure: Error },
}

/// The children of one actor.
#[derive(Default)]
pub(crate) struct Family(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// The actor ends, and has no more children.
    closed: bool,
    /// The actor waits for the end of its children.
    dismissing: bool,
    /// How often the actor has been restarted: a child is spawned by one instance, and is not the next one's.
    generation: u32,
    /// Boxed, and made when there is anything to keep: most actors have no children, and nobody who wants anything.
    kin: Option<Box<Kin>>,
}

#[derive(Default)]
struct Kin {
    /// In the order of their birth: numbers only grow.
    children: BTreeMap<Pid, Arc<dyn Control>>,
    names: HashMap<Arc<str>, Pid>,
    record: Record,
    summons: VecDeque<Summons>,
}

impl Family {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a child of this generation in, under its name.
    pub(crate) fn add(&self, child: Arc<dyn Control>, generation: u32) -> Result<(), Refused> {
        let mut inner = self.lock();
        if inner.closed || inner.generation != generation {
            return Err(Refused::ParentStopped);
        }
        let Kin { children, names, .. } = &mut **inner.kin.get_or_insert_default();
        if let Some(name) = &child.head().name {
            match names.entry(name.clone()) {
                Entry::Occupied(_) => return Err(Refused::NameTaken),
                Entry::Vacant(free) => free.insert(child.pid()),
            };
        }
        children.insert(child.pid(), child);
        Ok(())
    }

    pub(crate) fn remove(&self, pid: Pid) {
        if let Some(kin) = &mut self.lock().kin
            && let Some(child) = kin.children.remove(&pid)
            && let Some(name) = &child.head().name
        {
            kin.names.remove(name);
        }
    }

    pub(crate) fn children(&self) -> Vec<Arc<dyn Control>> {
        self.lock().kin.iter().flat_map(|kin| kin.children.values().cloned()).collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().kin.as_ref().map_or(0, |kin| kin.children.len())
    }

    pub(crate) fn has_children(&self) -> bool {
        self.count() > 0
    }

    pub(crate) fn child(&self, name: &str) -> Option<Arc<dyn Control>> {
        let inner = self.lock();
        let kin = inner.kin.as_ref()?;
        kin.children.get(kin.names.get(name)?).cloned()
    }

    /// Lets nobody in any more, and listens to nobody.
    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        inner.closed = true;
        let unheard = inner.kin.as_mut().map(|kin| mem::take(&mut kin.summons));
        drop(inner);
        // A failure is a user's value: it is dropped outside the lock.
        drop(unheard);
    }

    /// Whether the actor waits for the end of its children.
    pub(crate) fn is_dismissing(&self) -> bool {
        self.lock().dismissing
    }

    pub(crate) fn set_dismissing(&self, dismissing: bool) {
        self.lock().dismissing = dismissing;
    }

    /// To which generation a child belongs that is spawned now.
    pub(crate) fn generation(&self) -> u32 {
        self.lock().generation
    }

    /// The instance is lost: what it is still spawning is not let in any more.
    pub(crate) fn begin_generation(&self) {
        let mut inner = self.lock();
        inner.generation = inner.generation.wrapping_add(1);
    }

    fn summon(&self, summons: Summons) {
        let mut inner = self.lock();
        if !inner.closed {
            inner.kin.get_or_insert_default().summons.push_back(summons);
        }
    }

    /// What the family has wanted longest.
    pub(crate) fn next_summons(&self) -> Option<Summons> {
        self.lock().kin.as_mut()?.summons.pop_front()
    }

    /// A new instance is about to begin. What the family wanted of the one before is settled by that, and the restarts of
    /// the children that one had do not count any more. A child of it that has not got to its host yet, and was killed,
    /// is none of the new one's, and its name is free.
    pub(crate) fn begin_anew(&self) {
        let settled = self.lock().kin.as_mut().map(|kin| {
            kin.record = Record::default();
            kin.names.clear();
            (mem::take(&mut kin.summons), mem::take(&mut kin.children))
        });
        // Outside the lock, as above.
        drop(settled);
    }

    /// The restart that a sibling's failure has in store for this actor.
    fn take_restart(&self) -> Option<Summons> {
        let mut inner = self.lock();
        let summons = &mut inner.kin.as_mut()?.summons;
        let at = summons.iter().position(|summons| matches!(summons, Summons::Restart { .. }))?;
        summons.remove(at)
    }
}

/// Asks all to end, the youngest first.
pub(crate) fn signal_all(actors: &[Arc<dyn Control>], ending: Ending) {
    for actor in actors.iter().rev() {
        actor.signal(ending);
        // One that has not got to its host yet may never be polled again: nobody waits for it.
        if actor.head().host.get().is_none() {
            actor.signal(Ending::Kill);
        }
    }
}

/// Waits for the end of all that live in their hosts.
pub(crate) async fn all_ended(actors: &[Arc<dyn Control>]) {
    ended(actors.iter().filter(|actor| actor.head().host.get().is_some())).await;
}

/// Waits for the end of all of them.
pub(crate) async fn ended(actors: impl Iterator<Item = &Arc<dyn Control>>) {
    join_all(actors.map(|actor| actor.head().end.wait())).await;
}

/// Who supervises an actor: its parent, or its system for one at the top.
pub(crate) enum Supervisor<'a> {
    Parent(&'a dyn Control),
    Guardian(&'a System, Guardian),
}

impl Supervisor<'_> {
    pub(crate) fn supervision(&self) -> Supervision {
        match self {
            Self::Parent(parent) => parent.supervision(),
            Self::Guardian(system, _) => system.supervision().clone(),
        }
    }

    /// Decides over a failed actor by the record of its group, and tells those who share its fate.
    ///
    /// It is one step, under the lock of the group: of two that fail at once the second finds that it is to be restarted
    /// with the first, and nobody is restarted twice.
    pub(crate) fn share_fate(
        &self,
        scope: Scope,
        failed: &Head,
        failure: &Error,
        directive: Directive,
        fate: impl FnOnce(&mut Record) -> Fate,
    ) -> Fate {
        let decide = |record: &mut Record, siblings: &[Arc<dyn Control>]| {
            if directive == Directive::Restart
                && let Some(joined @ Summons::Restart { after, .. }) = failed.family.take_restart()
            {
                return (Fate::Restart { after }, Some(joined));
            }
            let fate = fate(record);
            if let Fate::Restart { after } = fate {
                for sibling in siblings {
                    sibling.head().family.summon(Summons::Restart { failure: failure.clone(), after });
                }
            }
            (fate, None)
        };
        let concerned = |sibling: &Arc<dyn Control>| scope.concerns(failed.pid, sibling.pid());
        let (siblings, (fate, joined)) = match self {
            Self::Parent(parent) => {
                let mut inner = parent.head().family.lock();
                let Kin { children, record, .. } = &mut **inner.kin.get_or_insert_default();
                let siblings: Vec<_> = children.values().filter(|child| concerned(child)).cloned().collect();
                let decided = decide(record, &siblings);
                (siblings, decided)
            }
            Self::Guardian(system, guardian) => {
                let mut record = system.record(*guardian);
                let mut siblings = system.top_level(*guardian);
                siblings.retain(concerned);
                let decided = decide(&mut record, &siblings);
                (siblings, decided)
            }
        };
        if joined.is_some() {
            return fate;
        }
        let top = matches!(self, Self::Guardian(..));
        for sibling in siblings {
            match fate {
                Fate::Restart { .. } => sibling.call(),
                Fate::Stop => sibling.signal(Ending::Stop),
                // Nobody is above who would decide over the others.
                Fate::Escalate | Fate::Exhausted if top => sibling.signal(Ending::Stop),
                Fate::Resume | Fate::Escalate | Fate::Exhausted => {}
            }
        }
        fate
    }

    /// Fails the parent over a child. There is nobody above a guardian.
    pub(crate) fn escalate(&self, child: String, failure: &Error) {
        if let Self::Parent(parent) = self {
            parent.head().family.summon(Summons::ChildFailed { child, failure: failure.clone() });
            parent.call();
        }
    }
}

#[cfg(test)]
mod tests;
