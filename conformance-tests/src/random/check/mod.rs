//! The properties that every history must have.

mod accounts;
mod capacity;
mod ends;
mod hooks;
mod order;
mod watches;

use std::collections::BTreeMap;

use dactor_core::ErrorKind;

use super::history::{Entry, HandlerEnd, Observation, Sender};
use super::program::{Lane, Program, SendMethod, Sharing, Spawn};
use super::run::Runtime;
use super::send::gave_up;

/// The first violation, if any.
pub(super) fn check(program: &Program, entries: &[Entry], runtime: Runtime) -> Option<String> {
    if let Some(entry) = entries.iter().find(|entry| matches!(entry.what, Observation::Violation(_))) {
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

/// All observations of one message, as indices into the history.
pub(super) struct MessageRecord {
    id: u64,
    send: usize,
    by: Sender,
    to: usize,
    how: SendMethod,
    lane: Lane,
    sent: Option<(usize, Option<ErrorKind>)>,
    answer: Option<(usize, Result<u64, ErrorKind>)>,
    withdrawn: Option<usize>,
    begins: Vec<usize>,
    ends: Vec<(usize, HandlerEnd)>,
    dead: Vec<(usize, ErrorKind)>,
    /// How its handler shared the actor, once it began.
    sharing: Sharing,
    /// The message whose handler forwarded it.
    origin: Option<u64>,
}

impl MessageRecord {
    fn is_ask(&self) -> bool {
        matches!(self.how, SendMethod::Ask | SendMethod::Enqueue | SendMethod::Stream)
    }

    /// How often the message was handled; stashing does not count.
    fn handled(&self) -> usize {
        self.begins.len() - self.ends.iter().filter(|(_, how)| *how == HandlerEnd::Stashed).count()
    }

    fn ended(&self, wanted: HandlerEnd) -> bool {
        self.ends.iter().any(|(_, how)| *how == wanted)
    }

    /// When its asker, or the sender waiting for room, gave up.
    fn given_up(&self) -> Option<usize> {
        let timed_out = self.answer.filter(|(_, reply)| reply.is_err_and(gave_up)).map(|(at, _)| at);
        self.withdrawn.or(timed_out)
    }

    /// When the mailbox has certainly accepted the message.
    fn accepted(&self) -> Option<usize> {
        self.sent.filter(|(_, error)| error.is_none()).map(|(at, _)| at)
    }

    /// When the message has certainly left the mailbox.
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

/// The history by message and by actor.
pub(super) struct Model<'a> {
    program: &'a Program,
    entries: &'a [Entry],
    runtime: Runtime,
    records: BTreeMap<u64, MessageRecord>,
    specs: BTreeMap<usize, &'a Spawn>,
    parents: BTreeMap<usize, usize>,
}

impl<'a> Model<'a> {
    fn new(program: &'a Program, entries: &'a [Entry], runtime: Runtime) -> Self {
        let specs = program.spawns().into_iter().map(|spec| (spec.slot, spec)).collect();
        let mut model =
            Self { program, entries, runtime, records: BTreeMap::new(), specs, parents: BTreeMap::new() };
        let mut open: BTreeMap<usize, u64> = BTreeMap::new();
        for (at, entry) in entries.iter().enumerate() {
            model.read(at, &entry.what, &mut open);
        }
        model
    }

    fn read(&mut self, at: usize, what: &Observation, open: &mut BTreeMap<usize, u64>) {
        match *what {
            Observation::Send { id, by, to, how, lane } => {
                let origin = match by {
                    Sender::Actor(actor) if how == SendMethod::Forward => open.get(&actor).copied(),
                    _ => None,
                };
                let (begins, ends, dead) = (Vec::new(), Vec::new(), Vec::new());
                let (sent, answer, withdrawn) = (None, None, None);
                let record = MessageRecord {
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
                    sharing: Sharing::Exclusive,
                    origin,
                };
                self.records.insert(id, record);
            }
            Observation::Sent { id, error } => self.record(id, |record| record.sent = Some((at, error))),
            Observation::Answer { id, reply } => self.record(id, |record| record.answer = Some((at, reply))),
            Observation::Withdrawn { id } => self.record(id, |record| record.withdrawn = Some(at)),
            Observation::Begin { id, actor, sharing, .. } => {
                open.insert(actor, id);
                self.record(id, |record| {
                    record.begins.push(at);
                    record.sharing = sharing;
                });
            }
            Observation::End { id, how, .. } => self.record(id, |record| record.ends.push((at, how))),
            Observation::DeadLetter { id: Some(id), kind, .. } => {
                self.record(id, |record| record.dead.push((at, kind)));
            }
            Observation::Spawn { actor, parent: Some(parent) } => {
                self.parents.insert(actor, parent);
            }
            _ => {}
        }
    }

    fn record(&mut self, id: u64, change: impl FnOnce(&mut MessageRecord)) {
        if let Some(record) = self.records.get_mut(&id) {
            change(record);
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

    /// An actor and its ancestors.
    fn ancestry(&self, actor: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(Some(actor), |actor| self.parents.get(actor).copied())
    }

    fn observations(&self) -> impl Iterator<Item = (usize, &Observation)> {
        self.entries.iter().enumerate().map(|(at, entry)| (at, &entry.what))
    }
}
