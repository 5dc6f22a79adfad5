//! Queues beside the lanes: stashed messages, unstashed messages, and notices that must not overtake other
//! lanes.
//!
//! Unstashed messages are in front of their lane, but not part of it: the actor accepted them before, so they
//! count neither for the bound nor for load shedding, and are not evicted.

use std::collections::VecDeque;
use std::mem;

use super::queue::Queue;
use super::slot::Slot;
use super::withdraw::{LANES, is_withdrawn, mark_taken, throw_away};
use super::{Inner, Item, Mailbox};
use crate::Priority;

/// Allocated for the first message that is stashed or deferred.
#[derive(Debug)]
pub(crate) struct SideQueues<T> {
    /// The stash.
    held: Queue<(Priority, T)>,
    held_withdrawn: usize,
    /// Unstashed messages, by lane.
    returned: [Queue<T>; 3],
    deferred: VecDeque<Deferred<T>>,
    /// How many messages have left each lane since there were deferred notices.
    left: [usize; 3],
}

/// A notice, and how many messages must have left each lane before it is due.
#[derive(Debug)]
struct Deferred<T> {
    notice: T,
    behind: [usize; 3],
}

impl<T> Default for SideQueues<T> {
    fn default() -> Self {
        Self {
            held: Queue::new(),
            held_withdrawn: 0,
            returned: [(); 3].map(|()| Queue::new()),
            deferred: VecDeque::new(),
            left: [0; 3],
        }
    }
}

impl<T> SideQueues<T> {
    /// The number of waiting messages: all but the stash.
    pub(crate) fn len(&self) -> usize {
        self.returned.iter().map(Queue::len).sum::<usize>() + self.deferred.len()
    }

    /// How many messages of each lane have to leave before each deferred notice is due.
    #[cfg(test)]
    pub(crate) fn before_notices(&self) -> Vec<[usize; 3]> {
        let before = |deferred: &Deferred<T>, lane| deferred.behind[lane] - self.left[lane];
        self.deferred.iter().map(|deferred| std::array::from_fn(|lane| before(deferred, lane))).collect()
    }

    pub(crate) fn has_returned(&self, priority: Priority) -> bool {
        !self.returned[priority as usize].is_empty()
    }

    pub(crate) fn pop_returned(&mut self, priority: Priority) -> Option<T> {
        self.returned[priority as usize].pop_front()
    }

    /// Takes these messages out of what came back to a lane.
    pub(crate) fn split_off_returned(
        &mut self,
        priority: Priority,
        wanted: impl Fn(&T) -> bool,
        out: &mut Vec<T>,
    ) {
        let lane = priority as usize;
        loop {
            let at = self.returned[lane].iter().position(&wanted);
            let Some(at) = at else { return };
            out.extend(self.returned[lane].remove(at));
            let at = self.left[lane] + at;
            let behind = self.deferred.iter_mut().map(|deferred| &mut deferred.behind[lane]);
            behind.filter(|behind| **behind > at).for_each(|behind| *behind -= 1);
        }
    }

    /// `count` messages have left the front of a lane.
    pub(crate) fn note_left(&mut self, priority: Priority, count: usize) {
        if !self.deferred.is_empty() {
            self.left[priority as usize] += count;
        }
    }

    /// The message at this position of a lane, not counting unstashed ones, was removed.
    pub(crate) fn note_removed(&mut self, priority: Priority, at: usize) {
        let lane = priority as usize;
        let at = self.left[lane] + self.returned[lane].len() + at;
        self.deferred.iter_mut().filter(|deferred| deferred.behind[lane] > at).for_each(|deferred| {
            deferred.behind[lane] -= 1;
        });
    }

    /// Messages of a lane were removed, except the kept ones.
    pub(crate) fn note_compacted(&mut self, priority: Priority, kept: impl Iterator<Item = bool>) {
        if self.deferred.is_empty() {
            return;
        }
        let lane = priority as usize;
        let before = self.left[lane] + self.returned[lane].len();
        // How many of the first n messages are kept, for each n.
        let mut still = vec![0];
        kept.for_each(|kept| still.push(still[still.len() - 1] + usize::from(kept)));
        for behind in self.deferred.iter_mut().map(|deferred| &mut deferred.behind[lane]) {
            if *behind > before {
                *behind = before + still[(*behind - before).min(still.len() - 1)];
            }
        }
    }

    fn next_due(&mut self) -> Option<T> {
        let due = self.deferred.front()?.behind.iter().zip(&self.left).all(|(behind, left)| left >= behind);
        let due = if due { self.deferred.pop_front() } else { None };
        if self.deferred.is_empty() {
            self.left = [0; 3];
        }
        due.map(|due| due.notice)
    }
}

impl<T: Item> SideQueues<T> {
    fn sweep_held(&mut self, garbage: &mut Vec<T>) {
        let mut gone = Vec::new();
        let unwanted = |(_, item): &(Priority, T)| is_withdrawn(item);
        while self.held.iter().next().is_some_and(unwanted) {
            gone.extend(self.held.pop_front());
            self.held_withdrawn -= 1;
        }
        if 2 * self.held_withdrawn > self.held.len() {
            self.held.split_off(unwanted, &mut gone);
            self.held_withdrawn = 0;
        }
        garbage.extend(gone.into_iter().map(|(_, item)| item));
    }

    /// Removes the withdrawn message at once: there are no more messages than the stash held.
    fn sweep_returned(&mut self, garbage: &mut Vec<T>) {
        for priority in LANES {
            let lane = priority as usize;
            let Some(at) = self.returned[lane].iter().position(is_withdrawn) else { continue };
            garbage.extend(self.returned[lane].remove(at));
            let at = self.left[lane] + at;
            let behind = self.deferred.iter_mut().map(|deferred| &mut deferred.behind[lane]);
            behind.filter(|behind| **behind > at).for_each(|behind| *behind -= 1);
        }
    }

    /// A stashed or unstashed message was withdrawn.
    pub(crate) fn note_withdrawn(&mut self, slot: Slot, garbage: &mut Vec<T>) {
        if slot == Slot::Held {
            self.held_withdrawn += 1;
            self.sweep_held(garbage);
        } else {
            self.sweep_returned(garbage);
        }
    }
}

impl<T: Item> Inner<T> {
    pub(super) fn side_queues(&self) -> Option<&SideQueues<T>> {
        self.lanes.as_ref().and_then(|lanes| lanes.side_queues.as_deref())
    }

    pub(super) fn side_queues_mut(&mut self) -> Option<&mut SideQueues<T>> {
        self.lanes.as_mut().and_then(|lanes| lanes.side_queues.as_deref_mut())
    }

    fn make_side_queues(&mut self) -> &mut SideQueues<T> {
        self.lanes.get_or_insert_default().side_queues.get_or_insert_default()
    }

    /// Takes the first unstashed message of this lane, if any.
    #[cold]
    pub(super) fn pop_returned(&mut self, priority: Priority) -> Option<T> {
        let side_queues = self.side_queues_mut()?;
        side_queues.note_left(priority, 1);
        let returned = side_queues.pop_returned(priority)?;
        mark_taken(&returned);
        Some(returned)
    }

    /// Puts a message in front of its lane.
    pub(super) fn put_returned(&mut self, message: T, priority: Priority) {
        let side_queues = self.make_side_queues();
        let lane = priority as usize;
        side_queues.deferred.iter_mut().for_each(|deferred| deferred.behind[lane] += 1);
        let behind = mem::take(&mut side_queues.returned[lane]);
        side_queues.returned[lane] = std::iter::once(message).chain(behind).collect();
    }

    /// Queues a notice behind all messages waiting now, of any priority.
    pub(super) fn put_last(&mut self, notice: T) {
        if !self.has_lanes() {
            return self.put(notice, Priority::Normal);
        }
        let behind =
            LANES.map(|priority| (priority, self.existing_lane(priority).map_or(0, |lane| lane.len())));
        let chunked = self.chunks.as_ref().map_or(0, |chunks| chunks.len());
        let side_queues = self.make_side_queues();
        let mut marks = side_queues.left;
        for (priority, waiting) in behind {
            let lane = priority as usize;
            marks[lane] += waiting + side_queues.returned[lane].len();
        }
        marks[Priority::Normal as usize] += chunked;
        side_queues.deferred.push_back(Deferred { notice, behind: marks });
    }

    /// Queues all deferred notices: the mailbox is closing.
    pub(super) fn release_all(&mut self) {
        for deferred in self
            .side_queues_mut()
            .map(|side_queues| mem::take(&mut side_queues.deferred))
            .into_iter()
            .flatten()
        {
            self.put(deferred.notice, Priority::Normal);
        }
    }

    /// Queues the notices that are due now.
    #[inline]
    pub(super) fn release_due(&mut self) {
        while let Some(notice) = self.side_queues_mut().and_then(SideQueues::next_due) {
            self.put(notice, Priority::Normal);
        }
    }
}

impl<T: Item> Mailbox<T> {
    /// How many messages are stashed.
    pub(crate) fn stashed(&self) -> usize {
        self.lock().side_queues().map_or(0, |side_queues| side_queues.held.len() - side_queues.held_withdrawn)
    }

    /// Stashes a message, unless its asker has given up: `enter` returns `false`.
    pub(crate) fn stash(&self, message: T, priority: Priority, enter: impl FnOnce(Slot) -> bool) {
        let mut inner = self.lock();
        if enter(Slot::Held) {
            inner.make_side_queues().held.push_back((priority, message));
        } else {
            drop(inner);
            throw_away(vec![message]);
        }
    }

    /// Moves all stashed messages in front of their lanes, in order.
    pub(crate) fn unstash(&self) {
        let mut garbage = Vec::new();
        let mut inner = self.lock();
        let Some(side_queues) = inner.side_queues_mut() else { return };
        let mut back = [(); 3].map(|()| Queue::new());
        for (priority, message) in mem::take(&mut side_queues.held) {
            if is_withdrawn(&message) {
                garbage.push(message);
                continue;
            }
            if let Some(slot) = message.slot() {
                slot.set(Slot::Returned);
            }
            back[priority as usize].push_back(message);
        }
        side_queues.held_withdrawn = 0;
        for (lane, mut back) in back.into_iter().enumerate() {
            let count = back.len();
            side_queues.deferred.iter_mut().for_each(|deferred| deferred.behind[lane] += count);
            let before = mem::take(&mut side_queues.returned[lane]);
            before.for_each(|message| back.push_back(message));
            side_queues.returned[lane] = back;
        }
        self.update_overtaken(&inner);
        drop(inner);
        throw_away(garbage);
    }

    /// The same without the priorities.
    #[cfg(test)]
    pub(crate) fn empty_stash(&self) -> Queue<T> {
        self.take_stash().map(|(_, message)| message).collect()
    }

    /// Removes all stashed and unstashed messages: the actor is ending.
    pub(crate) fn take_stash(&self) -> Queue<(Priority, T)> {
        let mut garbage = Vec::new();
        let mut inner = self.lock();
        let Some(side_queues) = inner.side_queues_mut() else { return Queue::new() };
        let held = mem::take(&mut side_queues.held);
        side_queues.held_withdrawn = 0;
        let returned = LANES.into_iter().flat_map(|lane| {
            mem::take(&mut side_queues.returned[lane as usize]).map(move |message| (lane, message))
        });
        let mut all: Queue<_> = returned.chain(held).collect();
        all.split_off(|(_, message)| is_withdrawn(message), &mut garbage);
        all.iter().for_each(|(_, message)| mark_taken(message));
        drop(inner);
        throw_away(garbage.into_iter().map(|(_, message)| message).collect());
        all
    }
}
