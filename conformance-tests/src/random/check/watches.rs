//! Exactly one notice for each watch, behind all that the other actor sent, with the true reason.

use std::collections::BTreeMap;

use super::Model;
use crate::random::history::{Moment, Reason, What, Which, Who};
use crate::random::program::How;

pub(super) fn check(model: &Model<'_>) -> Option<String> {
    let mut watches: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let mut ends: BTreeMap<usize, (usize, Reason)> = BTreeMap::new();
    let mut told: BTreeMap<usize, usize> = BTreeMap::new();
    for (at, what) in model.places() {
        match *what {
            What::Watch { by, target } => {
                watches.entry((by, target)).or_insert(at);
            }
            What::Unwatch { by, target, was } => {
                let watched = watches.remove(&(by, target)).is_some();
                if watched != was {
                    return Some(format!("a{by} gave up its watch of a{target}, and was told {was}"));
                }
            }
            What::Hook { actor, which: Which::Restart, moment: Moment::Begin, .. } => {
                watches.retain(|(by, target), _| *by != actor || model.parents.get(target) != Some(by));
            }
            What::Signal { to, .. } => {
                told.entry(to).or_insert(at);
            }
            What::Stopped { actor, reason } => {
                ends.insert(actor, (at, reason));
                if let Some(wrong) = missed(model, &watches, &ends, &told, actor) {
                    return Some(wrong);
                }
                watches.retain(|(by, _), _| *by != actor);
            }
            What::Terminated { by, target, reason, settled } => {
                if watches.remove(&(by, target)).is_none() {
                    return Some(format!("a{by} is told of the end of a{target}, which it does not watch"));
                }
                if !settled {
                    return Some(format!("a{by} is told of the end of a{target}, which is alive"));
                }
                if ends.get(&target).is_some_and(|(_, real)| *real != reason) {
                    return Some(format!("a{by} is told that a{target} ended as {reason:?}"));
                }
                if let Some(wrong) = overtaken(model, by, target, at) {
                    return Some(wrong);
                }
            }
            What::Final { actor, reason } => {
                let real = ends.get(&actor).map(|(_, reason)| *reason);
                // In real time a shutdown may return while an actor that it found no more is about to say how it ended.
                let about_to = reason.is_none() && !model.is_exact();
                if (reason.is_none() && !about_to) || (real.is_some() && reason != real) {
                    return Some(format!("a{actor} ended as {real:?}, and `stop_reason` is {reason:?}"));
                }
            }
            _ => {}
        }
    }
    None
}

/// A watcher that drained has handled all notices that came before it was told to.
fn missed(
    model: &Model<'_>,
    watches: &BTreeMap<(usize, usize), usize>,
    ends: &BTreeMap<usize, (usize, Reason)>,
    told: &BTreeMap<usize, usize>,
    watcher: usize,
) -> Option<String> {
    let drained = ends.get(&watcher).is_some_and(|(_, reason)| *reason == Reason::Drained);
    let told = model.line(watcher).filter_map(|actor| told.get(&actor)).min();
    let shutdown = model.places().find(|(_, what)| matches!(what, What::Shutdown)).map(|(at, _)| at);
    let until = told.copied().into_iter().chain(shutdown).min()?;
    let refuses = model.specs.get(&watcher).is_some_and(|spec| spec.inbound.is_some());
    if !drained || refuses || !model.is_exact() {
        return None;
    }
    let mine = watches.iter().filter(|((by, _), _)| *by == watcher);
    mine.into_iter().find_map(|((_, target), since)| {
        let (ended, _) = ends.get(target)?;
        (ended.max(since) < &until).then(|| format!("a{watcher} was not told of the end of a{target}"))
    })
}

/// The notice comes behind all that the other actor sent.
fn overtaken(model: &Model<'_>, by: usize, target: usize, at: usize) -> Option<String> {
    let told = |how| matches!(how, How::Tell | How::TryTell | How::Send);
    let late = model.letters.values().find(|letter| {
        let from = matches!(letter.by, Who::Actor(actor) | Who::Hook(actor) if actor == target);
        let accepted = letter.accepted().is_some_and(|sent| sent < at);
        from && letter.to == by && told(letter.how) && accepted && letter.gone() > at
    });
    late.map(|letter| format!("a{by} is told of the end of a{target} before it handled {}", letter.text()))
}
