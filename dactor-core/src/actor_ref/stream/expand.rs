use std::any::type_name;
use std::fmt;
use std::future::{Future, IntoFuture, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::actor_ref::ask::{Ask, Target};
use crate::actor_ref::stream::BUFFER;
use crate::actor_ref::stream::items::Items;
use crate::actor_ref::stream::limits::{Limits, ending_by};
use crate::base::current;
use crate::delivery::channel::{Rx, channel};
use crate::interceptor::api::Outbound;
use crate::interceptor::items::ItemHooks;
use crate::message::options::SendOptions;
use crate::{Direction, Error, Expand, ExpandRequest, Header, Message, Mode, Producer, Result};

/// A request for a stream of items: configure it, then await it. From [`ActorRef::expand`](crate::ActorRef::expand).
#[must_use = "it is sent when it is awaited"]
pub struct Expanding<'a, M: Expand> {
    target: &'a dyn Target<ExpandRequest<M>>,
    message: M,
    options: StreamOptions,
}

/// Options that a caller sets for a stream.
#[derive(Debug)]
pub(crate) struct StreamOptions {
    pub(crate) send: SendOptions,
    pub(crate) buffer: usize,
    pub(crate) batch: usize,
    pub(crate) limits: Limits,
}

impl StreamOptions {
    pub(crate) fn of<M: Message>() -> Self {
        Self { send: SendOptions::of::<M>(), buffer: BUFFER, batch: 1, limits: Limits::default() }
    }

    /// Builds the ask of the request, and returns the remaining options.
    pub(crate) fn ask<'a, M: Message>(self, target: &'a dyn Target<M>, request: M) -> (Ask<'a, M>, Limits) {
        let Self { send, mut limits, .. } = self;
        limits.whole = [limits.whole, current::deadline()].into_iter().flatten().min();
        let mut ask = Ask::new(target, request, send);
        if let Some(whole) = limits.whole {
            ask = ask.deadline(whole);
        }
        if let Some(token) = &limits.cancel {
            ask = ask.cancel(token.clone());
        }
        (ask, limits)
    }

    /// Sends the request, and gives its items. The limits count from here on, also while an interceptor delays it.
    pub(crate) async fn send<M: Message<Reply = ()>, T: Send + 'static>(
        self,
        target: &dyn Target<M>,
        request: M,
        rx: Rx<T>,
    ) -> Result<(Items<T>, Option<Box<ItemHooks<dyn Outbound>>>)> {
        let (ask, limits) = self.ask(target, request);
        let mut watch = limits.start();
        let mut sending = pin!(ask.into_pending());
        let sent = poll_fn(|cx| match (sending.as_mut().poll(cx), &mut watch) {
            (Poll::Pending, Some(watch)) => watch.poll(cx).map(|(kind, limit)| {
                let error = Error::new(kind).about(target).with("message", M::type_name());
                Err(error.with("limit", limit).unhandled())
            }),
            (sent, _) => sent,
        });
        let handler = sent.await?;
        let watch = ending_by(watch, handler.deadline());
        // Those of its input, if it has one.
        let hooks = (M::MODE == Mode::Transform).then(|| handler.item_hooks(Direction::ToActor)).flatten();
        Ok((Items::new(rx, handler, watch, target.labelled()), hooks))
    }
}

/// Methods of all stream requests.
macro_rules! stream_options {
    () => {
        /// How many items are buffered between producer and consumer: 32 unless set. 0 is
        /// [`InvalidCapacity`](crate::ErrorKind::InvalidCapacity).
        pub fn buffer(mut self, items: usize) -> Self {
            self.options.buffer = items;
            self
        }

        /// Sets a timeout for the whole stream, counted from this call. The handler sees it as its
        /// [deadline](crate::Context::deadline).
        pub fn timeout(self, time: Duration) -> Self {
            self.deadline(crate::Deadline::after(time).0)
        }

        /// Sets a deadline for the whole stream. Inside a handler the stream inherits the deadline of the
        /// current message.
        pub fn deadline(mut self, deadline: Instant) -> Self {
            self.options.limits.whole = Some(deadline);
            self
        }

        /// Gives up when the token is cancelled.
        pub fn cancel(mut self, token: CancellationToken) -> Self {
            self.options.limits.cancel = Some(token);
            self
        }

        /// Sends the request with this header.
        pub fn header(mut self, header: impl Header) -> Self {
            self.options.send.headers.insert(header);
            self
        }
    };
}
pub(crate) use stream_options;

/// Methods of stream requests whose answer is a stream.
macro_rules! item_options {
    () => {
        /// Sets a timeout for the first item.
        pub fn first_within(mut self, time: Duration) -> Self {
            self.options.limits.first = Some(time);
            self
        }

        /// Sets a timeout for each further item, counted from the previous one.
        pub fn item_within(mut self, time: Duration) -> Self {
            self.options.limits.between = Some(time);
            self
        }

        /// Sends this many items at a time: fewer wake-ups, but an item waits until its batch is full or the
        /// producer [flushes](crate::Producer::flush) or finishes. At most the size of the
        /// [buffer](Self::buffer).
        pub fn batch(mut self, items: usize) -> Self {
            self.options.batch = items;
            self
        }
    };
}
pub(crate) use item_options;

impl<'a, M: Expand> Expanding<'a, M> {
    pub(crate) fn new(target: &'a dyn Target<ExpandRequest<M>>, message: M) -> Self {
        Self { target, message, options: StreamOptions::of::<ExpandRequest<M>>() }
    }

    stream_options!();
    item_options!();

    async fn send(self) -> Result<Items<M::Item>> {
        let Self { target, message, options } = self;
        let request = type_name::<M>();
        let buffer = checked(options.buffer, target, request)?;
        let (tx, rx) = channel(buffer);
        let out = Producer::new(tx, options.batch.min(buffer), request);
        let (items, _) = options.send(target, ExpandRequest { message, out }, rx).await?;
        Ok(items)
    }
}

/// Validates the buffer size.
pub(crate) fn checked<M: Message>(
    buffer: usize,
    target: &dyn Target<M>,
    request: &'static str,
) -> Result<usize> {
    if buffer > 0 {
        return Ok(buffer);
    }
    let error = crate::Error::new(crate::ErrorKind::InvalidCapacity).about(target).with("message", request);
    Err(error.with("buffer", 0).with("because", "the buffer must hold at least one item"))
}

impl<'a, M: Expand> IntoFuture for Expanding<'a, M> {
    type Output = Result<Items<M::Item>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

impl<M: Expand> fmt::Debug for Expanding<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expanding")
            .field("target", &self.target.label())
            .field("message", &type_name::<M>())
            .field("options", &self.options)
            .finish()
    }
}
