//! The high and low lanes of a mailbox, and the choice between lanes.

use crate::Priority;
use crate::mailbox::queue::Queue;
use crate::mailbox::side_queues::SideQueues;

/// Messages of high and low priority. Most mailboxes never have any.
#[derive(Debug)]
pub(crate) struct Lanes<T> {
    high: Queue<T>,
    low: Queue<T>,
    turns: Turns,
    /// The stash and the deferred notices; `None` until the first.
    pub(crate) side_queues: Option<Box<SideQueues<T>>>,
}

impl<T> Default for Lanes<T> {
    fn default() -> Self {
        Self { high: Queue::new(), low: Queue::new(), turns: Turns::default(), side_queues: None }
    }
}

impl<T> Lanes<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.high.is_empty()
            && self.low.is_empty()
            && self.side_queues.as_ref().is_none_or(|side_queues| side_queues.len() == 0)
    }

    pub(crate) fn len(&self) -> usize {
        self.high.len() + self.low.len()
    }

    /// One of the two lanes, or the normal one, which is stored elsewhere.
    pub(crate) fn lane<'a>(&'a mut self, normal: &'a mut Queue<T>, which: Priority) -> &'a mut Queue<T> {
        match which {
            Priority::High => &mut self.high,
            Priority::Normal => normal,
            Priority::Low => &mut self.low,
        }
    }

    /// Chooses the lane to take from, if any has messages.
    pub(crate) fn choose(&mut self, normal: bool) -> Option<Priority> {
        let returned = |priority| {
            self.side_queues.as_ref().is_some_and(|side_queues| side_queues.has_returned(priority))
        };
        let high = !self.high.is_empty() || returned(Priority::High);
        let low = !self.low.is_empty() || returned(Priority::Low);
        self.turns.choose(high, normal || returned(Priority::Normal), low)
    }

    /// Resets the starvation counters when no lower lane is waiting.
    pub(crate) fn settle(&mut self) {
        if self.is_empty() {
            self.turns = Turns::default();
        }
    }

    /// The lowest lane with messages.
    pub(crate) fn lowest(&self, normal: bool) -> Option<Priority> {
        match (self.low.is_empty(), normal, self.high.is_empty()) {
            (false, ..) => Some(Priority::Low),
            (_, true, _) => Some(Priority::Normal),
            (.., false) => Some(Priority::High),
            _ => None,
        }
    }

    pub(crate) fn into_messages(self) -> impl Iterator<Item = (Priority, T)> {
        let high = self.high.map(|message| (Priority::High, message));
        high.chain(self.low.map(|message| (Priority::Low, message)))
    }

    pub(crate) fn shrink(&mut self, slots: usize) {
        self.high.shrink_to(slots);
        self.low.shrink_to(slots);
    }
}

/// How often the lower lanes have been passed over since their last turn.
#[derive(Debug, Default)]
struct Turns {
    normal: usize,
    low: usize,
}

impl Turns {
    /// The highest lane with messages, unless a lower one has been passed over too often.
    fn choose(&mut self, high: bool, normal: bool, low: bool) -> Option<Priority> {
        let chosen = if normal && self.normal + 1 >= Priority::SHARE {
            Priority::Normal
        } else if low && self.low + 1 >= Priority::SHARE {
            Priority::Low
        } else if high {
            Priority::High
        } else if normal {
            Priority::Normal
        } else if low {
            Priority::Low
        } else {
            return None;
        };
        let passed = |waits, lane, before| if waits && chosen != lane { before + 1 } else { 0 };
        self.normal = passed(normal, Priority::Normal, self.normal);
        self.low = passed(low, Priority::Low, self.low);
        Some(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes from lanes that never run empty: one letter per message.
    fn taken(high: bool, normal: bool, low: bool, count: usize) -> String {
        let mut turns = Turns::default();
        let letter = |lane| match lane {
            Priority::High => 'h',
            Priority::Normal => 'n',
            Priority::Low => 'l',
        };
        (0..count).filter_map(|_| turns.choose(high, normal, low).map(letter)).collect()
    }

    #[test]
    fn the_highest_goes_first_and_no_lane_starves() {
        for (high, normal, low, expected) in [
            (false, false, false, ""),
            (true, false, false, "hhhhhhhhhhhhhhhhhh"),
            (false, true, false, "nnnnnnnnnnnnnnnnnn"),
            (false, false, true, "llllllllllllllllll"),
            (true, true, false, "hhhhhhhnhhhhhhhnhh"),
            (true, false, true, "hhhhhhhlhhhhhhhlhh"),
            (false, true, true, "nnnnnnnlnnnnnnnlnn"),
            (true, true, true, "hhhhhhhnlhhhhhhnlh"),
        ] {
            assert_eq!(taken(high, normal, low, 18), expected);
        }
    }

    #[test]
    fn a_lane_that_does_not_wait_is_not_passed_over() {
        let mut turns = Turns::default();
        for _ in 0..Priority::SHARE - 1 {
            assert_eq!(turns.choose(true, true, false), Some(Priority::High));
        }
        assert_eq!(turns.choose(true, false, false), Some(Priority::High), "the normal lane is empty");
        assert_eq!(turns.choose(true, true, false), Some(Priority::High), "its counter was reset");
    }

    #[test]
    fn the_lowest_that_has_anything_is_the_first_to_lose() {
        let mut lanes = Lanes::default();
        let mut normal = Queue::new();
        assert_eq!(lanes.lowest(false), None);
        for priority in [Priority::High, Priority::Normal, Priority::Low] {
            lanes.lane(&mut normal, priority).push_back(priority);
            assert_eq!(lanes.lowest(!normal.is_empty()), Some(priority));
        }
        assert_eq!((lanes.len(), normal.len()), (2, 1));
    }

    #[test]
    fn memory_is_given_back_after_a_burst() {
        let mut lanes = Lanes::default();
        let mut normal = Queue::new();
        for priority in [Priority::High, Priority::Low] {
            let lane = lanes.lane(&mut normal, priority);
            (0..100).for_each(|number| lane.push_back(number));
            assert_eq!(lane.by_ref().count(), 100);
        }
        lanes.shrink(8);
        for priority in [Priority::High, Priority::Low] {
            let places = lanes.lane(&mut normal, priority).capacity();
            assert!((1..100).contains(&places), "{places} places");
        }
    }
}
