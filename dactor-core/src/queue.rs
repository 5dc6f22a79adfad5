//! A queue whose first place is inside it: an actor that never has more than one message waiting allocates no buffer.

use std::collections::VecDeque;

/// First in, first out.
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

    /// Puts an item in front of all others.
    pub(crate) fn push_front(&mut self, item: T) {
        if self.rest.capacity() == 0 && self.first.is_none() {
            self.first = Some(item);
        } else {
            if let Some(first) = self.first.take() {
                self.rest.push_front(first);
            }
            self.rest.push_front(item);
        }
    }

    /// Takes the first item out that is wanted.
    pub(crate) fn extract(&mut self, wanted: impl Fn(&T) -> bool) -> Option<T> {
        if let Some(first) = self.first.take_if(|first| wanted(first)) {
            return Some(first);
        }
        let at = self.rest.iter().position(wanted)?;
        self.rest.remove(at)
    }

    /// Gives memory back beyond this many places.
    pub(crate) fn shrink_to(&mut self, places: usize) {
        // Asked before every wait, and hardly ever with anything to give back.
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
    fn an_item_can_be_put_in_front_or_taken_out() {
        for rest in 0..4 {
            let mut queue = Queue::new();
            (0..rest).for_each(|number| queue.push_back(number));
            queue.push_front(-1);
            queue.push_front(-2);
            assert_eq!(queue.extract(|number| *number == 7), None);
            assert_eq!(queue.extract(|number| *number < 0), Some(-2));
            assert_eq!(queue.extract(|number| *number > 0), (rest > 1).then_some(1));
            assert!(queue.eq([-1].into_iter().chain((0..rest).filter(|number| *number != 1))));
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
