//! Parents and children.
//!
//! ```text
//!          /user                 a child is in its parent's family from its spawn until its teardown,
//!          │                     and holds a reference to its parent
//!   ┌──────┴─────┐
//!   pool         cache           failure: the parent's supervision strategy decides about the child,
//!   │                            and about its siblings, depending on the scope
//!   ├── worker-1
//!   └── worker-2                 escalation: the parent fails in turn
//! ```

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;

use crate::kernel::actor_core::{ActorMeta, DynActor};
use crate::kernel::registry::Refused;
use crate::mailbox::Ending;
use crate::supervision::strategy::{Decision, Record, Scope};
use crate::{Directive, Error, Pid, Supervision};

/// A request from the actor's parent, siblings or children, handled between two messages.
#[derive(Debug)]
pub(crate) enum FamilyRequest {
    /// A sibling failed, and this actor restarts with it.
    Restart { failure: Error, after: Duration },
    /// A child failed and escalated the failure.
    ChildFailed { child: String, failure: Error },
}

/// The children of one actor.
#[derive(Default)]
pub(crate) struct Family(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// The actor is ending: spawning a child fails with `Stopped`.
    closed: bool,
    /// The actor is waiting for its children to end.
    stopping_children: bool,
    /// How often the actor has been restarted: a child belongs to the instance that spawned it.
    generation: u32,
    /// Boxed and lazily created: most actors have no children and no requests.
    children: Option<Box<Children>>,
}

#[derive(Default)]
struct Children {
    /// In spawn order, because ids only grow.
    by_pid: BTreeMap<Pid, Arc<dyn DynActor>>,
    names: HashMap<Arc<str>, Pid>,
    record: Record,
    requests: VecDeque<FamilyRequest>,
}

impl Family {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a child of this generation, under its name.
    pub(crate) fn add(&self, child: Arc<dyn DynActor>, generation: u32) -> Result<(), Refused> {
        let mut inner = self.lock();
        if inner.closed || inner.generation != generation {
            return Err(Refused::ParentStopped);
        }
        let Children { by_pid, names, .. } = &mut **inner.children.get_or_insert_default();
        if let Some(name) = child.meta().name() {
            match names.entry(name.clone()) {
                Entry::Occupied(_) => return Err(Refused::NameTaken),
                Entry::Vacant(free) => free.insert(child.pid()),
            };
        }
        by_pid.insert(child.pid(), child);
        Ok(())
    }

    pub(crate) fn remove(&self, pid: Pid) {
        if let Some(children) = &mut self.lock().children
            && let Some(child) = children.by_pid.remove(&pid)
            && let Some(name) = child.meta().name()
        {
            children.names.remove(name);
        }
    }

    pub(crate) fn children(&self) -> Vec<Arc<dyn DynActor>> {
        self.lock().children.iter().flat_map(|children| children.by_pid.values().cloned()).collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().children.as_ref().map_or(0, |children| children.by_pid.len())
    }

    pub(crate) fn has_children(&self) -> bool {
        self.count() > 0
    }

    pub(crate) fn child(&self, name: &str) -> Option<Arc<dyn DynActor>> {
        let inner = self.lock();
        let children = inner.children.as_ref()?;
        children.by_pid.get(children.names.get(name)?).cloned()
    }

    /// Admits no more children and no more requests. Returns whether there are children.
    pub(crate) fn close(&self) -> bool {
        let mut inner = self.lock();
        inner.closed = true;
        let Some(children) = &mut inner.children else { return false };
        let has_children = !children.by_pid.is_empty();
        let dropped = mem::take(&mut children.requests);
        drop(inner);
        // A failure is a user value: dropped outside the lock.
        drop(dropped);
        has_children
    }

    /// Whether the actor is waiting for its children to end.
    pub(crate) fn is_stopping_children(&self) -> bool {
        self.lock().stopping_children
    }

    pub(crate) fn set_stopping_children(&self, stopping_children: bool) {
        self.lock().stopping_children = stopping_children;
    }

    /// The generation of a child that is spawned now.
    pub(crate) fn generation(&self) -> u32 {
        self.lock().generation
    }

    /// The instance is lost: children that it is still spawning are refused.
    pub(crate) fn begin_generation(&self) {
        let mut inner = self.lock();
        inner.generation = inner.generation.wrapping_add(1);
    }

    fn request(&self, request: FamilyRequest) {
        let mut inner = self.lock();
        if !inner.closed {
            inner.children.get_or_insert_default().requests.push_back(request);
        }
    }

    /// Whether the family wants something.
    pub(crate) fn has_requests(&self) -> bool {
        self.lock().children.as_ref().is_some_and(|children| !children.requests.is_empty())
    }

    /// The oldest pending request.
    pub(crate) fn next_request(&self) -> Option<FamilyRequest> {
        self.lock().children.as_mut()?.requests.pop_front()
    }

    /// Prepares for a new instance. Pending requests for the previous one are discarded, and so is the
    /// restart history of its children. A killed child that never reached its host does not belong to the new
    /// instance, and its name is free.
    pub(crate) fn begin_anew(&self) {
        let settled = self.lock().children.as_mut().map(|children| {
            children.record = Record::default();
            children.names.clear();
            (mem::take(&mut children.requests), mem::take(&mut children.by_pid))
        });
        // Outside the lock, as above.
        drop(settled);
    }

    /// The pending restart caused by a sibling's failure.
    fn take_restart(&self) -> Option<FamilyRequest> {
        let mut inner = self.lock();
        let requests = &mut inner.children.as_mut()?.requests;
        let at = requests.iter().position(|request| matches!(request, FamilyRequest::Restart { .. }))?;
        requests.remove(at)
    }
}

/// Asks all to end, the youngest first.
pub(crate) fn signal_all(actors: &[Arc<dyn DynActor>], ending: Ending) {
    for actor in actors.iter().rev() {
        actor.signal(ending);
        // An actor that has not reached its host may never be polled again: not awaited.
        if !actor.meta().is_hosted() {
            actor.signal(Ending::Kill);
        }
    }
}

/// Waits for all hosted actors to end.
pub(crate) async fn all_ended(actors: &[Arc<dyn DynActor>]) {
    ended(actors.iter().filter(|actor| actor.meta().is_hosted())).await;
}

/// Waits for all of them to end.
pub(crate) async fn ended(actors: impl Iterator<Item = &Arc<dyn DynActor>>) {
    join_all(actors.map(|actor| actor.meta().ended())).await;
}

/// The supervisor of an actor: its parent, or its system for a top-level actor.
pub(crate) enum Supervisor<'a> {
    Parent(&'a dyn DynActor),
    /// With the actor itself.
    Guardian(&'a ActorMeta),
}

impl Supervisor<'_> {
    pub(crate) fn supervision(&self) -> Supervision {
        match self {
            Self::Parent(parent) => parent.supervision(),
            Self::Guardian(meta) => meta.system().supervision().clone(),
        }
    }

    /// Decides about a failed actor by the restart history of its group, and informs the affected siblings.
    ///
    /// Atomic under the lock of the group: if two actors fail at once, the second sees that it will be
    /// restarted with the first, so no actor is restarted twice.
    pub(crate) fn decide_for_group(
        &self,
        scope: Scope,
        failed: &ActorMeta,
        failure: &Error,
        directive: Directive,
        decision: impl FnOnce(&mut Record) -> Decision,
    ) -> Decision {
        let decide = |record: &mut Record, siblings: &[Arc<dyn DynActor>]| {
            if directive == Directive::Restart
                && let Some(joined @ FamilyRequest::Restart { after, .. }) = failed.family().take_restart()
            {
                return (Decision::Restart { after }, Some(joined));
            }
            let decision = decision(record);
            if let Decision::Restart { after } = decision {
                for sibling in siblings {
                    sibling
                        .meta()
                        .family()
                        .request(FamilyRequest::Restart { failure: failure.clone(), after });
                }
            }
            (decision, None)
        };
        let concerned = |sibling: &Arc<dyn DynActor>| scope.concerns(failed.pid(), sibling.pid());
        let (siblings, (decision, joined)) = match self {
            Self::Parent(parent) => {
                let mut inner = parent.meta().family().lock();
                let Children { by_pid, record, .. } = &mut **inner.children.get_or_insert_default();
                let siblings: Vec<_> = by_pid.values().filter(|child| concerned(child)).cloned().collect();
                let decided = decide(record, &siblings);
                (siblings, decided)
            }
            Self::Guardian(meta) => {
                let mut record = meta.system().record(meta.guardian());
                let mut siblings = meta.system().top_level(meta.guardian());
                siblings.retain(concerned);
                let decided = decide(&mut record, &siblings);
                (siblings, decided)
            }
        };
        if joined.is_some() {
            return decision;
        }
        let top = matches!(self, Self::Guardian(..));
        for sibling in siblings {
            match decision {
                Decision::Restart { .. } => sibling.call(),
                Decision::Stop => sibling.signal(Ending::Stop),
                // Top-level actors have no parent to decide about the siblings.
                Decision::Escalate | Decision::Exhausted if top => sibling.signal(Ending::Stop),
                Decision::Resume | Decision::Escalate | Decision::Exhausted => {}
            }
        }
        decision
    }

    /// Fails the parent because of a child. Guardians have no parent.
    pub(crate) fn escalate(&self, child: String, failure: &Error) {
        if let Self::Parent(parent) = self {
            parent.meta().family().request(FamilyRequest::ChildFailed { child, failure: failure.clone() });
            parent.call();
        }
    }
}

#[cfg(test)]
mod tests;
