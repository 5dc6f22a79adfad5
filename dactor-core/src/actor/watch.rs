//! Death watch: which actors are notified when an actor ends.
//!
//! A watch has two entries: one at the target, which notifies its watchers when it ends, and one at the
//! watcher, which decides whether an arriving notice is still wanted. Each entry is behind its own actor's
//! lock; there is no global table.

mod notice;
mod request;

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::mem;
use std::sync::Arc;

use self::notice::TerminatedNotice;
pub(crate) use self::request::WatchRequest;
use crate::base::label::{Labelled, hash_actor, is_same_actor};
use crate::kernel::actor_core::{ActorCore, Observed};
use crate::kernel::watchers::{Watch, Watcher};
use crate::path::ActorUid;
use crate::{ActorPath, Handler, Message, Pid, StopReason, Watchable};

/// The notice that a [watched](crate::Context::watch) actor has ended.
///
/// Two notices are equal when they are about the same actor. It is delivered once, after all messages that
/// the other actor sent to this one, and needs no room in the mailbox.
#[derive(Clone)]
pub struct Terminated {
    who: Arc<dyn Labelled>,
    reason: StopReason,
}

impl Terminated {
    /// The [`uid`](crate::ActorRef::uid) of the actor that has ended: its incarnation at its path.
    pub fn uid(&self) -> ActorUid {
        self.who.uid()
    }

    pub(crate) fn pid(&self) -> Pid {
        self.who.pid()
    }

    /// The path of the actor that has ended.
    pub fn path(&self) -> ActorPath {
        self.who.path()
    }

    /// The path as text, without the UID.
    pub fn label(&self) -> String {
        self.who.label()
    }

    /// Whether the notice is about this actor.
    pub fn is(&self, actor: &(impl Watchable + ?Sized)) -> bool {
        is_same_actor(&*self.who, &**actor.to_any().erased())
    }

    /// Why it ended.
    pub fn reason(&self) -> &StopReason {
        &self.reason
    }
}

/// An actor ends once, so comparing actors is enough.
impl PartialEq for Terminated {
    fn eq(&self, other: &Self) -> bool {
        is_same_actor(&*self.who, &*other.who)
    }
}

impl Eq for Terminated {}

impl Hash for Terminated {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_actor(&*self.who, state);
    }
}

impl Message for Terminated {
    type Reply = ();
    type Access = crate::Exclusive;

    fn describe(&self) -> Option<String> {
        Some(format!("{self:?}"))
    }
}

impl fmt::Debug for Terminated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminated").field("who", &self.label()).field("reason", &self.reason).finish()
    }
}

impl<A: Handler<Terminated>> Watcher for ActorCore<A> {
    fn notice(&self, who: Arc<dyn Labelled>, reason: StopReason, watch: u64) {
        let terminated = Terminated { who, reason };
        // An ending watcher needs no notice.
        let _ = self.notify(TerminatedNotice::envelope(terminated, watch));
    }
}

/// The actors that one actor watches. On drop it removes its entries at the targets.
pub(crate) struct Watching {
    watcher: Pid,
    last: u64,
    targets: BTreeMap<Pid, Target>,
}

struct Target {
    actor: Observed,
    number: u64,
}

impl Watching {
    pub(crate) fn new(watcher: Pid) -> Self {
        Self { watcher, last: 0, targets: BTreeMap::new() }
    }

    /// Adds a watch. Idempotent.
    pub(crate) fn begin<A: Handler<Terminated>>(&mut self, watcher: Arc<ActorCore<A>>, observed: Observed) {
        let target = observed.actor().clone();
        let who = target.pid();
        if self.targets.contains_key(&who) {
            return;
        }
        self.last += 1;
        let number = self.last;
        let watch = Watch { watcher: watcher.clone(), number };
        self.targets.insert(who, Target { actor: observed, number });
        if !target.meta().watchers().add(self.watcher, watch)
            && let Some(reason) = target.meta().stop_reason().cloned()
        {
            watcher.notice(target.into_labelled(), reason, number);
        }
    }

    /// Removes a watch: a notice already on its way is ignored.
    pub(crate) fn end(&mut self, who: Pid) -> bool {
        let Some(target) = self.targets.remove(&who) else { return false };
        target.actor.actor().meta().watchers().remove(self.watcher);
        true
    }

    /// Removes the watches on the watcher's own children.
    pub(crate) fn end_children(&mut self) {
        let watcher = self.watcher;
        self.targets.retain(|_, Target { actor, .. }| {
            let actor = actor.actor();
            let is_child = actor.meta().parent().is_some_and(|parent| parent.pid() == watcher);
            if is_child {
                actor.meta().watchers().remove(watcher);
            }
            !is_child
        });
    }

    /// Whether the notice of a watch is still wanted: at most once.
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
            target.actor.actor().meta().watchers().remove(self.watcher);
        }
    }
}

#[cfg(test)]
mod tests;
