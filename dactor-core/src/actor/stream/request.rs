//! Stream requests as messages: they pass mailboxes, interceptors and forwards.

use std::any::type_name;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use crate::actor::stream::far::{self, NOTHING, wire_of};
use crate::base::label::Labelled;
use crate::delivery::access::{Dispatch, MakeHooks};
use crate::delivery::channel::AnyStream;
use crate::message::access::Access;
use crate::message::items::FarStreams;
use crate::message::mode::Mode;
use crate::{
    Actor, Context, Direction, Error, ErrorKind, Expand, ExpandHandler, Input, Message, Outcome, Priority,
    Producer, Reduce, ReduceHandler, Transform, TransformHandler, Wire, WireCodec,
};

/// The access mode of stream requests.
#[derive(Debug)]
pub enum Streaming {}

impl Access for Streaming {}

macro_rules! request {
    ($(#[$doc:meta])* $name:ident: $message:ident, $mode:ident, $reply:ty, |$wire:ident| $reply_codec:expr, $streams:expr, {$($part:ident: $type:ty),*}) => {
        $(#[$doc])*
        pub struct $name<M: $message> {
            pub(crate) message: M,
            $(pub(crate) $part: $type,)*
        }

        impl<M: $message> $name<M> {
            /// A request to [forward](Context::forward): the handler's message and its streams.
            pub fn new(message: M, $(mut $part: $type),*) -> Self {
                $($part.unbind();)*
                Self { message, $($part),* }
            }
        }

        impl<M: $message> Message for $name<M> {
            type Reply = $reply;
            type Access = Streaming;
            const PRIORITY: Priority = M::PRIORITY;
            const LOCAL_ONLY: bool = M::LOCAL_ONLY;
            const KEEP_ALIVE: bool = M::KEEP_ALIVE;
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
        let myself = label(ctx);
        out.bind(ctx.open_streams(), myself);
        let stream = out.any();
        producing(stream, actor.expand(message, out, ctx))
    }

    #[expect(private_interfaces, reason = "only this crate makes hooks")]
    fn intercept_items(request: &mut ExpandRequest<M>, hooks: MakeHooks<'_>) {
        request.out.intercept(hooks(Direction::FromActor));
    }
}

impl<A: ReduceHandler<M>, M: Reduce> Dispatch<A, ReduceRequest<M>> for Streaming {
    fn call<'a>(
        actor: &'a mut A,
        request: ReduceRequest<M>,
        ctx: &'a mut Context<A>,
    ) -> impl Future<Output = Outcome<M::Reply>> + Send + 'a {
        let ReduceRequest { message, mut input } = request;
        let myself = label(ctx);
        input.bind(ctx.open_streams(), myself);
        actor.reduce(message, input, ctx)
    }

    #[expect(private_interfaces, reason = "only this crate makes hooks")]
    fn intercept_items(request: &mut ReduceRequest<M>, hooks: MakeHooks<'_>) {
        request.input.intercept(hooks(Direction::ToActor));
    }
}

impl<A: TransformHandler<M>, M: Transform> Dispatch<A, TransformRequest<M>> for Streaming {
    fn call<'a>(
        actor: &'a mut A,
        request: TransformRequest<M>,
        ctx: &'a mut Context<A>,
    ) -> impl Future<Output = Outcome<()>> + Send + 'a {
        let TransformRequest { message, mut input, mut out } = request;
        let myself = label(ctx);
        input.bind(ctx.open_streams(), myself.clone());
        out.bind(ctx.open_streams(), myself);
        let stream = out.any();
        producing(stream, actor.transform(message, input, out, ctx))
    }

    #[expect(private_interfaces, reason = "only this crate makes hooks")]
    fn intercept_items(request: &mut TransformRequest<M>, hooks: MakeHooks<'_>) {
        request.input.intercept(hooks(Direction::ToActor));
        request.out.intercept(hooks(Direction::FromActor));
    }
}

/// Runs a handler that produces items. A handler that returns early because its consumer is gone has not failed.
async fn producing(
    stream: Arc<dyn AnyStream>,
    handling: impl Future<Output = Outcome<()>> + Send,
) -> Outcome<()> {
    match handling.await {
        Err(_) if stream.is_in_vain() => Ok(()),
        outcome => outcome,
    }
}

/// The actor of a stream, for its errors.
fn label<A: Actor>(ctx: &Context<A>) -> Arc<dyn Labelled> {
    ctx.actor_ref().core.clone()
}
