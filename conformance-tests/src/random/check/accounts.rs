//! Each message is handled once or accounted for once, and each ask is answered once, with the truth.

use dactor_core::ErrorKind;

use super::{Letter, Model};
use crate::random::history::{Ended, What, Who};
use crate::random::program::{Full, How};

pub(super) fn check(model: &Model<'_>) -> Option<String> {
    let whole = |letter: &Letter| at_most_once(model, letter).or_else(|| accounted(model, letter));
    let asked = |letter: &Letter| answered(model, letter).or_else(|| withdrawn(model, letter));
    let mut letters = model.letters.values();
    letters.find_map(|letter| whole(letter).or_else(|| asked(letter))).or_else(|| unheard(model))
}

fn at_most_once(model: &Model<'_>, letter: &Letter) -> Option<String> {
    let (handled, dead) = (letter.handled(), letter.dead.len());
    if handled + dead > 1 {
        return Some(format!(
            "{} was handled {handled} times and is a dead letter {dead} times",
            letter.text()
        ));
    }
    let full = letter.dead.iter().any(|(_, kind)| *kind == ErrorKind::MailboxFull);
    if letter.how == How::Pipe && full {
        return Some(format!(
            "{}: the result of a pipe is lost because its own mailbox is full",
            letter.text()
        ));
    }
    let overflow = model.specs.get(&letter.to).and_then(|spec| spec.bounded);
    if letter.how == How::Forward && full && overflow.is_some_and(|(_, full)| full == Full::Block) {
        return Some(format!("{}: forwarded to a full mailbox that blocks, and lost", letter.text()));
    }
    None
}

fn accounted(model: &Model<'_>, letter: &Letter) -> Option<String> {
    let (handled, dead) = (letter.handled(), letter.dead.len());
    let text = letter.text();
    match letter.how {
        How::Select => (letter.sent.is_some() && handled + dead == 0)
            .then(|| format!("{text} was neither handled nor a dead letter")),
        How::Tell | How::Send | How::TryTell => match letter.sent {
            Some((_, None)) if handled + dead == 0 => {
                Some(format!("{text} was accepted, and neither handled nor a dead letter"))
            }
            Some((_, Some(kind))) if handled > 0 => {
                Some(format!("{text} was refused ({kind:?}) and handled"))
            }
            Some((_, Some(kind))) if letter.how == How::TryTell && dead > 0 => {
                Some(format!("{text} was handed back ({kind:?}), and is a dead letter, too"))
            }
            Some((_, Some(kind))) if letter.how != How::TryTell && dead == 0 => {
                Some(format!("{text} was refused ({kind:?}), and is no dead letter"))
            }
            _ => None,
        },
        How::Forward => {
            let origin = letter.origin.and_then(|origin| model.letters.get(&origin));
            let told = origin.is_some_and(|origin| !origin.is_ask() && origin.origin.is_none());
            (told && letter.accepted().is_some() && handled + dead == 0)
                .then(|| format!("{text} was accepted, and neither handled nor a dead letter"))
        }
        How::Ask | How::Enqueue | How::Timer | How::Pipe | How::Item => None,
    }
}

/// What an asker is told is what has happened.
fn answered(model: &Model<'_>, letter: &Letter) -> Option<String> {
    if !letter.is_ask() {
        return None;
    }
    let text = letter.text();
    let Some((_, reply)) = letter.answer else {
        return letter.withdrawn.is_none().then(|| format!("{text} was never answered"));
    };
    let passed_on = letter.ended(Ended::Forwarded) || letter.ended(Ended::ForwardRefused);
    let ended = |how| letter.ended(how) || passed_on;
    let truth = match reply {
        Ok(by) if by == letter.id => letter.handled() == 1 && letter.dead.is_empty(),
        Ok(_) => passed_on,
        Err(ErrorKind::Failed) => ended(Ended::Failed) || ended(Ended::StashFull),
        Err(ErrorKind::Panicked) => ended(Ended::Panicked),
        Err(ErrorKind::NoReply) => ended(Ended::Promised),
        // One that an interceptor has seen is told to its asker only.
        Err(ErrorKind::Stopped) if letter.handled() == 0 => {
            letter.dead.len() == 1 || model.specs.get(&letter.to).is_some_and(|spec| spec.inbound.is_some())
        }
        Err(ErrorKind::Stopped) => ended(Ended::Cut),
        Err(ErrorKind::MailboxFull | ErrorKind::Overloaded) => letter.dead.len() == 1 || passed_on,
        Err(ErrorKind::AskedItself) => {
            letter.by == Who::Actor(letter.to) || letter.by == Who::Hook(letter.to)
        }
        // The others name what the caller did, or are newer than this list.
        Err(_) => true,
    };
    (!truth).then(|| {
        let (handled, dead) = (letter.handled(), letter.dead.len());
        format!(
            "{text} was answered {reply:?}; handled {handled} times {:?}, dead letters: {dead}",
            letter.ends
        )
    })
}

/// An ask that was given up is not handled any more, and is nobody's loss.
fn withdrawn(model: &Model<'_>, letter: &Letter) -> Option<String> {
    let gone = letter.given_up().filter(|_| letter.is_ask())?;
    // An interceptor that has seen it may have let it wait, and is told what became of it.
    let seen = model.specs.get(&letter.to).is_some_and(|spec| spec.inbound.is_some());
    let after = |(at, kind): &&(usize, ErrorKind)| *at > gone && !(seen && *kind == ErrorKind::Cancelled);
    // In real time the end of the actor may have refused it while its asker gave up.
    if let Some((_, kind)) = letter.dead.iter().find(after).filter(|_| model.is_exact()) {
        return Some(format!("{} was given up by its asker, and is a dead letter ({kind:?})", letter.text()));
    }
    let began = letter.begins.iter().any(|at| *at > gone);
    (began && model.is_exact()).then(|| format!("{} was handled after its asker gave up", letter.text()))
}

/// A reply that is not wanted any more is a dead letter, once.
fn unheard(model: &Model<'_>) -> Option<String> {
    if !model.is_exact() {
        return None;
    }
    model.specs.keys().find_map(|actor| {
        let letters = model.places().filter(|(_, what)| {
            matches!(what, What::DeadLetter { actor: Some(of), kind: ErrorKind::AskerGone, .. } if of == actor)
        });
        let letters = letters.count();
        let most = |letter: &&Letter| letter.to == *actor && letter.given_up().is_some() && letter.handled() > 0;
        let most = model.letters.values().filter(most).count();
        let forwards = model.letters.values().filter(|letter| letter.to == *actor && letter.how == How::Forward);
        (letters > most + forwards.count())
            .then(|| format!("a{actor} has {letters} unwanted replies, and only {most} asks were given up in time"))
    })
}
