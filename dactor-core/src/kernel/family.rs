//! Parents and children.
//!
//! ```text
//!          /user                 a child is in its parent's family from its birth until it has settled,
//!          │                     and holds its parent: no child outlives it unseen
//!   ┌──────┴─────┐
//!   pool         cache           failure: the supervision of the parent decides over the child,
//!   │                            and over its siblings where the scope says so
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

/// A request of the actor's parent, siblings or children, met between two messages.
#[derive(Debug)]
pub(crate) enum FamilyRequest {
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
    stopping_children: bool,
    /// How often the actor has been restarted: a child is spawned by one instance, and is not the next one's.
    generation: u32,
    /// Boxed, and made when there is anything to keep: most actors have no children and no requests.
    children: Option<Box<Children>>,
}

#[derive(Default)]
struct Children {
    /// In the order of their birth: numbers only grow.
    by_pid: BTreeMap<Pid, Arc<dyn DynActor>>,
    names: HashMap<Arc<str>, Pid>,
    record: Record,
    requests: VecDeque<FamilyRequest>,
}

impl Family {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a child of this generation in, under its name.
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

    /// Lets nobody in any more, and listens to nobody.
    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        inner.closed = true;
        let dropped = inner.children.as_mut().map(|children| mem::take(&mut children.requests));
        drop(inner);
        // A failure is a user's value: it is dropped outside the lock.
        drop(dropped);
    }

    /// Whether the actor waits for the end of its children.
    pub(crate) fn is_stopping_children(&self) -> bool {
        self.lock().stopping_children
    }

    pub(crate) fn set_stopping_children(&self, stopping_children: bool) {
        self.lock().stopping_children = stopping_children;
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

    /// What the family has wanted longest.
    pub(crate) fn next_request(&self) -> Option<FamilyRequest> {
        self.lock().children.as_mut()?.requests.pop_front()
    }

    /// A new instance is about to begin. What the family wanted of the one before is settled by that, and the restarts of
    /// the children that one had do not count any more. A child of it that has not got to its host yet, and was killed,
    /// is none of the new one's, and its name is free.
    pub(crate) fn begin_anew(&self) {
        let settled = self.lock().children.as_mut().map(|children| {
            children.record = Record::default();
            children.names.clear();
            (mem::take(&mut children.requests), mem::take(&mut children.by_pid))
        });
        // Outside the lock, as above.
        drop(settled);
    }

    /// The restart that a sibling's failure has in store for this actor.
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
        // One that has not got to its host yet may never be polled again: nobody waits for it.
        if !actor.meta().is_hosted() {
            actor.signal(Ending::Kill);
        }
    }
}

/// Waits for the end of all that live in their hosts.
pub(crate) async fn all_ended(actors: &[Arc<dyn DynActor>]) {
    ended(actors.iter().filter(|actor| actor.meta().is_hosted())).await;
}

/// Waits for the end of all of them.
pub(crate) async fn ended(actors: impl Iterator<Item = &Arc<dyn DynActor>>) {
    join_all(actors.map(|actor| actor.meta().ended())).await;
}

/// Who supervises an actor: its parent, or its system for one at the top.
pub(crate) enum Supervisor<'a> {
    Parent(&'a dyn DynActor),
    /// Of this actor.
    Guardian(&'a ActorMeta),
}

impl Supervisor<'_> {
    pub(crate) fn supervision(&self) -> Supervision {
        match self {
            Self::Parent(parent) => parent.supervision(),
            Self::Guardian(meta) => meta.system().supervision().clone(),
        }
    }

    /// Decides over a failed actor by the record of its group, and tells the siblings that the decision concerns.
    ///
    /// It is one step, under the lock of the group: of two that fail at once the second finds that it is to be restarted
    /// with the first, and no actor is restarted twice.
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
                // There is no parent that would decide over the others.
                Decision::Escalate | Decision::Exhausted if top => sibling.signal(Ending::Stop),
                Decision::Resume | Decision::Escalate | Decision::Exhausted => {}
            }
        }
        decision
    }

    /// Fails the parent over a child. There is nobody above a guardian.
    pub(crate) fn escalate(&self, child: String, failure: &Error) {
        if let Self::Parent(parent) = self {
            parent.meta().family().request(FamilyRequest::ChildFailed { child, failure: failure.clone() });
            parent.call();
        }
    }
}

#[cfg(test)]
mod tests;
