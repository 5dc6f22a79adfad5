use std::any::type_name;
use std::fmt;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll, ready};

use futures_util::{Stream, StreamExt};
use tokio::task::coop::poll_proceed;

use crate::actor::stream::open::{OpenStreams, Registration, Side};
use crate::delivery::channel::{End, Rx, YIELD_AFTER};
use crate::{Error, ErrorKind, Result};

/// The items that come with a request, which a handler gets: a [`Stream`] of [`Result`]s.
///
/// It ends with `None` when the caller's stream has ended, and with one error when the caller gave up, its stream
/// panicked, or the actor stopped or was restarted. It may outlive the handler: move it into a task, reply
/// [later](crate::Context::reply_later), and the actor is free for its next message.
pub struct Input<T: Send + 'static> {
    rx: Rx<T>,
    /// Counts items, to yield once in a while.
    received: u32,
    over: bool,
    request: &'static str,
    actor: Option<String>,
    registration: Option<Registration>,
}

impl<T: Send + 'static> Input<T> {
    pub(crate) fn new(rx: Rx<T>, request: &'static str) -> Self {
        Self { rx, received: 0, over: false, request, actor: None, registration: None }
    }

    /// Makes it a stream of this actor.
    pub(crate) fn bind(&mut self, streams: &OpenStreams, actor: String) {
        self.actor = Some(actor);
        self.registration = Some(streams.register(Side::Consumer, self.rx.any()));
    }

    /// Makes it a stream of no actor, until the one that it is forwarded to handles it.
    pub(crate) fn unbind(&mut self) {
        self.actor = None;
        self.registration = None;
    }

    pub(super) fn into_rx(self) -> (Rx<T>, &'static str) {
        (self.rx, self.request)
    }

    /// The next item; `None` after the last one.
    ///
    /// # Errors
    ///
    /// [`Cancelled`](ErrorKind::Cancelled) when the caller gave up, [`Panicked`](ErrorKind::Panicked) when its stream
    /// panicked, [`Interrupted`](ErrorKind::Interrupted) when the actor stopped or was restarted. It is the last item.
    pub async fn next(&mut self) -> Option<Result<T>> {
        StreamExt::next(self).await
    }

    fn error(&self, kind: ErrorKind) -> Error {
        let error = Error::new(kind).with("message", self.request).with("item", type_name::<T>());
        match &self.actor {
            Some(actor) => error.with("actor", actor),
            None => error,
        }
    }
}

impl<T: Send + 'static> Unpin for Input<T> {}

impl<T: Send + 'static> Stream for Input<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Option<Result<T>>> {
        if self.over {
            return Poll::Ready(None);
        }
        self.received = self.received.wrapping_add(1);
        if self.received.is_multiple_of(YIELD_AFTER) {
            ready!(poll_proceed(cx)).made_progress();
        }
        self.rx.poll_next(cx).map(|next| {
            let end = match next {
                Ok(item) => return Some(Ok(item)),
                Err(end) => end,
            };
            self.over = true;
            self.registration = None;
            match end {
                End::Finished => None,
                End::Failed(error) => Some(Err(error)),
                End::Dropped => Some(Err(self.error(ErrorKind::Cancelled))),
            }
        })
    }
}

impl<T: Send + 'static> fmt::Debug for Input<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("request", &self.request).finish_non_exhaustive()
    }
}
