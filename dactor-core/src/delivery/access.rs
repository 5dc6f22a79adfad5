//! Which handler trait a message goes to.

use std::future::Future;

use crate::{Actor, Context, Handler, Message, Outcome};

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
pub trait Handles<M: Message>: Actor {
    #[doc(hidden)]
    fn accept<'a>(
        &'a mut self,
        message: M,
        ctx: &'a mut Context<Self>,
    ) -> impl Future<Output = Outcome<M::Reply>> + Send + 'a;
}

impl<A: Actor, M: Message> Handles<M> for A
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
}
