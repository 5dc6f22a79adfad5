use std::any::type_name;
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use futures_util::{Stream, StreamExt};
use tokio::task::coop::consume_budget;

use crate::actor::stream::open::{OpenStreams, Registration, Side};
use crate::base::label::Labelled;
use crate::base::panic::{Contained, discard};
use crate::delivery::channel::{AnyStream, End, Refused, Tx, YIELD_AFTER};
use crate::interceptor::api::Inbound;
use crate::interceptor::items::ItemHooks;
use crate::{Error, ErrorKind, Failure, Result, SendError, StreamOutcome};

/// The producing half of a stream, given to the handler.
///
/// It may outlive the handler: move it into a task, and the actor is free for its next message. The stream
/// ends when the producer [finishes](Self::finish) or [fails](Self::fail). Dropping a producer without either
/// ends the stream with [`Unfinished`](ErrorKind::Unfinished): otherwise the consumer could not tell a
/// truncated stream from a complete one.
///
/// The stream belongs to the actor instance that handles it: when the actor stops, is killed or is restarted,
/// the stream ends with [`Interrupted`](ErrorKind::Interrupted).
#[must_use = "a producer that is dropped without `finish` ends its stream with an error"]
pub struct Producer<T: Send + 'static> {
    tx: Tx<T>,
    /// Items that are sent together, with [`batch`](crate::ExpandRequest).
    pending: VecDeque<T>,
    batch: usize,
    /// Item counter, to yield periodically.
    sent: u32,
    request: &'static str,
    actor: Option<Arc<dyn Labelled>>,
    registration: Option<Registration>,
    /// If interceptors see its items.
    hooks: Option<Box<ItemHooks<dyn Inbound>>>,
}

impl<T: Send + 'static> Producer<T> {
    pub(crate) fn new(tx: Tx<T>, batch: usize, request: &'static str) -> Self {
        Self {
            tx,
            pending: VecDeque::new(),
            batch: batch.max(1),
            sent: 0,
            request,
            actor: None,
            registration: None,
            hooks: None,
        }
    }

    /// Binds the stream to this actor.
    pub(crate) fn bind(&mut self, streams: &OpenStreams, actor: Arc<dyn Labelled>) {
        self.actor = Some(actor);
        if let Some(hooks) = &mut self.hooks {
            hooks.begin();
        }
        self.registration = Some(streams.register(Side::Producer, self.tx.any()));
    }

    /// Unbinds the stream, until the actor it is forwarded to handles it.
    pub(crate) fn unbind(&mut self) {
        self.actor = None;
        self.registration = None;
        if let Some(mut hooks) = self.hooks.take() {
            hooks.end(StreamOutcome::PassedOn);
        }
    }

    /// Lets interceptors see its items.
    pub(crate) fn intercept(&mut self, hooks: Box<ItemHooks<dyn Inbound>>) {
        self.hooks = Some(hooks);
    }

    /// Shows an item to the interceptors. The stream ends when they refuse it.
    #[inline]
    fn see(&mut self, item: &T) -> Result<()> {
        let Some(hooks) = &mut self.hooks else { return Ok(()) };
        let refused = hooks.see(item);
        if let Err(error) = &refused {
            let _ = self.tx.try_send_all(&mut self.pending);
            self.tx.refuse(error.clone());
        }
        refused
    }

    pub(super) fn tx(&self) -> &Tx<T> {
        &self.tx
    }

    pub(super) fn request(&self) -> &'static str {
        self.request
    }

    pub(crate) fn any(&self) -> Arc<dyn AnyStream> {
        self.tx.any()
    }

    /// Sends an item, waiting for room in the buffer (backpressure).
    ///
    /// # Errors
    ///
    /// [`ConsumerGone`](ErrorKind::ConsumerGone) when the consumer was dropped. A handler may return it with
    /// `?`: it is not a failure of the actor. [`Interrupted`](ErrorKind::Interrupted) when the actor has
    /// stopped or was restarted.
    /// [`Rejected`](ErrorKind::Rejected) when an interceptor refused the item, which ends the stream and is no failure either.
    ///
    /// If this future is dropped before it completes, the item has not been sent; with
    /// [`batch`](crate::Expanding::batch), it may already be in the batch.
    pub async fn send(&mut self, item: T) -> Result<()> {
        if self.batch > 1 {
            // A batch stays full when a send that waited for room was dropped.
            if self.pending.len() >= self.batch {
                self.flush().await?;
            }
            self.see(&item)?;
            self.pending.push_back(item);
            return if self.pending.len() < self.batch { Ok(()) } else { self.flush().await };
        }
        self.sent = self.sent.wrapping_add(1);
        if self.sent.is_multiple_of(YIELD_AFTER) {
            consume_budget().await;
        }
        self.see(&item)?;
        let mut item = Some(item);
        match poll_fn(|cx| self.tx.poll_send(&mut item, cx)).await {
            Ok(()) => Ok(()),
            Err(refused) => Err(self.refused(&refused.map(discard))),
        }
    }

    /// Sends an item if there is room for it.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send), and [`MailboxFull`](ErrorKind::MailboxFull) when the buffer is full; the item comes back.
    pub fn try_send(&mut self, item: T) -> Result<(), SendError<T>> {
        // Only an item that there is room for is shown to the interceptors.
        let sent = if self.batch > 1 && self.pending.len() >= self.batch {
            self.try_flush(item)
        } else if self.batch == 1 && self.hooks.is_some() && !self.tx.has_room() {
            Err(Refused::Full(item))
        } else {
            Ok(item)
        };
        let item = sent.map_err(|refused| self.handed_back(refused))?;
        if let Err(reason) = self.see(&item) {
            return Err(SendError { message: item, reason });
        }
        let sent = if self.batch > 1 { self.try_send_batched(item) } else { self.tx.try_send(item) };
        sent.map_err(|refused| self.handed_back(refused))
    }

    fn handed_back(&self, refused: Refused<T>) -> SendError<T> {
        let reason = self.refused(&refused);
        let (Refused::Full(message) | Refused::Closed(message) | Refused::Ended(message)) = refused;
        SendError { message, reason }
    }

    /// Makes room in the batch for an item.
    fn try_flush(&mut self, item: T) -> Result<T, Refused<T>> {
        match self.tx.try_send_all(&mut self.pending) {
            Err(Refused::Full(())) if self.pending.len() < self.batch => Ok(item),
            Err(refused) => Err(refused.map(|()| item)),
            Ok(()) => Ok(item),
        }
    }

    /// Queues behind the items of an incomplete batch.
    fn try_send_batched(&mut self, item: T) -> Result<(), Refused<T>> {
        self.pending.push_back(item);
        if self.pending.len() < self.batch {
            return Ok(());
        }
        match self.tx.try_send_all(&mut self.pending) {
            Ok(()) | Err(Refused::Full(())) => Ok(()),
            Err(over) => match self.pending.pop_back() {
                Some(item) => Err(over.map(|()| item)),
                None => Ok(()),
            },
        }
    }

    /// Sends the items of an incomplete batch.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub async fn flush(&mut self) -> Result<()> {
        consume_budget().await;
        match poll_fn(|cx| self.tx.poll_send_all(&mut self.pending, cx)).await {
            Ok(()) => Ok(()),
            Err(refused) => {
                self.pending.drain(..).for_each(discard);
                Err(self.refused(&refused))
            }
        }
    }

    /// Ends the stream: the consumer gets the buffered items, then the end.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send): the consumer does not see the end.
    pub async fn finish(mut self) -> Result<()> {
        if !self.pending.is_empty() {
            self.flush().await?;
        }
        self.tx.end(End::Finished).map_err(|refused| self.refused(&refused))
    }

    /// Ends the stream with an error, after the buffered items. Items of an incomplete batch are sent as far
    /// as there is room.
    pub fn fail(self, failure: impl Into<Failure>) {
        let error = self.error(ErrorKind::Failed).because_shared(failure.into().shared());
        self.end_with(error);
    }

    fn end_with(mut self, error: Error) {
        let _ = self.tx.try_send_all(&mut self.pending);
        let _ = self.tx.end(End::Failed(error));
    }

    /// Sends all items of a stream and finishes, in a task of its own. If the stream panics, this one ends
    /// with an error. The stream is dropped when the consumer is gone or the actor ends.
    pub fn drive(mut self, items: impl Stream<Item = T> + Send + 'static) {
        tokio::spawn(async move {
            let sent = Contained::new(async {
                let mut items = pin!(items);
                loop {
                    let next = poll_fn(|cx| match items.poll_next_unpin(cx) {
                        Poll::Pending => self.poll_over(cx).map(|()| None),
                        Poll::Ready(next) => Poll::Ready(next),
                    });
                    match next.await {
                        Some(item) => self.send(item).await?,
                        None => return Ok::<_, Error>(()),
                    }
                }
            })
            .await;
            match sent {
                Ok(Ok(())) => drop(self.finish().await),
                Ok(Err(_)) => {}
                Err(panic) => {
                    let error = self.error(ErrorKind::Panicked).because(panic);
                    self.end_with(error);
                }
            }
        });
    }

    /// Whether the consumer is gone.
    pub fn is_closed(&self) -> bool {
        self.tx.is_closed()
    }

    /// Completes when the consumer is gone, or the actor has stopped or was restarted: further items are
    /// useless.
    pub async fn closed(&mut self) {
        poll_fn(|cx| self.poll_over(cx)).await;
    }

    /// Completes when the actor is draining: the producer should finish soon, because the actor waits for it.
    pub async fn drain_requested(&self) {
        match &self.registration {
            Some(registration) => registration.finishing().cancelled().await,
            None => std::future::pending().await,
        }
    }

    /// Whether the actor is draining: see [`drain_requested`](Self::drain_requested).
    pub fn is_drain_requested(&self) -> bool {
        self.registration.as_ref().is_some_and(|registration| registration.finishing().is_cancelled())
    }

    fn poll_over(&mut self, cx: &mut TaskContext<'_>) -> Poll<()> {
        self.tx.poll_over(cx)
    }

    fn refused<I>(&self, refused: &Refused<I>) -> Error {
        self.error(match refused {
            Refused::Full(_) => ErrorKind::MailboxFull,
            Refused::Closed(_) => ErrorKind::ConsumerGone,
            Refused::Ended(_) => ErrorKind::Interrupted,
        })
    }

    fn error(&self, kind: ErrorKind) -> Error {
        let error = Error::new(kind).with("message", self.request).with("item", type_name::<T>());
        match &self.actor {
            Some(actor) => error.with("actor", actor.label()),
            None => error,
        }
    }
}

/// Items of an incomplete batch are sent as far as there is room.
impl<T: Send + 'static> Drop for Producer<T> {
    fn drop(&mut self) {
        let _ = self.tx.try_send_all(&mut self.pending);
        self.pending.drain(..).for_each(discard);
        if let Some(mut hooks) = self.hooks.take() {
            let _ = self.tx.end(End::Dropped);
            match self.tx.ended() {
                Some(End::Finished) => hooks.end(StreamOutcome::Finished),
                Some(End::Failed(error)) => hooks.end(StreamOutcome::Failed(&error)),
                Some(End::Dropped) => hooks.end(StreamOutcome::Failed(&self.error(ErrorKind::Unfinished))),
                None => hooks.end(StreamOutcome::Dropped),
            }
        }
    }
}

impl<T: Send + 'static> fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("request", &self.request).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
