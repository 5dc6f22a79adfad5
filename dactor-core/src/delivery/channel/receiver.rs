//! The consumer's half of a stream's channel.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::{AnyStream, Channel, End, store};
use crate::base::panic::discard;

/// The consumer's half. Dropping it closes the stream, and drops the buffered items.
pub(crate) struct Rx<T> {
    pub(super) channel: Arc<Channel<T>>,
    /// Taken from the buffer, not handed out yet.
    pub(super) local: VecDeque<T>,
    /// Handed out since capacity was last returned.
    pub(super) given: usize,
    pub(super) give_back_after: usize,
}

impl<T> Rx<T> {
    /// The next item, or how the stream ends.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<T, End>> {
        if let Some(item) = self.local.pop_front() {
            self.given += 1;
            if self.given >= self.give_back_after && !self.local.is_empty() {
                self.give_back();
            }
            return Poll::Ready(Ok(item));
        }
        self.take(cx)
    }

    /// Returns the capacity of handed-out items.
    fn give_back(&mut self) {
        let mut state = self.channel.lock();
        state.taken -= std::mem::take(&mut self.given);
        let producer = state.producer.take();
        drop(state);
        if let Some(producer) = producer {
            producer.wake();
        }
    }

    fn take(&mut self, cx: &mut Context<'_>) -> Poll<Result<T, End>> {
        let mut state = self.channel.lock();
        // All items taken before have been handed out.
        state.taken = 0;
        self.given = 0;
        std::mem::swap(&mut self.local, &mut state.buffer);
        let Some(item) = self.local.pop_front() else {
            if let Some(end) = &state.end {
                return Poll::Ready(Err(end.clone()));
            }
            let replaced = store(&mut state.consumer, cx.waker());
            let producer = state.producer.take();
            drop(state);
            drop(replaced);
            if let Some(producer) = producer {
                producer.wake();
            }
            return Poll::Pending;
        };
        // The item handed out now frees its capacity.
        state.taken = self.local.len();
        let producer = if state.room() > 0 { state.producer.take() } else { None };
        drop(state);
        if let Some(producer) = producer {
            producer.wake();
        }
        Poll::Ready(Ok(item))
    }

    /// Takes no further items, and drops the buffered ones. The producer is notified.
    pub(crate) fn close(&mut self) {
        let mut state = self.channel.lock();
        state.closed = true;
        let buffered = std::mem::take(&mut state.buffer);
        let (producer, consumer) = (state.producer.take(), state.consumer.take());
        drop(state);
        drop(consumer);
        if let Some(producer) = producer {
            producer.wake();
        }
        // The destructors of items are user code.
        buffered.into_iter().chain(self.local.drain(..)).for_each(discard);
    }
}

impl<T: Send + 'static> Rx<T> {
    pub(crate) fn any(&self) -> Arc<dyn AnyStream> {
        self.channel.clone()
    }
}

/// The consumer returns capacity after at most this many items.
pub(super) const GIVE_BACK_AFTER: usize = 16;

impl<T> Drop for Rx<T> {
    fn drop(&mut self) {
        self.close();
    }
}
