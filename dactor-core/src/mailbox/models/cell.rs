//! A model of the cell in `kernel/task.rs`.

use super::*;

/// Where an idle cell parks, and whether it is already there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    /// Parked in its host since the launch, and parks there.
    Host,
    /// In its first poll, and stays pending.
    Pending,
}

impl At {
    /// An unbounded mailbox whose cell is there.
    pub(super) fn mailbox(self) -> MailboxRef {
        match self {
            Self::Host => ModelMailbox::launched(None),
            Self::Pending => ModelMailbox::new(None),
        }
    }
}

/// The outcome of a cell.
#[derive(Debug)]
pub(super) struct Lived {
    pub(super) handled: Vec<u32>,
    /// Messages left unhandled.
    pub(super) rest: Vec<u32>,
    /// How often it was parked and woken.
    pub(super) woken: usize,
}

impl Lived {
    /// Where `message` ended up: in exactly one place.
    pub(super) fn outcome(&self, message: u32, gone: &[(u32, MessageOutcome)]) -> MessageOutcome {
        let kept = [(Handled, &self.handled), (Rest, &self.rest)];
        let kept = kept
            .into_iter()
            .flat_map(|(outcome, place)| place.iter().map(move |&message| (message, outcome)));
        let places = kept.chain(gone.iter().copied());
        let found: Vec<_> =
            places.filter_map(|(other, outcome)| (other == message).then_some(outcome)).collect();
        assert_eq!(found.len(), 1, "message {message} is in {found:?}");
        found[0]
    }
}

/// The cell and its batch.
#[derive(Debug)]
pub(super) struct Cell<'a> {
    mailbox: &'a MailboxRef,
    /// What wakes it.
    bell: &'a Arc<Bell>,
    at: At,
    /// The capacity of a bounded mailbox.
    capacity: Option<usize>,
    pub(super) batch: Queue<u32>,
    pub(super) handled: Vec<u32>,
    parked: bool,
    /// It has just run its housekeeping.
    taken: bool,
    /// What it checks when it is called.
    due: Option<&'a AtomicUsize>,
    /// What it found there.
    pub(super) found: usize,
    woken: usize,
}

impl<'a> Cell<'a> {
    pub(super) fn new(mailbox: &'a MailboxRef, bell: &'a Arc<Bell>, at: At) -> Self {
        let (batch, handled) = (Queue::new(), Vec::new());
        let parked = at == At::Host;
        Self {
            mailbox,
            bell,
            at,
            capacity: None,
            batch,
            handled,
            parked,
            taken: false,
            due: None,
            found: 0,
            woken: 0,
        }
    }

    /// Also checks the capacity before taking: only taking makes room.
    pub(super) fn within(self, capacity: usize) -> Self {
        Self { capacity: Some(capacity), ..self }
    }

    /// Runs its housekeeping whenever it is called.
    pub(super) fn minding(self, due: &'a AtomicUsize) -> Self {
        Self { due: Some(due), ..self }
    }

    /// Runs until it has handled `enough` messages or has to end.
    pub(super) fn live(mut self, enough: usize) -> Lived {
        while self.handled.len() < enough && self.round() {}
        self.end()
    }

    /// One round of the loop in `ActorTask::messages`. `false` when the cell has to end.
    pub(super) fn round(&mut self) -> bool {
        self.wake_up();
        let signals = self.mailbox.signals();
        if signals.ending() >= Ending::Stop {
            return false;
        }
        if signals.is_called() {
            self.run_housekeeping();
            return true;
        }
        let next = if signals.overtaken() {
            self.mailbox.pick(&mut self.batch, &mut Signals::default())
        } else {
            self.batch.pop_front()
        };
        let taken = mem::take(&mut self.taken);
        match next {
            Some(message) => self.handled.push(message),
            None => {
                assert!(!taken, "housekeeping finds due work");
                return self.refill();
            }
        }
        true
    }

    /// As `ActorTask::run_housekeeping` does.
    fn run_housekeeping(&mut self) {
        self.mailbox.answer_call();
        self.taken = false;
        self.found += self.due.expect("only a cell with housekeeping is called").swap(0, Ordering::Relaxed);
    }

    /// As `refill` does.
    fn refill(&mut self) -> bool {
        let waker = Waker::from(self.bell.clone());
        let park = match self.at {
            At::Host => Park::Native,
            At::Pending => Park::Pending(&waker),
        };
        loop {
            self.capacity.iter().for_each(|&most| assert!(self.mailbox.len() <= most, "over capacity"));
            match self.mailbox.take(&mut self.batch, park) {
                Taken::Some => break,
                Taken::Called => return true,
                Taken::Ending => return self.mailbox.ending() != Ending::Drain,
                Taken::Parked => self.parked = true,
            }
            self.wake_up();
        }
        if self.capacity.is_some() {
            assert_eq!(self.batch.len(), 1, "a bounded mailbox gives one message at a time");
        }
        self.taken = true;
        true
    }

    fn wake_up(&mut self) {
        if mem::take(&mut self.parked) {
            assert_eq!(self.bell.wait(), 1, "one wakeup for each time that it parks");
            self.woken += 1;
        }
    }

    pub(super) fn end(self) -> Lived {
        let rest = self.batch.chain(self.mailbox.close()).collect();
        Lived { handled: self.handled, rest, woken: self.woken }
    }
}
