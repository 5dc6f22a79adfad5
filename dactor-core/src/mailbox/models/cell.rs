//! The cell, as in `life.rs`.

use super::*;

/// Where the cell goes when there is nothing to do, and whether it is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    /// Parked in its host since the launch, and parks there.
    Host,
    /// In its first poll, and stays pending.
    Pending,
}

impl At {
    /// An unbounded mailbox whose cell is there.
    pub(super) fn mailbox(self) -> Mail {
        match self {
            Self::Host => Post::launched(None),
            Self::Pending => Post::new(None),
        }
    }
}

/// What became of the cell.
#[derive(Debug)]
pub(super) struct Lived {
    pub(super) handled: Vec<u32>,
    /// What it left behind, unhandled.
    pub(super) rest: Vec<u32>,
    /// How often it was parked and woken.
    pub(super) woken: usize,
}

impl Lived {
    /// Where `message` is: in one place, and once.
    pub(super) fn fate(&self, message: u32, gone: &[(u32, Fate)]) -> Fate {
        let kept = [(Handled, &self.handled), (Rest, &self.rest)];
        let kept =
            kept.into_iter().flat_map(|(fate, place)| place.iter().map(move |&message| (message, fate)));
        let places = kept.chain(gone.iter().copied());
        let found: Vec<_> = places.filter_map(|(other, fate)| (other == message).then_some(fate)).collect();
        assert_eq!(found.len(), 1, "message {message} is in {found:?}");
        found[0]
    }
}

/// The cell and the messages in its hands.
#[derive(Debug)]
pub(super) struct Cell<'a> {
    mailbox: &'a Mail,
    /// What wakes it.
    bell: &'a Arc<Bell>,
    at: At,
    /// How many messages its mailbox holds, if it has a bound.
    capacity: Option<usize>,
    pub(super) batch: Queue<u32>,
    pub(super) handled: Vec<u32>,
    parked: bool,
    /// It has just taken what is due.
    taken: bool,
    woken: usize,
}

impl<'a> Cell<'a> {
    pub(super) fn new(mailbox: &'a Mail, bell: &'a Arc<Bell>, at: At) -> Self {
        let (batch, handled) = (Queue::new(), Vec::new());
        let parked = at == At::Host;
        Self { mailbox, bell, at, capacity: None, batch, handled, parked, taken: false, woken: 0 }
    }

    /// Looks at the capacity before it takes, too: only taking makes room.
    pub(super) fn within(self, capacity: usize) -> Self {
        Self { capacity: Some(capacity), ..self }
    }

    /// Until it has handled `enough` messages or is to end.
    pub(super) fn live(mut self, enough: usize) -> Lived {
        while self.handled.len() < enough && self.round() {}
        self.end()
    }

    /// One round of the loop in `Alive::messages`. `false` when the cell is to end.
    pub(super) fn round(&mut self) -> bool {
        self.wake_up();
        let signals = self.mailbox.signals();
        if signals.ending() >= Ending::Stop {
            return false;
        }
        let next =
            if signals.overtaken() { self.mailbox.pick(&mut self.batch) } else { self.batch.pop_front() };
        let taken = mem::take(&mut self.taken);
        match next {
            Some(message) => self.handled.push(message),
            None => {
                assert!(!taken, "what is due is found");
                return self.refill();
            }
        }
        true
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
                Taken::Ending => return self.mailbox.ending() != Ending::Drain,
                Taken::Parked => self.parked = true,
            }
            self.wake_up();
        }
        if self.capacity.is_some() {
            assert_eq!(self.batch.len(), 1, "a bounded queue holds all but the one in hand");
        }
        self.taken = true;
        true
    }

    fn wake_up(&mut self) {
        if mem::take(&mut self.parked) {
            assert_eq!(self.bell.wait(), 1, "one nudge for each time that it parks");
            self.woken += 1;
        }
    }

    pub(super) fn end(self) -> Lived {
        let rest = self.batch.chain(self.mailbox.close()).collect();
        Lived { handled: self.handled, rest, woken: self.woken }
    }
}
