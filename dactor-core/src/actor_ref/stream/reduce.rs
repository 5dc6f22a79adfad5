use std::any::type_name;
use std::fmt;
use std::future::{Future, IntoFuture, poll_fn};
use std::pin::{Pin, pin};
use std::time::Duration;

use futures_util::Stream;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::actor_ref::ask::Target;
use crate::actor_ref::stream::expand::{StreamOptions, checked, stream_options};
use crate::actor_ref::stream::feed::Feed;
use crate::base::current;
use crate::delivery::channel::channel;
use crate::{Direction, Error, ErrorKind, Header, Input, Reduce, ReduceRequest, Result};

/// A request with a stream of items: configure it, then await the reply. From
/// [`ActorRef::reduce`](crate::ActorRef::reduce).
#[must_use = "it is sent when it is awaited"]
pub struct Reducing<'a, M: Reduce, S> {
    target: &'a dyn Target<ReduceRequest<M>>,
    message: M,
    items: S,
    options: StreamOptions,
}

impl<'a, M: Reduce, S: Stream<Item = M::Item> + Send + 'a> Reducing<'a, M, S> {
    pub(crate) fn new(target: &'a dyn Target<ReduceRequest<M>>, message: M, items: S) -> Self {
        Self { target, message, items, options: StreamOptions::of::<ReduceRequest<M>>() }
    }

    stream_options!();

    async fn send(self) -> Result<M::Reply> {
        let Self { target, message, items, options } = self;
        let request = type_name::<M>();
        let (tx, rx) = channel(checked(options.buffer, target, request)?);
        let mut feed = Feed::new(items, tx, request);
        let input = Input::new(rx, request);
        if current::actor() == target.pid() {
            return Err(Error::new(ErrorKind::AskedItself).about(target).with("message", request));
        }
        let (ask, _) = options.ask(target, ReduceRequest { message, input });
        let reply = ask.into_pending().await?;
        feed.intercept(reply.item_hooks(Direction::ToActor));
        let mut reply = pin!(reply);
        poll_fn(|cx| {
            let reply = reply.as_mut().poll(cx);
            if reply.is_pending() {
                feed.poll(cx);
            }
            reply
        })
        .await
    }
}

impl<'a, M: Reduce, S: Stream<Item = M::Item> + Send + 'a> IntoFuture for Reducing<'a, M, S> {
    type Output = Result<M::Reply>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

impl<M: Reduce, S> fmt::Debug for Reducing<'_, M, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reducing")
            .field("target", &self.target.label())
            .field("message", &type_name::<M>())
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
