//! A long queue in chunks, so that a cell takes a limited number of messages without moving them.

use std::collections::VecDeque;
use std::mem;

use super::queue::Queue;
use super::take::BATCH;
use super::{Inner, Item};

/// Full chunks of a queue, each at most [`BATCH`] long, in front of the rest.
#[derive(Debug)]
pub(super) struct Chunks<T> {
    full: VecDeque<Queue<T>>,
    len: usize,
    /// An empty queue for reuse.
    spare: Option<Queue<T>>,
}

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Self { full: VecDeque::new(), len: 0, spare: None }
    }
}

impl<T> Chunks<T> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends the queue as a chunk, and leaves an empty one.
    fn push(&mut self, queue: &mut Queue<T>) {
        let empty = self.spare.take().unwrap_or_else(|| Queue::with_capacity(BATCH));
        self.len += queue.len();
        self.full.push_back(mem::replace(queue, empty));
    }

    /// Moves the first chunk into the empty `batch`.
    pub(super) fn take(&mut self, batch: &mut Queue<T>) {
        if let Some(first) = self.full.pop_front() {
            self.len -= first.len();
            self.spare = Some(mem::replace(batch, first));
        }
    }

    /// The first item, if it is unwanted.
    pub(super) fn pop_front_if(&mut self, unwanted: impl Fn(&T) -> bool) -> Option<T> {
        let first = self.full.front_mut()?;
        let item = if first.iter().next().is_some_and(unwanted) { first.pop_front() } else { None };
        if item.is_some() {
            self.len -= 1;
        }
        if first.is_empty() {
            self.full.pop_front();
        }
        item
    }

    /// Moves the items that are unwanted to `out`.
    pub(super) fn split_off(&mut self, unwanted: impl Fn(&T) -> bool, out: &mut Vec<T>) {
        let before = out.len();
        self.full.iter_mut().for_each(|queue| queue.split_off(&unwanted, out));
        self.full.retain(|queue| !queue.is_empty());
        self.len -= out.len() - before;
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.full.iter().flat_map(Queue::iter)
    }

    pub(super) fn into_items(self) -> impl Iterator<Item = T> {
        self.full.into_iter().flatten()
    }
}

impl<T: Item> Inner<T> {
    /// Starts a new chunk once a full batch waits: later messages are for a later turn.
    #[cold]
    pub(super) fn begin_chunk(&mut self) {
        self.chunks.get_or_insert_default().push(&mut self.queue);
    }
}
