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
use crate::base::panic::{Contained, discard};
use crate::delivery::channel::{AnyStream, End, Refused, Tx, YIELD_AFTER};
use crate::{Error, ErrorKind, Failure, Result, SendError};

/// The producing half of a stream, which a handler gets.
///
/// It may outlive the handler: move it into a task, and the actor is free for its next message. The stream ends when the
/// producer is [finished](Self::finish) or [fails](Self::fail). A producer that is dropped without either ends the stream
/// with [`Unfinished`](ErrorKind::Unfinished), because the consumer cannot tell a short stream from a whole one otherwise.
///
/// The stream belongs to the instance of the actor that handles it: when the actor stops, is killed or is restarted, the
/// stream ends with [`Interrupted`](ErrorKind::Interrupted).
#[must_use = "a producer that is dropped without `finish` ends its stream with an error"]
pub struct Producer<T: Send + 'static> {
    tx: Tx<T>,
    /// Items that are sent together, with [`batch`](crate::ExpandRequest).
    pending: VecDeque<T>,
    batch: usize,
    /// Counts items, to yield once in a while.
    sent: u32,
    request: &'static str,
    actor: Option<String>,
    registration: Option<Registration>,
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
        }
    }

    /// Makes it a stream of this actor.
    pub(crate) fn bind(&mut self, streams: &OpenStreams, actor: String) {
        self.actor = Some(actor);
        self.registration = Some(streams.register(Side::Producer, self.tx.any()));
    }

    /// Makes it a stream of no actor, until the one that it is forwarded to handles it.
    pub(crate) fn unbind(&mut self) {
        self.actor = None;
        self.registration = None;
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

    /// Sends an item, and waits for room in the buffer.
    ///
    /// # Errors
    ///
    /// [`ConsumerGone`](ErrorKind::ConsumerGone) when the consumer was dropped. A handler may return it with `?`: it is no
    /// failure of the actor. [`Interrupted`](ErrorKind::Interrupted) when the actor has stopped or was restarted.
    ///
    /// Dropped before it completes, it has not sent the item; with [`batch`](crate::Expanding::batch), the item may be in
    /// the batch already.
    pub async fn send(&mut self, item: T) -> Result<()> {
        if self.batch > 1 {
            // A batch stays full when a send that waited for room was dropped.
            if self.pending.len() >= self.batch {
                self.flush().await?;
            }
            self.pending.push_back(item);
            return if self.pending.len() < self.batch { Ok(()) } else { self.flush().await };
        }
        self.sent = self.sent.wrapping_add(1);
        if self.sent.is_multiple_of(YIELD_AFTER) {
            consume_budget().await;
        }
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
        let sent = if self.batch > 1 { self.try_send_batched(item) } else { self.tx.try_send(item) };
        sent.map_err(|refused| {
            let reason = self.refused(&refused);
            let (Refused::Full(message) | Refused::Closed(message) | Refused::Ended(message)) = refused;
            SendError { message, reason }
        })
    }

    /// Behind the items that wait for their batch to be full.
    fn try_send_batched(&mut self, item: T) -> Result<(), Refused<T>> {
        if self.pending.len() >= self.batch
            && let Err(refused) = self.tx.try_send_all(&mut self.pending)
            && (self.pending.len() >= self.batch || !matches!(refused, Refused::Full(())))
        {
            return Err(refused.map(|()| item));
        }
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

    /// Sends the items that wait for their batch to be full.
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

    /// Ends the stream: the consumer gets what is buffered, and then the end.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send): the consumer will not see the end.
    pub async fn finish(mut self) -> Result<()> {
        if !self.pending.is_empty() {
            self.flush().await?;
        }
        self.tx.end(End::Finished).map_err(|refused| self.refused(&refused))
    }

    /// Ends the stream with an error, after what is buffered. Items of a batch that is not full are sent as far as there is
    /// room.
    pub fn fail(self, failure: impl Into<Failure>) {
        let error = self.error(ErrorKind::Failed).because_shared(failure.into().shared());
        self.end_with(error);
    }

    fn end_with(mut self, error: Error) {
        let _ = self.tx.try_send_all(&mut self.pending);
        let _ = self.tx.end(End::Failed(error));
    }

    /// Sends all items of a stream and finishes, beside the actor: in a task of its own. A stream that panics ends this one
    /// with an error; it is dropped when the consumer is gone or the actor ends.
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

    /// Completes when the consumer is gone, or the actor has stopped or was restarted: further items would be in vain.
    pub async fn closed(&mut self) {
        poll_fn(|cx| self.poll_over(cx)).await;
    }

    /// Completes when the actor is asked to drain: the producer should finish soon. The actor waits for it.
    pub async fn drain_requested(&self) {
        match &self.registration {
            Some(registration) => registration.finishing().cancelled().await,
            None => std::future::pending().await,
        }
    }

    /// Whether the actor is asked to drain: see [`drain_requested`](Self::drain_requested).
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
            Some(actor) => error.with("actor", actor),
            None => error,
        }
    }
}

/// Items of a batch that is not full are sent as far as there is room.
impl<T: Send + 'static> Drop for Producer<T> {
    fn drop(&mut self) {
        let _ = self.tx.try_send_all(&mut self.pending);
        self.pending.drain(..).for_each(discard);
    }
}

impl<T: Send + 'static> fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("request", &self.request).finish_non_exhaustive()
    }
}
