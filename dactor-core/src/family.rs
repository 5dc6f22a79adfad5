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
use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;

use crate::mailbox::Ending;
use crate::path::Guardian;
use crate::registry::Refused;
use crate::shared::Control;
use crate::supervision::{Record, Scope};
use crate::{Error, Pid, Supervision, System};

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
    summons: Vec<Summons>,
    /// Since the first child.
    kin: Option<Box<Kin>>,
}

#[derive(Default)]
struct Kin {
    /// In the order of their birth: numbers only grow.
    children: BTreeMap<Pid, Arc<dyn Control>>,
    names: HashMap<Arc<str>, Pid>,
    record: Record,
}

impl Family {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a child in, under its name.
    pub(crate) fn add(&self, child: Arc<dyn Control>) -> Result<(), Refused> {
        let mut inner = self.lock();
        if inner.closed {
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

    pub(crate) fn has_children(&self) -> bool {
        self.lock().kin.as_ref().is_some_and(|kin| !kin.children.is_empty())
    }

    pub(crate) fn child(&self, name: &str) -> Option<Arc<dyn Control>> {
        let inner = self.lock();
        let kin = inner.kin.as_ref()?;
        kin.children.get(kin.names.get(name)?).cloned()
    }

    /// Lets nobody in any more.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
    }

    fn summon(&self, summons: Summons) {
        self.lock().summons.push(summons);
    }

    /// What the family has wanted since it was asked last.
    pub(crate) fn summons(&self) -> Vec<Summons> {
        mem::take(&mut self.lock().summons)
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
    let hosted = actors.iter().filter(|actor| actor.head().host.get().is_some());
    join_all(hosted.map(|actor| actor.head().end.wait())).await;
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

    /// Those who share the fate of `failed`, without itself.
    pub(crate) fn concerned(&self, scope: Scope, failed: Pid) -> Vec<Arc<dyn Control>> {
        let siblings = match (scope, self) {
            (Scope::One, _) => return Vec::new(),
            (_, Self::Parent(parent)) => parent.head().family.children(),
            (_, Self::Guardian(system, guardian)) => system.top_level(*guardian),
        };
        let concerned = |pid: Pid| match scope {
            Scope::One => false,
            Scope::All => pid != failed,
            Scope::Rest => pid > failed,
        };
        siblings.into_iter().filter(|sibling| concerned(sibling.pid())).collect()
    }

    /// The record of those who are restarted together.
    pub(crate) fn with_record<T>(&self, use_it: impl FnOnce(&mut Record) -> T) -> T {
        match self {
            Self::Parent(parent) => {
                use_it(&mut parent.head().family.lock().kin.get_or_insert_default().record)
            }
            Self::Guardian(system, _) => use_it(&mut system.record()),
        }
    }

    /// Fails the parent over a child. There is nobody above a guardian.
    pub(crate) fn escalate(&self, child: String, failure: &Error) {
        if let Self::Parent(parent) = self {
            summon(*parent, Summons::ChildFailed { child, failure: failure.clone() });
        }
    }
}

/// Lets an actor's family ask something of it.
pub(crate) fn summon(actor: &dyn Control, summons: Summons) {
    actor.head().family.summon(summons);
    actor.call();
}
