//! A FIFO queue with one inline slot: an actor with at most one waiting message allocates no buffer.

use std::collections::VecDeque;

/// A FIFO queue.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    /// In front of the rest. Used only while the rest has no buffer.
    first: Option<T>,
    rest: VecDeque<T>,
}

impl<T> Queue<T> {
    pub(crate) const fn new() -> Self {
        Self { first: None, rest: VecDeque::new() }
    }

    pub(crate) fn with_capacity(places: usize) -> Self {
        Self { first: None, rest: VecDeque::with_capacity(places) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none() && self.rest.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    pub(crate) fn push_back(&mut self, item: T) {
        if self.rest.capacity() == 0 && self.first.is_none() {
            self.first = Some(item);
        } else {
            self.rest.push_back(item);
        }
    }

    pub(crate) fn pop_front(&mut self) -> Option<T> {
        if self.first.is_some() { self.first.take() } else { self.rest.pop_front() }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.rest)
    }

    /// Visits all items, in order.
    #[inline(always)]
    pub(crate) fn visit(&self, look: impl Fn(&T)) {
        self.first.iter().for_each(&look);
        if !self.rest.is_empty() {
            self.rest.iter().for_each(&look);
        }
    }

    /// Exchanges all items, and the buffers, with an empty queue.
    #[inline(always)]
    pub(crate) fn move_to(&mut self, empty: &mut Self) {
        if self.rest.capacity() == 0 && empty.rest.capacity() == 0 {
            // At most one item, and no buffer to exchange.
            empty.first = self.first.take();
        } else {
            std::mem::swap(self, empty);
        }
    }

    /// Removes the item at this position.
    pub(crate) fn remove(&mut self, at: usize) -> Option<T> {
        match (&self.first, at) {
            (Some(_), 0) => self.first.take(),
            (Some(_), _) => self.rest.remove(at - 1),
            (None, _) => self.rest.remove(at),
        }
    }

    /// Moves unwanted items to `out`, and frees memory.
    pub(crate) fn split_off(&mut self, unwanted: impl Fn(&T) -> bool, out: &mut Vec<T>) {
        if !self.iter().any(&unwanted) {
            return;
        }
        for item in std::mem::take(self) {
            if unwanted(&item) {
                out.push(item);
            } else {
                self.push_back(item);
            }
        }
    }

    /// Frees capacity beyond this many items.
    pub(crate) fn shrink_to(&mut self, places: usize) {
        // Called before every wait, and rarely has anything to free.
        if self.rest.capacity() > places {
            self.rest.shrink_to(places);
        }
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.rest.capacity()
    }
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> FromIterator<T> for Queue<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut queue = Self::new();
        items.into_iter().for_each(|item| queue.push_back(item));
        queue
    }
}

impl<T> Iterator for Queue<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_in_is_the_first_out() {
        let mut queue = Queue::new();
        for rounds in 0..4 {
            assert!(queue.is_empty());
            for number in 0..rounds {
                queue.push_back(number);
                assert_eq!(queue.len(), number + 1);
            }
            assert_eq!(queue.is_empty(), rounds == 0);
            for number in 0..rounds {
                assert_eq!(queue.pop_front(), Some(number));
                queue.push_back(number + 10);
            }
            assert!(queue.by_ref().eq((0..rounds).map(|number| number + 10)));
            assert_eq!((queue.pop_front(), queue.len()), (None, 0));
        }
    }

    #[test]
    fn items_can_be_taken_out_anywhere() {
        for count in 0..5 {
            for at in 0..6 {
                let mut queue = Queue::new();
                (0..count).for_each(|number| queue.push_back(number));
                assert_eq!(queue.remove(at), (at < count).then_some(at));
                assert!(queue.iter().copied().eq((0..count).filter(|number| *number != at)));
            }
            let (mut queue, mut odd) = (Queue::new(), Vec::new());
            (0..count).for_each(|number| queue.push_back(number));
            queue.split_off(|number| number % 2 == 1, &mut odd);
            assert!(queue.eq((0..count).filter(|number| number % 2 == 0)));
            assert!(odd.into_iter().eq((0..count).filter(|number| number % 2 == 1)));
        }
    }

    #[test]
    fn items_move_to_an_empty_queue_with_their_buffer() {
        for count in 0..4 {
            for had_buffer in [false, true] {
                let mut queue: Queue<usize> = (0..count).collect();
                let mut empty = if had_buffer { Queue::with_capacity(8) } else { Queue::new() };
                queue.move_to(&mut empty);
                assert_eq!((queue.len(), queue.capacity() >= 8), (0, had_buffer));
                assert!(empty.eq(0..count));
            }
        }
    }

    #[test]
    fn one_waiting_item_needs_no_buffer() {
        let mut queue = Queue::new();
        for number in 0..100 {
            queue.push_back(number);
            assert_eq!(queue.pop_front(), Some(number));
        }
        assert_eq!(queue.capacity(), 0);
    }
}
