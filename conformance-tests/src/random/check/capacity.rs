//! A bound is never exceeded by live messages, and nothing is refused while fewer wait.

use dactor_core::ErrorKind;

use super::{Letter, Model};
use crate::random::history::{Ended, What, Which};
use crate::random::program::How;

pub(super) fn check(model: &Model<'_>) -> Option<String> {
    model.specs.keys().find_map(|actor| {
        let to: Vec<&Letter> = model.letters.values().filter(|letter| letter.to == *actor).collect();
        exceeded(model, *actor, &to)
            .or_else(|| refused(model, *actor, &to))
            .or_else(|| stash(model, *actor, &to))
    })
}

fn is_letter(letter: &Letter) -> bool {
    !matches!(letter.how, How::Timer | How::Item)
}

fn exceeded(model: &Model<'_>, actor: usize, letters: &[&Letter]) -> Option<String> {
    let (capacity, _) = model.specs.get(&actor)?.bounded?;
    // What is in hand is noted a little later than it is taken.
    let most =
        if model.is_exact() && model.specs[&actor].inbound.is_none() { capacity } else { capacity + 1 };
    letters.iter().find_map(|letter| {
        let at = letter.accepted().filter(|_| matches!(letter.how, How::Tell | How::TryTell))?;
        let told = letters.iter().filter(|other| matches!(other.how, How::Tell | How::TryTell));
        let waiting =
            told.filter(|other| other.accepted().is_some_and(|sent| sent <= at) && other.gone() > at);
        let waiting = waiting.count();
        (waiting > most)
            .then(|| format!("{waiting} messages wait in a mailbox for {capacity}: {}", letter.text()))
    })
}

/// How many may have waited, at the most, when this one was refused.
fn possibly_waiting(model: &Model<'_>, letters: &[&Letter], refused: &Letter, at: usize) -> usize {
    let since = if model.is_exact() { at } else { refused.send };
    let others = letters.iter().filter(|other| other.id != refused.id && is_letter(other));
    others.filter(|other| other.send < at && other.gone() > since).count()
}

fn refused(model: &Model<'_>, actor: usize, letters: &[&Letter]) -> Option<String> {
    let spec = model.specs.get(&actor)?;
    letters.iter().find_map(|letter| {
        let dead = letter.dead.iter().copied();
        let refusals = dead.chain(letter.sent.and_then(|(at, error)| Some((at, error?)))).chain(
            letter
                .answer
                .and_then(|(at, reply)| Some((at, reply.err()?)))
                .filter(|_| letter.begins.is_empty()),
        );
        let mut refusals: Vec<(usize, ErrorKind)> = refusals.collect();
        refusals.sort_by_key(|(at, _)| *at);
        let (at, kind) = refusals.first().copied()?;
        let evicted = letter.accepted().is_some_and(|accepted| accepted < at);
        if !model.is_exact() && evicted {
            return None;
        }
        let limit = match kind {
            ErrorKind::MailboxFull => spec.bounded.map(|(capacity, _)| capacity),
            ErrorKind::Overloaded => spec.shed,
            _ => None,
        }?;
        let waiting = possibly_waiting(model, letters, letter, at);
        (waiting < limit).then(|| {
            format!(
                "{} was refused ({kind:?}) by a mailbox for {limit} in which {waiting} waited",
                letter.text()
            )
        })
    })
}

/// The stash is not full while fewer live messages are in it. What is on its way back takes room until the next message.
fn stash(model: &Model<'_>, actor: usize, letters: &[&Letter]) -> Option<String> {
    let capacity = model.specs.get(&actor)?.stash.unwrap_or(1000);
    let (mut held, mut returning): (Vec<&Letter>, Vec<&Letter>) = Default::default();
    let live = |all: &[&Letter], at| all.iter().filter(|letter| letter.gone_from_stash() > at).count();
    for (at, what) in model.places() {
        match *what {
            What::Unstash { actor: of } if of == actor => returning.append(&mut held),
            What::Hook { actor: of, which: Which::Restart, .. } if of == actor => returning.append(&mut held),
            What::Begin { actor: of, .. } if of == actor => returning.clear(),
            What::End { id, actor: of, how: Ended::Stashed } if of == actor => {
                held.extend(letters.iter().find(|letter| letter.id == id));
                let live = live(&held, at);
                if live > capacity {
                    return Some(format!("a{actor} has stashed {live} messages, and may {capacity}"));
                }
            }
            What::End { actor: of, how: Ended::StashFull, .. } if of == actor => {
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

impl Letter {
    /// When a stashed message is surely gone from the stash without having been handled.
    pub(super) fn gone_from_stash(&self) -> usize {
        let dead = self.dead.first().map(|(at, _)| *at);
        [self.given_up(), dead].into_iter().flatten().min().unwrap_or(usize::MAX)
    }
}
