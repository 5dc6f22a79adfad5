use std::any::type_name;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::{Stream, StreamExt};
use tokio::task::coop::poll_proceed;

use crate::actor_ref::outbound::OutboundGuard;
use crate::actor_ref::pending::PendingReply;
use crate::actor_ref::stream::limits::Watch;
use crate::base::label::Labelled;
use crate::base::panic::discard;
use crate::delivery::channel::{End, Rx, YIELD_AFTER};
use crate::interceptor::api::Outbound;
use crate::interceptor::items::ItemHooks;
use crate::{Direction, Error, ErrorKind, Headers, Message, Result, StreamOutcome};

/// The items of a stream that an actor produces: a [`Stream`] of [`Result`]s.
///
/// The stream ends with `None` when the producer has finished, and otherwise with one error: the handler
/// failed or panicked, the actor stopped, was killed or restarted, a limit was reached, or the producer was
/// dropped without finishing. Dropping it closes the stream: the producer's next send fails, and a request
/// that has not reached a handler is withdrawn.
#[must_use = "dropping it closes the stream"]
pub struct Items<T: Send + 'static> {
    rx: Rx<T>,
    /// The handler's result, until it is known.
    handler: Option<Box<dyn HandlerEnd>>,
    /// Why the handler failed: delivered after the buffered items.
    failed: Option<Error>,
    watch: Option<Box<Watch>>,
    /// Item counter, to yield and to check the limits periodically.
    received: u32,
    over: bool,
    request: &'static str,
    actor: Arc<dyn Labelled>,
    /// If interceptors see the stream.
    intercepted: Option<Box<InterceptedItems>>,
}

/// The interceptors that saw the request leave. Dropped with the stream, they see that it was given up.
struct InterceptedItems {
    hooks: ItemHooks<dyn Outbound>,
    guard: Box<OutboundGuard>,
    reply_headers: Headers,
}

impl InterceptedItems {
    /// Shows the end to the interceptors. A panic in one of them fails a stream that had not failed.
    fn end(mut self, end: Result<()>) -> Result<()> {
        self.hooks.end(end.as_ref().err().map_or(StreamOutcome::Finished, StreamOutcome::Failed));
        self.guard.run_on_reply(end, &mut self.reply_headers)
    }
}

/// The result of a stream request's handler.
pub(crate) trait HandlerEnd: Send {
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<(Result<()>, Headers)>;
    /// The stream is complete: stops waiting for the handler.
    fn detach(self: Box<Self>);
}

impl<M: Message<Reply = ()>> HandlerEnd for PendingReply<M> {
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<(Result<()>, Headers)> {
        self.poll_whole(cx)
    }

    fn detach(self: Box<Self>) {
        PendingReply::detach(*self);
    }
}

impl<T: Send + 'static> Items<T> {
    pub(crate) fn new<M: Message<Reply = ()>>(
        rx: Rx<T>,
        mut handler: PendingReply<M>,
        watch: Option<Box<Watch>>,
        actor: Arc<dyn Labelled>,
    ) -> Self {
        let intercepted = handler.take_guard().map(|guard| {
            let hooks = guard.item_hooks(Direction::FromActor);
            Box::new(InterceptedItems { hooks, guard, reply_headers: Headers::default() })
        });
        Self {
            rx,
            handler: Some(Box::new(handler)),
            failed: None,
            watch,
            received: 0,
            over: false,
            request: M::type_name(),
            actor,
            intercepted,
        }
    }

    /// The next item; `None` after the last one.
    ///
    /// # Errors
    ///
    /// One error instead of `None`, when the stream is incomplete.
    pub async fn next(&mut self) -> Option<Result<T>> {
        StreamExt::next(self).await
    }

    fn error(&self, kind: ErrorKind) -> Error {
        Error::new(kind)
            .with("actor", self.actor.label())
            .with("message", self.request)
            .with("item", type_name::<T>())
    }

    /// The last item. A producer that is not done is notified.
    fn last(&mut self, end: Result<()>) -> Option<Result<T>> {
        self.over = true;
        self.watch = None;
        let handler = self.handler.take();
        if end.is_err() {
            drop(handler);
            self.rx.close();
        } else if let Some(handler) = handler {
            handler.detach();
        }
        let end = match self.intercepted.take() {
            Some(intercepted) => intercepted.end(end),
            None => end,
        };
        end.err().map(Err)
    }

    /// An item has come. An interceptor that refuses it ends the stream.
    fn item(&mut self, item: T) -> Option<Result<T>> {
        if let Some(watch) = &mut self.watch {
            watch.item();
        }
        let seen = self.intercepted.as_mut().map_or(Ok(()), |intercepted| intercepted.hooks.see(&item));
        match seen {
            Ok(()) => Some(Ok(item)),
            Err(refused) => {
                discard(item);
                self.last(Err(refused))
            }
        }
    }

    /// Polls the handler until it has ended. `true` if it has just failed.
    fn handler_failed(&mut self, cx: &mut Context<'_>) -> bool {
        if let Some(handler) = &mut self.handler
            && let Poll::Ready((ended, headers)) = handler.poll_end(cx)
        {
            self.handler = None;
            self.failed = ended.err();
            if let Some(intercepted) = &mut self.intercepted {
                intercepted.reply_headers = headers;
            }
        }
        self.failed.is_some()
    }

    /// Gives up when a limit is reached.
    fn poll_limits(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        let Some(watch) = &mut self.watch else { return Poll::Pending };
        let (kind, limit) = ready!(watch.poll(cx));
        let error = self.error(kind).with("limit", limit);
        Poll::Ready(self.last(Err(error)))
    }
}

impl<T: Send + 'static> Unpin for Items<T> {}

impl<T: Send + 'static> Stream for Items<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        let this = &mut *self;
        if this.over {
            return Poll::Ready(None);
        }
        this.received = this.received.wrapping_add(1);
        if this.received.is_multiple_of(YIELD_AFTER) {
            ready!(poll_proceed(cx)).made_progress();
            if let Poll::Ready(last) = this.poll_limits(cx) {
                return Poll::Ready(last);
            }
        }
        let mut next = this.rx.poll_next(cx);
        if next.is_pending() && this.handler_failed(cx) {
            // Items sent before the failure come first.
            next = this.rx.poll_next(cx);
        }
        match next {
            Poll::Ready(Ok(item)) => Poll::Ready(this.item(item)),
            Poll::Ready(Err(End::Finished)) => Poll::Ready(this.last(Ok(()))),
            Poll::Ready(Err(End::Failed(error))) => Poll::Ready(this.last(Err(error))),
            Poll::Ready(Err(End::Dropped)) => {
                // The handler's error is more precise.
                this.handler_failed(cx);
                if this.handler.is_some() {
                    return this.poll_limits(cx);
                }
                let error = this.failed.take().unwrap_or_else(|| this.error(ErrorKind::Unfinished));
                Poll::Ready(this.last(Err(error)))
            }
            Poll::Pending => match this.failed.take() {
                Some(error) => Poll::Ready(this.last(Err(error))),
                None => this.poll_limits(cx),
            },
        }
    }
}

impl<T: Send + 'static> fmt::Debug for Items<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Items")
            .field("actor", &self.actor.label())
            .field("request", &self.request)
            .finish_non_exhaustive()
    }
}
