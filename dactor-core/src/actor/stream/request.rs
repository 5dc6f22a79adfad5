//! Stream requests as messages: what travels through mailboxes, interceptors and forwards.

use std::any::type_name;
use std::fmt;
use std::future::Future;

use crate::actor::stream::far::{self, NOTHING, wire_of};
use crate::delivery::access::Dispatch;
use crate::message::items::FarStreams;
use crate::message::mode::Mode;
use crate::{
    Actor, Context, Error, ErrorKind, Expand, ExpandHandler, Input, Message, Outcome, Priority, Producer,
    Reduce, ReduceHandler, Transform, TransformHandler, Wire, WireCodec,
};

/// How a stream request gets to its handler.
#[derive(Debug)]
pub enum Streaming {}

macro_rules! request {
    ($(#[$doc:meta])* $name:ident: $message:ident, $mode:ident, $reply:ty, |$wire:ident| $reply_codec:expr, $streams:expr, {$($part:ident: $type:ty),*}) => {
        $(#[$doc])*
        pub struct $name<M: $message> {
            pub(crate) message: M,
            $(pub(crate) $part: $type,)*
        }

        impl<M: $message> $name<M> {
            /// A request to [forward](Context::forward): the handler's own message and what came with it.
            pub fn new(message: M, $(mut $part: $type),*) -> Self {
                $($part.unbind();)*
                Self { message, $($part),* }
            }
        }

        impl<M: $message> Message for $name<M> {
            type Reply = $reply;
            type Access = Streaming;
            const PRIORITY: Priority = M::PRIORITY;
            const MODE: Mode = Mode::$mode;
            const REPLY_IS_ANSWER: bool = matches!(Mode::$mode, Mode::Reduce);
            const WIRE: Option<Wire<Self>> = match M::WIRE {
                Some($wire) => Some(Wire::new(
                    $wire.name(),
                    WireCodec::new(
                        |request: &Self, codec, buffer| wire_of(M::WIRE)?.request().encode(&request.message, codec, buffer),
                        |_, _| Err(Error::new(ErrorKind::Unsupported).with("because", "a stream request is opened with its streams")),
                    ),
                    $reply_codec,
                )),
                None => None,
            };

            fn into_streams(self) -> FarStreams {
                $streams(self)
            }

            fn describe(&self) -> Option<String> {
                self.message.describe()
            }

            fn type_name() -> &'static str {
                type_name::<M>()
            }
        }

        impl<M: $message> fmt::Debug for $name<M> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&type_name::<M>()).finish()
            }
        }
    };
}

request! {
    /// An [`Expand`] request with its producer: from [`ActorRef::expand`](crate::ActorRef::expand).
    ExpandRequest: Expand, Expand, (), |wire| NOTHING, far::of_expand, {out: Producer<M::Item>}
}
request! {
    /// A [`Reduce`] request with its input: from [`ActorRef::reduce`](crate::ActorRef::reduce).
    ReduceRequest: Reduce, Reduce, M::Reply, |wire| wire.output(), far::of_reduce, {input: Input<M::Item>}
}
request! {
    /// A [`Transform`] request with its input and its producer: from
    /// [`ActorRef::transform`](crate::ActorRef::transform).
    TransformRequest: Transform, Transform, (), |wire| NOTHING, far::of_transform, {input: Input<M::Input>, out: Producer<M::Output>}
}

impl<A: ExpandHandler<M>, M: Expand> Dispatch<A, ExpandRequest<M>> for Streaming {
    fn call<'a>(
        actor: &'a mut A,
        request: ExpandRequest<M>,
        ctx: &'a mut Context<A>,
    ) -> impl Future<Output = Outcome<()>> + Send + 'a {
        let ExpandRequest { message, mut out } = request;
        bind_producer(ctx, &mut out);
        let stream = out.any();
        let handling = actor.expand(message, out, ctx);
        async move {
            match handling.await {
                // It stopped because its items are in vain: that is no failure.
                Err(_) if stream.is_closed() => Ok(()),
                outcome => outcome,
            }
        }
    }
}

impl<A: ReduceHandler<M>, M: Reduce> Dispatch<A, ReduceRequest<M>> for Streaming {
    fn call<'a>(
        actor: &'a mut A,
        request: ReduceRequest<M>,
        ctx: &'a mut Context<A>,
    ) -> impl Future<Output = Outcome<M::Reply>> + Send + 'a {
        let ReduceRequest { message, mut input } = request;
        bind_input(ctx, &mut input);
        actor.reduce(message, input, ctx)
    }
}

impl<A: TransformHandler<M>, M: Transform> Dispatch<A, TransformRequest<M>> for Streaming {
    fn call<'a>(
        actor: &'a mut A,
        request: TransformRequest<M>,
        ctx: &'a mut Context<A>,
    ) -> impl Future<Output = Outcome<()>> + Send + 'a {
        let TransformRequest { message, mut input, mut out } = request;
        bind_input(ctx, &mut input);
        bind_producer(ctx, &mut out);
        let stream = out.any();
        let handling = actor.transform(message, input, out, ctx);
        async move {
            match handling.await {
                Err(_) if stream.is_closed() => Ok(()),
                outcome => outcome,
            }
        }
    }
}

fn bind_producer<A: Actor, T: Send + 'static>(ctx: &mut Context<A>, out: &mut Producer<T>) {
    let label = ctx.path().into_text();
    out.bind(ctx.open_streams(), label);
}

fn bind_input<A: Actor, T: Send + 'static>(ctx: &mut Context<A>, input: &mut Input<T>) {
    let label = ctx.path().into_text();
    input.bind(ctx.open_streams(), label);
}
