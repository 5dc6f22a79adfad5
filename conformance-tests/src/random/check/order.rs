//! The order of messages: that of each sender in each lane, higher lanes first, and stashed messages in front.

use std::collections::BTreeMap;

use super::{Letter, Model};
use crate::random::history::{Ended, Moment, What, Which, Who};
use crate::random::program::{Full, How, Lane};

pub(super) fn check(model: &Model<'_>) -> Option<String> {
    fifo(model).or_else(
        || {
            if model.is_exact() { lanes(model).or_else(|| unstashed_first(model)) } else { None }
        },
    )
}

/// Of one sender's messages in one lane, the earlier is handled first.
fn fifo(model: &Model<'_>) -> Option<String> {
    let mut last: BTreeMap<(Who, usize, Lane), &Letter> = BTreeMap::new();
    for letter in model.letters.values() {
        let ordered = matches!(letter.how, How::Tell | How::TryTell | How::Send | How::Enqueue);
        if !ordered || letter.by == Who::Task {
            continue;
        }
        let Some(first) = letter.begins.first() else { continue };
        let key = (letter.by, letter.to, letter.lane);
        if let Some(before) = last.get(&key)
            && before.begins.first() > Some(first)
        {
            return Some(format!(
                "{} was handled before {}, which was sent earlier",
                letter.text(),
                before.text()
            ));
        }
        last.insert(key, letter);
    }
    None
}

/// What waits in the mailbox of one actor, as far as it is certain.
fn surely_waits(model: &Model<'_>, letter: &Letter, at: usize) -> bool {
    let blocks = model.specs.get(&letter.to).and_then(|spec| spec.bounded);
    let in_line = blocks.is_some_and(|(_, full)| full == Full::Block) && letter.is_ask();
    let counts = matches!(letter.how, How::Tell | How::TryTell | How::Enqueue) && !in_line;
    counts && letter.accepted().is_some_and(|accepted| accepted < at) && letter.gone() > at
}

/// A lower lane gets one turn of eight while a higher one waits: two in a row are too many.
fn lanes(model: &Model<'_>) -> Option<String> {
    let mut passed: BTreeMap<usize, (Lane, u64)> = BTreeMap::new();
    for (at, what) in model.places() {
        let What::Begin { id, actor, .. } = what else {
            if let What::Terminated { by, .. } = what {
                passed.remove(by);
            }
            continue;
        };
        let Some(letter) = model.letters.get(id) else { continue };
        let withdrawn = |other: &Letter| other.to == *actor && other.given_up().is_some();
        let higher = model
            .letters
            .values()
            .find(|other| other.to == *actor && other.lane > letter.lane && surely_waits(model, other, at));
        let inbound = model.specs.get(actor).is_some_and(|spec| spec.inbound.is_some());
        let Some(higher) = higher.filter(|_| !inbound && !model.letters.values().any(withdrawn)) else {
            passed.remove(actor);
            continue;
        };
        if let Some((lane, before)) = passed.insert(*actor, (letter.lane, *id))
            && lane == letter.lane
        {
            let text = "were handled one after the other while a higher message waited";
            return Some(format!("#{before} and {} {text}: {}", letter.text(), higher.text()));
        }
    }
    None
}

/// What was unstashed comes before the rest of its lane.
fn unstashed_first(model: &Model<'_>) -> Option<String> {
    let mut held: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    let mut released: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for (at, what) in model.places() {
        match *what {
            What::End { id, actor, how: Ended::Stashed } => held.entry(actor).or_default().push(id),
            // A restart puts the stash back.
            What::Unstash { actor }
            | What::Hook { actor, which: Which::Restart, moment: Moment::Done, .. } => {
                let back = held.remove(&actor).unwrap_or_default();
                released.entry(actor).or_default().extend(back);
            }
            What::Begin { id, actor, .. } => {
                let waiting = released.entry(actor).or_default();
                if let Some(place) = waiting.iter().position(|other| *other == id) {
                    waiting.remove(place);
                    continue;
                }
                let Some(letter) = model.letters.get(&id) else { continue };
                // An interceptor may have refused what was in front.
                let inbound = model.specs.get(&actor).is_some_and(|spec| spec.inbound.is_some());
                let notice =
                    inbound || matches!(letter.how, How::Timer | How::Item | How::Pipe | How::Forward);
                let passed_over = waiting
                    .iter()
                    .filter_map(|id| model.letters.get(id))
                    .find(|other| other.lane == letter.lane && other.gone_from_stash() > at);
                if let Some(other) = passed_over.filter(|_| !notice) {
                    return Some(format!(
                        "{} was handled before {}, which was unstashed",
                        letter.text(),
                        other.text()
                    ));
                }
            }
            _ => {}
        }
    }
    None
}
