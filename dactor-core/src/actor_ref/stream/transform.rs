use std::any::type_name;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::actor_ref::ask::Target;
use crate::actor_ref::stream::expand::{StreamOptions, checked, item_options, stream_options};
use crate::actor_ref::stream::feed::Feed;
use crate::actor_ref::stream::items::Items;
use crate::delivery::channel::channel;
use crate::{ErrorKind, Header, Input, Producer, Result, Transform, TransformRequest};

/// A request that transforms a stream of items: configure it, then await it. From
/// [`ActorRef::transform`](crate::ActorRef::transform).
#[must_use = "it is sent when it is awaited"]
pub struct Transforming<'a, M: Transform, S> {
    target: &'a dyn Target<TransformRequest<M>>,
    message: M,
    items: S,
    options: StreamOptions,
}

impl<'a, M: Transform, S: Stream<Item = M::Input> + Send + 'a> Transforming<'a, M, S> {
    pub(crate) fn new(target: &'a dyn Target<TransformRequest<M>>, message: M, items: S) -> Self {
        Self { target, message, items, options: StreamOptions::of::<TransformRequest<M>>() }
    }

    stream_options!();
    item_options!();

    async fn send(self) -> Result<Transformed<M::Output, S>> {
        let Self { target, message, items, options } = self;
        let request = type_name::<M>();
        let buffer = checked(options.buffer, target, request)?;
        let (input_tx, input_rx) = channel(buffer);
        let (tx, rx) = channel(buffer);
        let mut feed = Feed::new(items, input_tx, request);
        let input = Input::new(input_rx, request);
        let out = Producer::new(tx, options.batch.min(buffer), request);
        let (items, hooks) = options.send(target, TransformRequest { message, input, out }, rx).await?;
        feed.intercept(hooks);
        Ok(Transformed { items, feed, taken: 0 })
    }
}

impl<'a, M: Transform, S: Stream<Item = M::Input> + Send + 'a> IntoFuture for Transforming<'a, M, S> {
    type Output = Result<Transformed<M::Output, S>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

impl<M: Transform, S> fmt::Debug for Transforming<'_, M, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transforming")
            .field("target", &self.target.label())
            .field("message", &type_name::<M>())
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// The items that an actor made from the caller's items, like [`Items`]. Polling it also drives the caller's
/// stream.
#[must_use = "dropping it closes the stream"]
pub struct Transformed<T: Send + 'static, S: Stream> {
    items: Items<T>,
    feed: Feed<S>,
    /// Items taken since the caller's stream was last polled.
    taken: usize,
}

/// The caller's stream is polled when no item is ready, and after this many that were.
const FEED_AFTER: usize = 16;

impl<T: Send + 'static, S: Stream> Transformed<T, S>
where
    S::Item: Send + 'static,
{
    /// The next item; `None` after the last one.
    ///
    /// # Errors
    ///
    /// One error instead of `None`, when the stream is incomplete.
    pub async fn next(&mut self) -> Option<Result<T>> {
        StreamExt::next(self).await
    }
}

impl<T: Send + 'static, S: Stream> Unpin for Transformed<T, S> {}

impl<T: Send + 'static, S: Stream> Stream for Transformed<T, S>
where
    S::Item: Send + 'static,
{
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        let Self { items, feed, taken } = &mut *self;
        *taken += 1;
        if *taken >= FEED_AFTER {
            *taken = 0;
            feed.poll(cx);
        }
        let mut next = Pin::new(&mut *items).poll_next(cx);
        if next.is_pending() {
            feed.poll(cx);
            next = Pin::new(items).poll_next(cx);
        }
        match &next {
            Poll::Ready(Some(Err(error))) if error.kind() == ErrorKind::Interrupted => feed.interrupt(error),
            Poll::Ready(None | Some(Err(_))) => feed.stop(),
            Poll::Ready(Some(Ok(_))) | Poll::Pending => {}
        }
        next
    }
}

impl<T: Send + 'static, S: Stream> fmt::Debug for Transformed<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Transformed").field(&self.items).finish()
    }
}
