//! Each watch gets one notice with the right reason, after all messages of the watched actor.

use std::collections::BTreeMap;

use super::Model;
use crate::random::history::{HookKind, HookMoment, Observation, Reason, Sender};
use crate::random::program::SendMethod;

pub(super) fn check(model: &Model<'_>) -> Option<String> {
    let mut watches: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let mut ends: BTreeMap<usize, (usize, Reason)> = BTreeMap::new();
    let mut told: BTreeMap<usize, usize> = BTreeMap::new();
    for (at, what) in model.observations() {
        match *what {
            Observation::Watch { by, target } => {
                watches.entry((by, target)).or_insert(at);
            }
            Observation::Unwatch { by, target, was } => {
                let watched = watches.remove(&(by, target)).is_some();
                if watched != was {
                    return Some(format!("`unwatch` of a{target} by a{by} returned {was}"));
                }
            }
            Observation::Hook { actor, which: HookKind::Restart, moment: HookMoment::Begin, .. } => {
                watches.retain(|(by, target), _| *by != actor || model.parents.get(target) != Some(by));
            }
            Observation::Signal { to, .. } => {
                told.entry(to).or_insert(at);
            }
            Observation::Stopped { actor, reason } => {
                ends.insert(actor, (at, reason));
                if let Some(wrong) = missed(model, &watches, &ends, &told, actor) {
                    return Some(wrong);
                }
                watches.retain(|(by, _), _| *by != actor);
            }
            Observation::Terminated { by, target, reason, settled } => {
                if watches.remove(&(by, target)).is_none() {
                    return Some(format!("a{by} got a `Terminated` of a{target}, which it does not watch"));
                }
                if !settled {
                    return Some(format!("a{by} got a `Terminated` of a{target}, which is alive"));
                }
                if ends.get(&target).is_some_and(|(_, real)| *real != reason) {
                    return Some(format!(
                        "a{by} got a `Terminated` of a{target} with the wrong reason {reason:?}"
                    ));
                }
                if let Some(wrong) = overtaken(model, by, target, at) {
                    return Some(wrong);
                }
            }
            Observation::Final { actor, reason } => {
                let real = ends.get(&actor).map(|(_, reason)| *reason);
                if reason.is_none() || (real.is_some() && reason != real) {
                    return Some(format!("a{actor} ended as {real:?}, and `stop_reason` is {reason:?}"));
                }
            }
            _ => {}
        }
    }
    None
}

/// A drained watcher has handled all notices that arrived before it was told to drain.
fn missed(
    model: &Model<'_>,
    watches: &BTreeMap<(usize, usize), usize>,
    ends: &BTreeMap<usize, (usize, Reason)>,
    told: &BTreeMap<usize, usize>,
    watcher: usize,
) -> Option<String> {
    let drained = ends.get(&watcher).is_some_and(|(_, reason)| *reason == Reason::Drained);
    let told = model.ancestry(watcher).filter_map(|actor| told.get(&actor)).min();
    let shutdown =
        model.observations().find(|(_, what)| matches!(what, Observation::Shutdown)).map(|(at, _)| at);
    let until = told.copied().into_iter().chain(shutdown).min()?;
    let refuses = model.specs.get(&watcher).is_some_and(|spec| spec.inbound.is_some());
    if !drained || refuses || !model.is_exact() {
        return None;
    }
    let mine = watches.iter().filter(|((by, _), _)| *by == watcher);
    mine.into_iter().find_map(|((_, target), since)| {
        let (ended, _) = ends.get(target)?;
        (ended.max(since) < &until).then(|| format!("a{watcher} got no `Terminated` of a{target}"))
    })
}

/// The notice comes after all messages of the watched actor.
fn overtaken(model: &Model<'_>, by: usize, target: usize, at: usize) -> Option<String> {
    let told = |how| matches!(how, SendMethod::Tell | SendMethod::TryTell | SendMethod::Send);
    let late = model.records.values().find(|record| {
        let from = matches!(record.by, Sender::Actor(actor) | Sender::Read(actor) | Sender::Hook(actor) if actor == target);
        let accepted = record.accepted().is_some_and(|sent| sent < at);
        from && record.to == by && told(record.how) && accepted && record.gone() > at
    });
    late.map(|record| format!("a{by} got the `Terminated` of a{target} before it handled {}", record.text()))
}
