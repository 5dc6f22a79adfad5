//! The channel of one stream: a bounded buffer between one producer and one consumer.
//!
//! The consumer takes all buffered items under one lock and hands them out one by one. It returns capacity
//! when it has handed out half of it, or all items it took: at most `capacity` items are in flight, and many
//! items share one lock and one wake-up.
//!
//! ```text
//!   Open ── finish ─────────────► Finished      the consumer gets the buffered items, then the end
//!     ├──── fail ───────────────► Failed(error) the consumer gets the buffered items, then the error
//!     ├──── producer dropped ───► Dropped       the consumer gets the buffered items, then `Unfinished`
//!     └──── consumer dropped ───► closed        the producer gets its next item back
//! ```

mod receiver;

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};

use self::receiver::GIVE_BACK_AFTER;
pub(crate) use self::receiver::Rx;
use crate::Error;
use crate::base::sync::{Mutex, MutexGuard};

/// Items per unit of tokio's coop budget: a producer that always has room, or a consumer that always has
/// items, must not starve other tasks.
pub(crate) const YIELD_AFTER: u32 = 32;

/// How a stream ends.
#[derive(Debug, Clone)]
pub(crate) enum End {
    Finished,
    Failed(Error),
    /// The producer was dropped before it finished.
    Dropped,
}

struct State<T> {
    buffer: VecDeque<T>,
    /// Taken by the consumer, but its capacity not returned yet.
    taken: usize,
    capacity: usize,
    end: Option<End>,
    /// The consumer is gone.
    closed: bool,
    /// An interceptor ended it.
    refused: bool,
    consumer: Option<Waker>,
    producer: Option<Waker>,
}

impl<T> State<T> {
    fn room(&self) -> usize {
        self.capacity.saturating_sub(self.buffer.len() + self.taken)
    }

    /// Why the producer cannot send, if so.
    fn refusal(&self) -> Result<(), Refused<()>> {
        if self.closed {
            Err(Refused::Closed(()))
        } else if self.end.is_some() {
            Err(Refused::Ended(()))
        } else {
            Ok(())
        }
    }
}

struct Channel<T> {
    state: Mutex<State<T>>,
}

impl<T> Channel<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the stream, unless it has ended.
    fn end(&self, end: End) -> Result<(), Refused<()>> {
        let mut state = self.lock();
        state.refusal()?;
        state.end = Some(end);
        let (consumer, producer) = (state.consumer.take(), state.producer.take());
        drop(state);
        [consumer, producer].into_iter().flatten().for_each(Waker::wake);
        Ok(())
    }
}

/// A channel with this capacity, at least one.
pub(crate) fn channel<T>(capacity: usize) -> (Tx<T>, Rx<T>) {
    let state = State {
        buffer: VecDeque::new(),
        taken: 0,
        capacity: capacity.max(1),
        end: None,
        closed: false,
        refused: false,
        consumer: None,
        producer: None,
    };
    let give_back_after = (state.capacity / 2).clamp(1, GIVE_BACK_AFTER);
    let channel = Arc::new(Channel { state: Mutex::new(state) });
    (Tx { channel: channel.clone() }, Rx { channel, local: VecDeque::new(), given: 0, give_back_after })
}

/// Why an item was not sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused<T> {
    /// No room now.
    Full(T),
    /// The consumer is gone.
    Closed(T),
    /// The stream has ended.
    Ended(T),
}

impl<T> Refused<T> {
    pub(crate) fn map<U>(self, map: impl FnOnce(T) -> U) -> Refused<U> {
        match self {
            Self::Full(item) => Refused::Full(map(item)),
            Self::Closed(item) => Refused::Closed(map(item)),
            Self::Ended(item) => Refused::Ended(map(item)),
        }
    }
}

/// The producer's half.
pub(crate) struct Tx<T> {
    channel: Arc<Channel<T>>,
}

impl<T> Tx<T> {
    pub(crate) fn try_send(&self, item: T) -> Result<(), Refused<T>> {
        self.push(item, None)
    }

    /// Sends the item and takes it; leaves it while there is no room.
    pub(crate) fn poll_send(
        &self,
        item: &mut Option<T>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Refused<T>>> {
        let Some(value) = item.take() else { return Poll::Ready(Ok(())) };
        match self.push(value, Some(cx.waker())) {
            Err(Refused::Full(value)) => {
                *item = Some(value);
                Poll::Pending
            }
            sent => Poll::Ready(sent),
        }
    }

    fn push(&self, item: T, waker: Option<&Waker>) -> Result<(), Refused<T>> {
        let mut state = self.channel.lock();
        if let Err(over) = state.refusal() {
            return Err(over.map(|()| item));
        }
        if state.room() == 0 {
            let replaced = waker.and_then(|waker| store(&mut state.producer, waker));
            drop(state);
            drop(replaced);
            return Err(Refused::Full(item));
        }
        state.buffer.push_back(item);
        let consumer = state.consumer.take();
        drop(state);
        if let Some(consumer) = consumer {
            consumer.wake();
        }
        Ok(())
    }

    /// Sends as many items as there is room for. The rest stays.
    pub(crate) fn poll_send_all(
        &self,
        items: &mut VecDeque<T>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Refused<()>>> {
        match self.push_all(items, Some(cx.waker())) {
            Err(Refused::Full(())) => Poll::Pending,
            sent => Poll::Ready(sent),
        }
    }

    /// Sends as many items as there is room for. The rest stays.
    pub(crate) fn try_send_all(&self, items: &mut VecDeque<T>) -> Result<(), Refused<()>> {
        self.push_all(items, None)
    }

    fn push_all(&self, items: &mut VecDeque<T>, waker: Option<&Waker>) -> Result<(), Refused<()>> {
        if items.is_empty() {
            return Ok(());
        }
        let mut state = self.channel.lock();
        state.refusal()?;
        let count = state.room().min(items.len());
        if state.buffer.is_empty() && count == items.len() {
            // Swaps the whole batch with an empty buffer of the same capacity.
            std::mem::swap(&mut state.buffer, items);
        } else {
            state.buffer.extend(items.drain(..count));
        }
        let consumer = if count > 0 { state.consumer.take() } else { None };
        let (sent, replaced) = if items.is_empty() {
            (Ok(()), None)
        } else {
            (Err(Refused::Full(())), waker.and_then(|waker| store(&mut state.producer, waker)))
        };
        drop(state);
        drop(replaced);
        if let Some(consumer) = consumer {
            consumer.wake();
        }
        sent
    }

    /// Ends the stream after the buffered items.
    ///
    /// # Errors
    ///
    /// When it has already ended.
    pub(crate) fn end(&self, end: End) -> Result<(), Refused<()>> {
        self.channel.end(end)
    }

    /// Ends the stream with the error of an interceptor, after the buffered items.
    pub(crate) fn refuse(&self, error: Error) {
        self.channel.lock().refused = true;
        let _ = self.channel.end(End::Failed(error));
    }

    /// How the stream ended; `None` when its consumer left before.
    pub(crate) fn ended(&self) -> Option<End> {
        self.channel.lock().end.clone()
    }

    /// Whether there is room for an item.
    pub(crate) fn has_room(&self) -> bool {
        self.channel.lock().room() > 0
    }

    /// Whether the consumer is gone.
    pub(crate) fn is_closed(&self) -> bool {
        self.channel.lock().closed
    }

    /// For how many items there is room, once it differs from `known`; `None` when the consumer is gone.
    pub(crate) fn poll_room(&self, cx: &mut Context<'_>, known: usize) -> Poll<Option<usize>> {
        let mut state = self.channel.lock();
        if state.closed {
            return Poll::Ready(None);
        }
        let room = state.room();
        if room != known {
            return Poll::Ready(Some(room));
        }
        let replaced = store(&mut state.producer, cx.waker());
        drop(state);
        drop(replaced);
        Poll::Pending
    }

    /// Completes when the consumer is gone, or the stream was ended from outside.
    pub(crate) fn poll_over(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.channel.lock();
        if state.closed || state.end.is_some() {
            return Poll::Ready(());
        }
        let replaced = store(&mut state.producer, cx.waker());
        drop(state);
        drop(replaced);
        Poll::Pending
    }
}

impl<T: Send + 'static> Tx<T> {
    pub(crate) fn any(&self) -> Arc<dyn AnyStream> {
        self.channel.clone()
    }
}

impl<T> Drop for Tx<T> {
    fn drop(&mut self) {
        let _ = self.channel.end(End::Dropped);
    }
}

/// A stream as seen by its actor, which can end it from outside.
pub(crate) trait AnyStream: Send + Sync {
    /// Ends the stream with this error, unless it has ended.
    fn fail(&self, error: Error);
    /// Whether further items would be dropped: the consumer is gone, or an interceptor ended the stream.
    fn is_in_vain(&self) -> bool;
}

impl<T: Send> AnyStream for Channel<T> {
    fn fail(&self, error: Error) {
        let _ = self.end(End::Failed(error));
    }

    fn is_in_vain(&self) -> bool {
        let state = self.lock();
        state.closed || state.refused
    }
}

/// Returns the previous waker: dropping it may drop a task, which must not happen under the lock.
fn store(place: &mut Option<Waker>, waker: &Waker) -> Option<Waker> {
    match place {
        Some(current) if current.will_wake(waker) => None,
        place => place.replace(waker.clone()),
    }
}

#[cfg(all(test, dactor_loom))]
mod models;

#[cfg(all(test, not(dactor_loom)))]
mod tests;
