//! What must hold, whatever the program was.

mod accounts;
mod capacity;
mod ends;
mod hooks;
mod order;
mod watches;

use std::collections::BTreeMap;

use dactor_core::ErrorKind;

use super::execute::{Runtime, gave_up};
use super::history::{Ended, Entry, What, Who};
use super::program::{How, Lane, Program, Spawn};

/// The first thing that must not be, or nothing.
pub(super) fn check(program: &Program, entries: &[Entry], runtime: Runtime) -> Option<String> {
    if let Some(entry) = entries.iter().find(|entry| matches!(entry.what, What::Wrong(_))) {
        return Some(format!("{:?}", entry.what));
    }
    let model = Model::new(program, entries, runtime);
    hooks::check(&model)
        .or_else(|| accounts::check(&model))
        .or_else(|| order::check(&model))
        .or_else(|| capacity::check(&model))
        .or_else(|| watches::check(&model))
        .or_else(|| ends::check(&model))
}

/// All that was observed of one message. Numbers are places in the history.
pub(super) struct Letter {
    id: u64,
    send: usize,
    by: Who,
    to: usize,
    how: How,
    lane: Lane,
    sent: Option<(usize, Option<ErrorKind>)>,
    answer: Option<(usize, Result<u64, ErrorKind>)>,
    withdrawn: Option<usize>,
    begins: Vec<usize>,
    ends: Vec<(usize, Ended)>,
    dead: Vec<(usize, ErrorKind)>,
    /// The message whose handler forwarded it.
    origin: Option<u64>,
}

impl Letter {
    fn is_ask(&self) -> bool {
        matches!(self.how, How::Ask | How::Enqueue)
    }

    /// How often it was handled for good: stashed is not handled.
    fn handled(&self) -> usize {
        self.begins.len() - self.ends.iter().filter(|(_, how)| *how == Ended::Stashed).count()
    }

    fn ended(&self, wanted: Ended) -> bool {
        self.ends.iter().any(|(_, how)| *how == wanted)
    }

    /// When its asker, or the sender in line, gave up.
    fn given_up(&self) -> Option<usize> {
        let timed_out = self.answer.filter(|(_, reply)| reply.is_err_and(gave_up)).map(|(at, _)| at);
        self.withdrawn.or(timed_out)
    }

    /// Whether the mailbox surely took it when the call returned.
    fn accepted(&self) -> Option<usize> {
        self.sent.filter(|(_, error)| error.is_none()).map(|(at, _)| at)
    }

    /// When it surely waits no longer, as far as anyone could see.
    fn gone(&self) -> usize {
        let refused = self.sent.filter(|(_, error)| error.is_some()).map(|(at, _)| at);
        let answered = self.answer.filter(|(_, reply)| reply.is_err()).map(|(at, _)| at);
        let firsts = [self.begins.first().copied(), self.dead.first().map(|(at, _)| *at), self.given_up()];
        firsts.into_iter().flatten().chain(refused).chain(answered).min().unwrap_or(usize::MAX)
    }

    fn text(&self) -> String {
        format!("#{} ({:?} from {:?} to a{})", self.id, self.how, self.by, self.to)
    }
}

/// The history, by message and by actor.
pub(super) struct Model<'a> {
    program: &'a Program,
    entries: &'a [Entry],
    runtime: Runtime,
    letters: BTreeMap<u64, Letter>,
    specs: BTreeMap<usize, &'a Spawn>,
    parents: BTreeMap<usize, usize>,
}

impl<'a> Model<'a> {
    fn new(program: &'a Program, entries: &'a [Entry], runtime: Runtime) -> Self {
        let specs = program.spawns().into_iter().map(|spec| (spec.slot, spec)).collect();
        let mut model =
            Self { program, entries, runtime, letters: BTreeMap::new(), specs, parents: BTreeMap::new() };
        let mut open: BTreeMap<usize, u64> = BTreeMap::new();
        for (at, entry) in entries.iter().enumerate() {
            model.read(at, &entry.what, &mut open);
        }
        model
    }

    fn read(&mut self, at: usize, what: &What, open: &mut BTreeMap<usize, u64>) {
        match *what {
            What::Send { id, by, to, how, lane } => {
                let origin = match by {
                    Who::Actor(actor) if how == How::Forward => open.get(&actor).copied(),
                    _ => None,
                };
                let (begins, ends, dead) = (Vec::new(), Vec::new(), Vec::new());
                let (sent, answer, withdrawn) = (None, None, None);
                let letter = Letter {
                    id,
                    send: at,
                    by,
                    to,
                    how,
                    lane,
                    sent,
                    answer,
                    withdrawn,
                    begins,
                    ends,
                    dead,
                    origin,
                };
                self.letters.insert(id, letter);
            }
            What::Sent { id, error } => self.letter(id, |letter| letter.sent = Some((at, error))),
            What::Answer { id, reply } => self.letter(id, |letter| letter.answer = Some((at, reply))),
            What::Withdrawn { id } => self.letter(id, |letter| letter.withdrawn = Some(at)),
            What::Begin { id, actor, .. } => {
                open.insert(actor, id);
                self.letter(id, |letter| letter.begins.push(at));
            }
            What::End { id, how, .. } => self.letter(id, |letter| letter.ends.push((at, how))),
            What::DeadLetter { id: Some(id), kind, .. } => {
                self.letter(id, |letter| letter.dead.push((at, kind)));
            }
            What::Spawn { actor, parent: Some(parent) } => {
                self.parents.insert(actor, parent);
            }
            _ => {}
        }
    }

    fn letter(&mut self, id: u64, change: impl FnOnce(&mut Letter)) {
        if let Some(letter) = self.letters.get_mut(&id) {
            change(letter);
        }
    }

    fn is_exact(&self) -> bool {
        self.runtime == Runtime::Simulated
    }

    fn at(&self, place: usize) -> u64 {
        self.entries[place].at
    }

    /// The grace period, in milliseconds.
    fn grace(&self) -> u64 {
        if self.is_exact() { self.program.grace } else { 10_000 }
    }

    /// An actor and those above it.
    fn line(&self, actor: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(Some(actor), |actor| self.parents.get(actor).copied())
    }

    fn places(&self) -> impl Iterator<Item = (usize, &What)> {
        self.entries.iter().enumerate().map(|(at, entry)| (at, &entry.what))
    }
}
