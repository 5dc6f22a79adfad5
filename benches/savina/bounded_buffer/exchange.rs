use std::collections::VecDeque;

/// The state of the manager: its buffer, the waiting consumers and the waiting producers.
pub(super) struct Exchange<P, C> {
    room: usize,
    items: VecDeque<u64>,
    producers: VecDeque<P>,
    consumers: VecDeque<C>,
    producers_at_work: usize,
    all_consumers: usize,
}

/// The effects of a message to the manager: it hands out at most one item, and requests at most one.
pub(super) struct Deal<P, C> {
    /// The consumer that gets an item.
    pub(super) consume: Option<(C, u64)>,
    /// The producer that makes its next item.
    pub(super) produce: Option<P>,
}

impl<P, C> Deal<P, C> {
    const NONE: Self = Self { consume: None, produce: None };
}

impl<P, C> Exchange<P, C> {
    pub(super) fn new(room: usize, producers: usize, consumers: usize) -> Self {
        Self {
            room,
            items: VecDeque::with_capacity(room + producers),
            producers: VecDeque::with_capacity(producers),
            consumers: VecDeque::with_capacity(consumers),
            producers_at_work: producers,
            all_consumers: consumers,
        }
    }

    /// A producer has made an item.
    pub(super) fn offer(&mut self, item: u64, producer: P) -> Deal<P, C> {
        let mut deal = Deal::NONE;
        match self.consumers.pop_front() {
            Some(consumer) => deal.consume = Some((consumer, item)),
            None => self.items.push_back(item),
        }
        if self.items.len() < self.room {
            deal.produce = Some(producer);
        } else {
            self.producers.push_back(producer);
        }
        deal
    }

    /// A consumer is available.
    pub(super) fn request(&mut self, consumer: C) -> Deal<P, C> {
        match self.items.pop_front() {
            Some(item) => Deal { consume: Some((consumer, item)), produce: self.producers.pop_front() },
            None => {
                self.consumers.push_back(consumer);
                Deal::NONE
            }
        }
    }

    /// A producer has made its last item.
    pub(super) fn retire(&mut self) -> Deal<P, C> {
        self.producers_at_work -= 1;
        Deal::NONE
    }

    /// Whether all items are consumed.
    pub(super) fn is_over(&self) -> bool {
        self.producers_at_work == 0 && self.consumers.len() == self.all_consumers
    }
}
