use std::any::type_name;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};

use futures_util::{Stream, StreamExt};
use tokio::task::coop::poll_proceed;

use crate::actor::stream::open::{OpenStreams, Registration, Side};
use crate::base::label::Labelled;
use crate::base::panic::discard;
use crate::delivery::channel::{End, Rx, YIELD_AFTER};
use crate::interceptor::api::Inbound;
use crate::interceptor::items::ItemHooks;
use crate::{Error, ErrorKind, Result, StreamOutcome};

/// The items that come with a request: a [`Stream`] of [`Result`]s for the handler.
///
/// The stream ends with `None` when the caller's stream has ended, and with one error when the caller gave
/// up, its stream panicked, or the actor stopped or was restarted. It may outlive the handler: move it into a
/// task, reply [later](crate::Context::reply_later), and the actor is free for its next message.
pub struct Input<T: Send + 'static> {
    rx: Rx<T>,
    /// Item counter, to yield periodically.
    received: u32,
    over: bool,
    request: &'static str,
    actor: Option<Arc<dyn Labelled>>,
    registration: Option<Registration>,
    /// If interceptors see its items.
    hooks: Option<Box<ItemHooks<dyn Inbound>>>,
}

impl<T: Send + 'static> Input<T> {
    pub(crate) fn new(rx: Rx<T>, request: &'static str) -> Self {
        Self { rx, received: 0, over: false, request, actor: None, registration: None, hooks: None }
    }

    /// Binds the stream to this actor.
    pub(crate) fn bind(&mut self, streams: &OpenStreams, actor: Arc<dyn Labelled>) {
        self.actor = Some(actor);
        if let Some(hooks) = &mut self.hooks {
            hooks.begin();
        }
        self.registration = Some(streams.register(Side::Consumer, self.rx.any()));
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

    pub(super) fn into_rx(self) -> (Rx<T>, &'static str) {
        (self.rx, self.request)
    }

    /// The next item; `None` after the last one.
    ///
    /// # Errors
    ///
    /// [`Cancelled`](ErrorKind::Cancelled) when the caller gave up, [`Panicked`](ErrorKind::Panicked) when its stream
    /// panicked, [`Interrupted`](ErrorKind::Interrupted) when the actor stopped or was restarted,
    /// [`Rejected`](ErrorKind::Rejected) when an interceptor refused an item. It is the last item.
    pub async fn next(&mut self) -> Option<Result<T>> {
        StreamExt::next(self).await
    }

    fn see(&mut self, item: &T) -> Result<()> {
        self.hooks.as_mut().map_or(Ok(()), |hooks| hooks.see(item))
    }

    fn error(&self, kind: ErrorKind) -> Error {
        let error = Error::new(kind).with("message", self.request).with("item", type_name::<T>());
        match &self.actor {
            Some(actor) => error.with("actor", actor.label()),
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
        let end = match ready!(self.rx.poll_next(cx)) {
            Ok(item) if self.hooks.is_none() => return Poll::Ready(Some(Ok(item))),
            Ok(item) => match self.see(&item) {
                Ok(()) => return Poll::Ready(Some(Ok(item))),
                Err(refused) => {
                    discard(item);
                    self.rx.close();
                    End::Failed(refused)
                }
            },
            Err(end) => end,
        };
        self.over = true;
        self.registration = None;
        let error = match end {
            End::Finished => None,
            End::Failed(error) => Some(error),
            End::Dropped => Some(self.error(ErrorKind::Cancelled)),
        };
        if let Some(mut hooks) = self.hooks.take() {
            hooks.end(error.as_ref().map_or(StreamOutcome::Finished, StreamOutcome::Failed));
        }
        Poll::Ready(error.map(Err))
    }
}

impl<T: Send + 'static> fmt::Debug for Input<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("request", &self.request).finish_non_exhaustive()
    }
}
