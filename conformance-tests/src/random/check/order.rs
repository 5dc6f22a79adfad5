//! The order of messages: FIFO per sender and lane, higher lanes first, unstashed messages before queued ones.

use std::collections::BTreeMap;

use super::{MessageRecord, Model};
use crate::random::history::{HandlerEnd, HookKind, HookMoment, Observation, Sender};
use crate::random::program::{Lane, OverflowPolicy, SendMethod, Sharing};

pub(super) fn check(model: &Model<'_>) -> Option<String> {
    fifo(model).or_else(
        || {
            if model.is_exact() { lanes(model).or_else(|| unstashed_first(model)) } else { None }
        },
    )
}

/// Messages of one sender in one lane are handled in the order of sending.
fn fifo(model: &Model<'_>) -> Option<String> {
    let mut last: BTreeMap<(Sender, usize, Lane), &MessageRecord> = BTreeMap::new();
    for record in model.records.values() {
        let ordered = matches!(
            record.how,
            SendMethod::Tell | SendMethod::TryTell | SendMethod::Send | SendMethod::Enqueue
        );
        let unordered = matches!(record.by, Sender::Task | Sender::Read(_));
        // An interceptor that delays a read holds up no other read.
        let inbound = model.specs.get(&record.to).is_some_and(|spec| spec.inbound.is_some());
        let delayed = record.sharing == Sharing::Read && inbound;
        if !ordered || unordered || delayed || record.sharing == Sharing::Interleaved {
            continue;
        }
        let Some(first) = record.begins.first() else { continue };
        let key = (record.by, record.to, record.lane);
        if let Some(before) = last.get(&key)
            && before.begins.first() > Some(first)
        {
            return Some(format!(
                "{} was handled before {}, which was sent earlier",
                record.text(),
                before.text()
            ));
        }
        last.insert(key, record);
    }
    None
}

/// Whether the message is certainly in the mailbox.
fn surely_waits(model: &Model<'_>, record: &MessageRecord, at: usize) -> bool {
    let blocks = model.specs.get(&record.to).and_then(|spec| spec.bounded);
    let in_line = blocks.is_some_and(|(_, full)| full == OverflowPolicy::Block) && record.is_ask();
    let counts =
        matches!(record.how, SendMethod::Tell | SendMethod::TryTell | SendMethod::Enqueue) && !in_line;
    counts && record.accepted().is_some_and(|accepted| accepted < at) && record.gone() > at
}

/// While a higher lane has messages, a lower lane gets one of eight turns: never two in a row.
fn lanes(model: &Model<'_>) -> Option<String> {
    let mut passed: BTreeMap<usize, (Lane, u64)> = BTreeMap::new();
    for (at, what) in model.observations() {
        let Observation::Begin { id, actor, .. } = what else {
            if let Observation::Terminated { by, .. } = what {
                passed.remove(by);
            }
            continue;
        };
        let Some(record) = model.records.get(id) else { continue };
        if record.sharing == Sharing::Interleaved {
            continue;
        }
        let withdrawn = |other: &MessageRecord| other.to == *actor && other.given_up().is_some();
        let higher = model
            .records
            .values()
            .find(|other| other.to == *actor && other.lane > record.lane && surely_waits(model, other, at));
        let inbound = model.specs.get(actor).is_some_and(|spec| spec.inbound.is_some());
        let Some(higher) = higher.filter(|_| !inbound && !model.records.values().any(withdrawn)) else {
            passed.remove(actor);
            continue;
        };
        if let Some((lane, before)) = passed.insert(*actor, (record.lane, *id))
            && lane == record.lane
        {
            let text = "were handled in a row while a message of a higher lane waited";
            return Some(format!("#{before} and {} {text}: {}", record.text(), higher.text()));
        }
    }
    None
}

/// Whether the actor has skipped the ask because its time limit passed at this very instant: at an instant of the
/// simulated clock the actor may run before the asker, which notes the `Timeout` later. A skipped ask is never handled.
fn skipped(model: &Model<'_>, ask: &MessageRecord, at: usize) -> bool {
    ask.given_up().is_some_and(|gone| model.at(gone) == model.at(at))
        && ask.begins.last().is_none_or(|begun| *begun < at)
}

/// Unstashed messages precede the other messages of their lane.
fn unstashed_first(model: &Model<'_>) -> Option<String> {
    let mut held: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    let mut released: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for (at, what) in model.observations() {
        match *what {
            Observation::End { id, actor, how: HandlerEnd::Stashed } => {
                held.entry(actor).or_default().push(id)
            }
            // A restart puts the stash back.
            Observation::Unstash { actor }
            | Observation::Hook { actor, which: HookKind::Restart, moment: HookMoment::Done, .. } => {
                let back = held.remove(&actor).unwrap_or_default();
                released.entry(actor).or_default().extend(back);
            }
            Observation::Begin { id, actor, .. } => {
                let waiting = released.entry(actor).or_default();
                if let Some(place) = waiting.iter().position(|other| *other == id) {
                    waiting.remove(place);
                    continue;
                }
                let Some(record) = model.records.get(&id) else { continue };
                if record.sharing == Sharing::Interleaved {
                    continue;
                }
                // An interceptor may have refused the message in front.
                let inbound = model.specs.get(&actor).is_some_and(|spec| spec.inbound.is_some());
                let notice = inbound
                    || matches!(
                        record.how,
                        SendMethod::Timer | SendMethod::Item | SendMethod::Pipe | SendMethod::Forward
                    );
                let passed_over = waiting
                    .iter()
                    .filter_map(|id| model.records.get(id))
                    .filter(|other| other.lane == record.lane && other.gone_from_stash() > at)
                    .find(|other| !skipped(model, other, at));
                if let Some(other) = passed_over.filter(|_| !notice) {
                    return Some(format!(
                        "{} was handled before {}, which was unstashed",
                        record.text(),
                        other.text()
                    ));
                }
            }
            _ => {}
        }
    }
    None
}
