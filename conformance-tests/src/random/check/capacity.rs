//! Live messages never exceed the capacity, and no message is refused below it.

use dactor_core::ErrorKind;

use super::{MessageRecord, Model};
use crate::random::history::{HandlerEnd, HookKind, Observation};
use crate::random::program::{SendMethod, Sharing};

pub(super) fn check(model: &Model<'_>) -> Option<String> {
    model.specs.keys().find_map(|actor| {
        let to: Vec<&MessageRecord> = model.records.values().filter(|record| record.to == *actor).collect();
        exceeded(model, *actor, &to)
            .or_else(|| refused(model, *actor, &to))
            .or_else(|| stash(model, *actor, &to))
    })
}

fn takes_room(record: &MessageRecord) -> bool {
    !matches!(record.how, SendMethod::Timer | SendMethod::Item)
}

fn exceeded(model: &Model<'_>, actor: usize, records: &[&MessageRecord]) -> Option<String> {
    let (capacity, _) = model.specs.get(&actor)?.bounded?;
    // The current message is recorded shortly after it was taken from the mailbox.
    // A write that waits for reads has been taken, too.
    let reads = records.iter().any(|record| record.sharing != Sharing::Exclusive);
    let exact = model.is_exact() && model.specs[&actor].inbound.is_none() && !reads;
    let most = if exact { capacity } else { capacity + 1 };
    records.iter().find_map(|record| {
        let at =
            record.accepted().filter(|_| matches!(record.how, SendMethod::Tell | SendMethod::TryTell))?;
        let told = records.iter().filter(|other| matches!(other.how, SendMethod::Tell | SendMethod::TryTell));
        let waiting =
            told.filter(|other| other.accepted().is_some_and(|sent| sent <= at) && other.gone() > at);
        let waiting = waiting.count();
        (waiting > most).then(|| {
            format!("{waiting} messages wait in a mailbox of capacity {capacity}: {}", record.text())
        })
    })
}

/// Upper limit of the messages that waited when this one was refused.
fn possibly_waiting(
    model: &Model<'_>,
    records: &[&MessageRecord],
    refused: &MessageRecord,
    at: usize,
) -> usize {
    let since = if model.is_exact() { at } else { refused.send };
    let others = records.iter().filter(|other| other.id != refused.id && takes_room(other));
    others.filter(|other| other.send < at && other.gone() > since).count()
}

fn refused(model: &Model<'_>, actor: usize, records: &[&MessageRecord]) -> Option<String> {
    let spec = model.specs.get(&actor)?;
    records.iter().find_map(|record| {
        let dead = record.dead.iter().copied();
        let refusals = dead.chain(record.sent.and_then(|(at, error)| Some((at, error?)))).chain(
            record
                .answer
                .and_then(|(at, reply)| Some((at, reply.err()?)))
                .filter(|_| record.begins.is_empty()),
        );
        let mut refusals: Vec<(usize, ErrorKind)> = refusals.collect();
        refusals.sort_by_key(|(at, _)| *at);
        let (at, kind) = refusals.first().copied()?;
        let evicted = record.accepted().is_some_and(|accepted| accepted < at);
        if !model.is_exact() && evicted {
            return None;
        }
        let limit = match kind {
            ErrorKind::MailboxFull => spec.bounded.map(|(capacity, _)| capacity),
            ErrorKind::Overloaded => spec.shed,
            _ => None,
        }?;
        let waiting = possibly_waiting(model, records, record, at);
        (waiting < limit).then(|| {
            format!(
                "{} was refused ({kind:?}) by a mailbox of capacity {limit} that held {waiting}",
                record.text()
            )
        })
    })
}

/// The stash is full only when as many live messages are in it. Unstashed messages take room until the next message.
fn stash(model: &Model<'_>, actor: usize, records: &[&MessageRecord]) -> Option<String> {
    let capacity = model.specs.get(&actor)?.stash.unwrap_or(1000);
    let (mut held, mut returning): (Vec<&MessageRecord>, Vec<&MessageRecord>) = Default::default();
    let live = |all: &[&MessageRecord], at| all.iter().filter(|record| record.gone_from_stash() > at).count();
    for (at, what) in model.observations() {
        match *what {
            Observation::Unstash { actor: of } if of == actor => returning.append(&mut held),
            Observation::Hook { actor: of, which: HookKind::Restart, .. } if of == actor => {
                returning.append(&mut held)
            }
            Observation::Begin { actor: of, .. } if of == actor => returning.clear(),
            Observation::End { id, actor: of, how: HandlerEnd::Stashed } if of == actor => {
                held.extend(records.iter().find(|record| record.id == id));
                let live = live(&held, at);
                if live > capacity {
                    return Some(format!("a{actor} has stashed {live} messages; its capacity is {capacity}"));
                }
            }
            Observation::End { actor: of, how: HandlerEnd::StashFull, .. } if of == actor => {
                let live = live(&held, at) + live(&returning, at);
                if live < capacity {
                    return Some(format!("a{actor} could not stash with {live} of {capacity} in its stash"));
                }
            }
            _ => {}
        }
    }
    None
}

impl MessageRecord {
    /// When a stashed message has left the stash without being handled.
    pub(super) fn gone_from_stash(&self) -> usize {
        let dead = self.dead.first().map(|(at, _)| *at);
        [self.given_up(), dead].into_iter().flatten().min().unwrap_or(usize::MAX)
    }
}
