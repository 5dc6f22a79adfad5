//! Each message is handled once or reported once, and each ask gets one answer that matches the history.

use dactor_core::ErrorKind;

use super::{MessageRecord, Model};
use crate::random::history::{HandlerEnd, Observation, Sender};
use crate::random::program::{OverflowPolicy, SendMethod};

pub(super) fn check(model: &Model<'_>) -> Option<String> {
    let whole = |record: &MessageRecord| at_most_once(model, record).or_else(|| accounted(model, record));
    let asked = |record: &MessageRecord| answered(model, record).or_else(|| withdrawn(model, record));
    let mut records = model.records.values();
    records.find_map(|record| whole(record).or_else(|| asked(record))).or_else(|| unheard(model))
}

fn at_most_once(model: &Model<'_>, record: &MessageRecord) -> Option<String> {
    let (handled, dead) = (record.handled(), record.dead.len());
    if handled + dead > 1 {
        return Some(format!(
            "{} was handled {handled} times and is a dead letter {dead} times",
            record.text()
        ));
    }
    let full = record.dead.iter().any(|(_, kind)| *kind == ErrorKind::MailboxFull);
    if record.how == SendMethod::Pipe && full {
        return Some(format!(
            "{}: a piped result was lost because the actor's own mailbox is full",
            record.text()
        ));
    }
    let overflow = model.specs.get(&record.to).and_then(|spec| spec.bounded);
    if record.how == SendMethod::Forward
        && full
        && overflow.is_some_and(|(_, full)| full == OverflowPolicy::Block)
    {
        return Some(format!(
            "{}: was forwarded to a full mailbox with `Overflow::Block`, and lost",
            record.text()
        ));
    }
    None
}

fn accounted(model: &Model<'_>, record: &MessageRecord) -> Option<String> {
    let (handled, dead) = (record.handled(), record.dead.len());
    let text = record.text();
    match record.how {
        SendMethod::Select => (record.sent.is_some() && handled + dead == 0)
            .then(|| format!("{text} was neither handled nor a dead letter")),
        SendMethod::Tell | SendMethod::Send | SendMethod::TryTell => match record.sent {
            Some((_, None)) if handled + dead == 0 => {
                Some(format!("{text} was accepted, but neither handled nor a dead letter"))
            }
            Some((_, Some(kind))) if handled > 0 => {
                Some(format!("{text} was refused ({kind:?}) and handled"))
            }
            Some((_, Some(kind))) if record.how == SendMethod::TryTell && dead > 0 => {
                Some(format!("{text} was returned to the sender ({kind:?}) and is also a dead letter"))
            }
            Some((_, Some(kind))) if record.how != SendMethod::TryTell && dead == 0 => {
                Some(format!("{text} was refused ({kind:?}) and is not a dead letter"))
            }
            _ => None,
        },
        SendMethod::Forward => {
            let origin = record.origin.and_then(|origin| model.records.get(&origin));
            let told = origin.is_some_and(|origin| !origin.is_ask() && origin.origin.is_none());
            (told && record.accepted().is_some() && handled + dead == 0)
                .then(|| format!("{text} was accepted, but neither handled nor a dead letter"))
        }
        SendMethod::Ask
        | SendMethod::Enqueue
        | SendMethod::Stream
        | SendMethod::Timer
        | SendMethod::Pipe
        | SendMethod::Item => None,
    }
}

/// The answer of an ask matches the history.
fn answered(model: &Model<'_>, record: &MessageRecord) -> Option<String> {
    if !record.is_ask() {
        return None;
    }
    let text = record.text();
    let Some((_, reply)) = record.answer else {
        return record.withdrawn.is_none().then(|| format!("{text} was never answered"));
    };
    let passed_on = record.ended(HandlerEnd::Forwarded) || record.ended(HandlerEnd::ForwardRefused);
    let ended = |how| record.ended(how) || passed_on;
    let truth = match reply {
        Ok(by) if by == record.id => record.handled() == 1 && record.dead.is_empty(),
        Ok(_) => passed_on,
        Err(ErrorKind::Failed) => ended(HandlerEnd::Failed) || ended(HandlerEnd::StashFull),
        Err(ErrorKind::Panicked) => ended(HandlerEnd::Panicked),
        Err(ErrorKind::NoReply) => ended(HandlerEnd::Promised),
        // A message that an interceptor saw is reported to its asker only.
        Err(ErrorKind::Stopped) if record.handled() == 0 => {
            record.dead.len() == 1 || model.specs.get(&record.to).is_some_and(|spec| spec.inbound.is_some())
        }
        Err(ErrorKind::Stopped) => ended(HandlerEnd::Interrupted),
        Err(ErrorKind::MailboxFull | ErrorKind::Overloaded) => record.dead.len() == 1 || passed_on,
        Err(ErrorKind::AskedItself) => {
            [Sender::Actor, Sender::Read, Sender::Hook].iter().any(|sender| record.by == sender(record.to))
        }
        // The other errors depend on the caller, or are newer than this list.
        Err(_) => true,
    };
    (!truth).then(|| {
        let (handled, dead) = (record.handled(), record.dead.len());
        format!(
            "{text} was answered {reply:?}; handled {handled} times {:?}, dead letters: {dead}",
            record.ends
        )
    })
}

/// An ask that was given up is not handled afterwards and is no dead letter.
fn withdrawn(model: &Model<'_>, record: &MessageRecord) -> Option<String> {
    let gone = record.given_up().filter(|_| record.is_ask())?;
    // An interceptor that saw the message may have delayed it, and is told how it ended.
    let seen = model.specs.get(&record.to).is_some_and(|spec| spec.inbound.is_some());
    let after = |(at, kind): &&(usize, ErrorKind)| *at > gone && !(seen && *kind == ErrorKind::Cancelled);
    // In real time the ending actor may refuse the message while its asker gives up.
    if let Some((_, kind)) = record.dead.iter().find(after).filter(|_| model.is_exact()) {
        return Some(format!("{} was given up by its asker, and is a dead letter ({kind:?})", record.text()));
    }
    let began = record.begins.iter().any(|at| *at > gone);
    (began && model.is_exact()).then(|| format!("{} was handled after its asker gave up", record.text()))
}

/// A reply whose asker gave up is one dead letter.
fn unheard(model: &Model<'_>) -> Option<String> {
    if !model.is_exact() {
        return None;
    }
    model.specs.keys().find_map(|actor| {
        let replies = model.observations().filter(|(_, what)| {
            matches!(what, Observation::DeadLetter { actor: Some(of), kind: ErrorKind::AskerGone, .. } if of == actor)
        });
        let replies = replies.count();
        let most = |record: &&MessageRecord| record.to == *actor && record.given_up().is_some() && record.handled() > 0;
        let most = model.records.values().filter(most).count();
        let forwards = model.records.values().filter(|record| record.to == *actor && record.how == SendMethod::Forward);
        (replies > most + forwards.count())
            .then(|| format!("a{actor} has {replies} dead-lettered replies, but only {most} of its asks were given up"))
    })
}
