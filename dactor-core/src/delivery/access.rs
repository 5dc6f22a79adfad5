//! Which handler trait a message goes to.

use std::future::Future;

use crate::interceptor::api::Inbound;
use crate::interceptor::items::ItemHooks;
use crate::{Actor, Context, Direction, Handler, Message, Outcome};

/// Makes the hooks of one stream of an intercepted request.
pub(crate) type MakeHooks<'a> = &'a dyn Fn(Direction) -> Box<ItemHooks<dyn Inbound>>;

/// The [access](Message::Access) of a message that has the actor to itself while it is handled: its handler is
/// [`Handler`].
#[derive(Debug)]
pub enum Exclusive {}

/// Takes a message of one access to its handler. Implemented for the access types of this crate.
pub trait Dispatch<A: Actor, M: Message> {
    #[doc(hidden)]
    fn call<'a>(
        actor: &'a mut A,
        message: M,
        ctx: &'a mut Context<A>,
    ) -> impl Future<Output = Outcome<M::Reply>> + Send + 'a;

    /// Shows the items that come with the message, or answer it, to the interceptors.
    #[doc(hidden)]
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

/// An actor that has the handler which the message's access asks for.
pub trait Accepts<M: Message>: Actor {
    #[doc(hidden)]
    fn accept<'a>(
        &'a mut self,
        message: M,
        ctx: &'a mut Context<Self>,
    ) -> impl Future<Output = Outcome<M::Reply>> + Send + 'a;
    #[doc(hidden)]
    #[expect(private_interfaces, reason = "only this crate makes hooks")]
    fn intercept_items(message: &mut M, hooks: MakeHooks<'_>);
}

impl<A: Actor, M: Message> Accepts<M> for A
where
    M::Access: Dispatch<A, M>,
{
    #[inline(always)]
    fn accept<'a>(
        &'a mut self,
        message: M,
        ctx: &'a mut Context<Self>,
    ) -> impl Future<Output = Outcome<M::Reply>> + Send + 'a {
        <M::Access as Dispatch<A, M>>::call(self, message, ctx)
    }

    #[expect(private_interfaces, reason = "only this crate makes hooks")]
    fn intercept_items(message: &mut M, hooks: MakeHooks<'_>) {
        <M::Access as Dispatch<A, M>>::intercept_items(message, hooks);
    }
}
