//! Which handler trait a message goes to.

use std::future::Future;

use crate::delivery::envelope::dispatch::{ReadDispatch, RunningRead};
use crate::delivery::handler::read::read;
use crate::delivery::obligation::ReplyObligation;
use crate::interceptor::api::Inbound;
use crate::interceptor::items::ItemHooks;
use crate::message::access::Access;
use crate::message::mode::Mode;
use crate::{Actor, Context, Direction, Handler, Headers, Message, Outcome, ReadContext, ReadHandler};

/// Makes the hooks of one stream of an intercepted request.
pub(crate) type MakeHooks<'a> = &'a dyn Fn(Direction) -> Box<ItemHooks<dyn Inbound>>;

/// The [access](Message::Access) of a message that is handled with exclusive access to the actor, by
/// [`Handler`].
#[derive(Debug)]
pub enum Exclusive {}

/// The [access](Message::Access) of a message that only reads: its handler is [`ReadHandler`], and it runs beside other
/// reads of the same actor. `#[message(read)]` on the derive sets it.
#[derive(Debug)]
pub enum Shared {}

/// The same for a read that does not wait behind a waiting write: it joins the reads that the write waits for.
/// `#[message(interleave)]` on the derive sets it.
///
/// It is meant for a call back: another actor that a read asks can read this actor before it answers, whatever waits in
/// the mailbox. It has no place in the order of reads and writes.
#[derive(Debug)]
pub enum Interleaved {}

impl Access for Exclusive {}

impl Access for Shared {
    const READS: bool = true;
}

impl Access for Interleaved {
    const READS: bool = true;
    const INTERLEAVES: bool = true;
}

/// An actor that may be read by several messages at once. A reference to it can be sent to other threads whatever the
/// type of the actor is: the message that gave it knows that the actor is `Sync`.
pub trait SharedActor<A>: Sync {
    #[doc(hidden)]
    fn get(&self) -> &A;
}

impl<A: Sync> SharedActor<A> for A {
    fn get(&self) -> &A {
        self
    }
}

/// Dispatches a message of one access type to its handler. Implemented for the access types of this crate.
#[diagnostic::on_unimplemented(
    message = "the actor `{A}` has no handler for `{M}`, whose access is `{Self}`",
    note = "a message with `#[message(read)]` or `#[message(interleave)]` is handled by `ReadHandler`, another one by `Handler`"
)]
pub trait Dispatch<A: Actor, M: Message> {
    /// Runs the handler, which has the actor to itself.
    #[doc(hidden)]
    fn call<'a>(
        actor: &'a mut A,
        message: M,
        ctx: &'a mut Context<A>,
    ) -> impl Future<Output = Outcome<M::Reply>> + Send + 'a;

    /// The actor for several reads, if the message is one.
    #[doc(hidden)]
    fn share(actor: &A) -> Option<&dyn SharedActor<A>> {
        let _ = actor;
        None
    }

    /// Runs the handler of a read beside others.
    #[doc(hidden)]
    #[expect(private_interfaces, private_bounds, reason = "only this crate makes a context")]
    fn read<'a>(
        context: ReadDispatch<'a, A>,
        message: M,
        headers: Headers,
        mode: Mode,
        obligation: impl ReplyObligation<M::Reply> + 'a,
    ) -> RunningRead<'a> {
        let _ = (context, message, headers, mode, obligation);
        unreachable!("only a read is dispatched as one")
    }

    /// Shows the items that come with the message, or answer it, to the interceptors.
    #[expect(private_interfaces, reason = "only this crate makes hooks")]
    fn intercept_items(_: &mut M, _: MakeHooks<'_>) {}
}

impl<A: Handler<M>, M: Message> Dispatch<A, M> for Exclusive {
    #[inline(always)]
    fn call<'a>(
        actor: &'a mut A,
        message: M,
        ctx: &'a mut Context<A>,
    ) -> impl Future<Output = Outcome<M::Reply>> + Send + 'a {
        actor.handle(message, ctx)
    }
}

macro_rules! reads {
    ($($access:ident),*) => {$(
        impl<A: ReadHandler<M>, M: Message> Dispatch<A, M> for $access {
            /// From a timer, a stream or a pipe: these wait for one message at a time.
            fn call<'a>(
                actor: &'a mut A,
                message: M,
                ctx: &'a mut Context<A>,
            ) -> impl Future<Output = Outcome<M::Reply>> + Send + 'a {
                let ctx = ReadContext::in_turn(ctx);
                async move { actor.read(message, &ctx).await }
            }

            fn share(actor: &A) -> Option<&dyn SharedActor<A>> {
                Some(actor)
            }

            #[expect(private_interfaces, private_bounds, reason = "only this crate makes a context")]
            fn read<'a>(
                context: ReadDispatch<'a, A>,
                message: M,
                headers: Headers,
                mode: Mode,
                obligation: impl ReplyObligation<M::Reply> + 'a,
            ) -> RunningRead<'a> {
                read(context, message, headers, mode, obligation)
            }
        }
    )*};
}

reads!(Shared, Interleaved);

/// An actor with the handler that the message's access type requires.
pub trait Handles<M: Message>: Actor {
    /// Dispatches the message.
    #[doc(hidden)]
    type By: Dispatch<Self, M>;
}

impl<A: Actor, M: Message> Handles<M> for A
where
    M::Access: Dispatch<A, M>,
{
    type By = M::Access;
}
