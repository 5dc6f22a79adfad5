//! The blocked actors, and the cycles among them.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::sync::Arc;
use std::task::Waker;

use crate::base::pid::PidHasher;
use crate::delivery::ask_state::Asker;
use crate::{Error, ErrorKind, Pid, System};

/// The ask that fails on its next poll.
pub(super) struct Failing {
    pub(super) ask: Arc<dyn Asker>,
    pub(super) error: Error,
}

/// What a blocked actor waits for.
pub(super) struct Wait {
    pub(super) actor: Pid,
    /// The ask, or `None` for the start of a child.
    pub(super) ask: Option<Arc<dyn Asker>>,
}

impl Wait {
    /// The actor that has the message now: for a virtual actor its activation, which the asker did not know.
    pub(super) fn actor(&self) -> Pid {
        self.ask.as_ref().and_then(|ask| ask.held_by()).unwrap_or(self.actor)
    }
}

pub(super) struct Blocked {
    pub(super) system: System,
    pub(super) waits: Vec<Wait>,
    /// Its code is reads, which others can join.
    pub(super) reads: bool,
    /// Wakes the actor when one of its asks has to fail.
    pub(super) waker: Waker,
    pub(super) failing: Option<Failing>,
}

pub(super) type Table = HashMap<Pid, Blocked, PidHasher>;

/// The path from an actor back to itself, if it and all actors it waits for are blocked.
pub(super) fn cycle(table: &Table, first: Pid) -> Option<Vec<Pid>> {
    let mut found = None;
    // Maps each actor to the one that waits for it.
    let mut seen: HashMap<Pid, Pid, PidHasher> = HashMap::default();
    let mut next = vec![first];
    while let Some(pid) = next.pop() {
        let entry = table.get(&pid)?;
        if entry.failing.is_some() {
            return None;
        }
        for wait in &entry.waits {
            if wait.ask.as_ref().is_some_and(|ask| !ask.is_held_up()) {
                return None;
            }
            let joins = |ask: &Arc<dyn Asker>| ask.interleaves() && ask.is_unclaimed();
            if wait.ask.as_ref().is_some_and(joins) && table.get(&wait.actor())?.reads {
                return None;
            }
            let actor = wait.actor();
            if actor == first {
                found.get_or_insert(pid);
            } else if let Slot::Vacant(unseen) = seen.entry(actor) {
                unseen.insert(pid);
                next.push(actor);
            }
        }
    }
    let mut way = vec![found?];
    while let Some(waits) = way.last().filter(|pid| **pid != first).and_then(|pid| seen.get(pid)) {
        way.push(*waits);
    }
    way.reverse();
    Some(way)
}

/// The ask that fails to break a cycle: its asker, its reply, and the actors of the cycle from the asker on.
pub(super) type Victim = (Pid, Arc<dyn Asker>, Vec<(Pid, System)>);

/// Chooses the ask to fail: the first, from the actor that closed the cycle, whose message has not reached a
/// handler, or else the first.
pub(super) fn victim(table: &Table, cycle: &[Pid]) -> Option<Victim> {
    let asks = || {
        (0..cycle.len()).filter_map(|index| {
            let next = cycle[(index + 1) % cycle.len()];
            let wait = table.get(&cycle[index])?.waits.iter().find(|wait| wait.actor() == next)?;
            Some((index, wait.ask.clone()?))
        })
    };
    let (index, ask) = asks().find(|(_, ask)| ask.is_unclaimed()).or_else(|| asks().next())?;
    let from = cycle[index..].iter().chain(&cycle[..index]);
    let actors = from.filter_map(|pid| Some((*pid, table.get(pid)?.system.clone()))).collect();
    Some((cycle[index], ask, actors))
}

/// Lists the actors in waiting order, with the first repeated at the end.
pub(super) fn error(actors: &[(Pid, System)]) -> Error {
    let label = |(pid, system): &(Pid, System)| match system.registry().by_number(*pid) {
        Some(actor) => actor.label(),
        None => format!("the actor {pid}"),
    };
    let labels: Vec<_> = actors.iter().chain(actors.first()).map(label).collect();
    Error::new(ErrorKind::AskCycle).with("cycle", labels.join(" → "))
}
