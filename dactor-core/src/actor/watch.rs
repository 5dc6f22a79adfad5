//! Who wants to know when an actor ends.
//!
//! A watch is in two places: at the target, which tells its watchers when it ends, and at the watcher, whose list
//! decides whether a notice that arrives is still wanted. Each place is behind its own actor's lock; nothing is global.

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

/// An actor that this one [watches](crate::Context::watch) has ended.
///
/// Two are equal when they tell of the same actor. It comes once, behind everything that the other actor sent to this one, and takes no room in the mailbox.
#[derive(Clone)]
pub struct Terminated {
    who: Arc<dyn Labelled>,
    reason: StopReason,
}

impl Terminated {
    /// Which incarnation at its path the actor was that has ended: [`uid`](crate::ActorRef::uid) of its refs.
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

    /// The same as a text, without its UID.
    pub fn label(&self) -> String {
        self.who.label()
    }

    /// Whether it is this one.
    pub fn is(&self, actor: &(impl Watchable + ?Sized)) -> bool {
        is_same_actor(&*self.who, &**actor.to_any().erased())
    }

    /// How it ended.
    pub fn reason(&self) -> &StopReason {
        &self.reason
    }
}

/// The end of the same actor: it ends once.
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
        // A watcher that ends needs no notice.
        let _ = self.notify(TerminatedNotice::envelope(terminated, watch));
    }
}

/// Those whom one actor watches. When it is gone, it leaves nothing behind at its targets.
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

    /// Begins to watch. Watching twice is watching once.
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

    /// Ends a watch: a notice that is on its way is not wanted any more.
    pub(crate) fn end(&mut self, who: Pid) -> bool {
        let Some(target) = self.targets.remove(&who) else { return false };
        target.actor.actor().meta().watchers().remove(self.watcher);
        true
    }

    /// Ends the watches of the watcher's own children.
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
            target.actor.actor().meta().watchers().remove(self.watcher);
        }
    }
}

#[cfg(test)]
mod tests;
