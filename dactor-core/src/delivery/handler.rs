//! Runs one message in its handler.

pub(crate) mod read;

use std::any::{Any, type_name};
use std::future::{Future, ready};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use pin_project_lite::pin_project;

use crate::base::current::Until;
use crate::base::label::Labelled;
use crate::base::panic::{Panic, contain};
use crate::delivery::access::{Dispatch, Handles};
use crate::delivery::ask_state::Asker;
use crate::delivery::completion::{Continuation, DirectReply, End, Finished, Handled, finished};
use crate::delivery::envelope::dispatch::{DispatchContext, DispatchTarget, Route, Running, skip};
use crate::delivery::gate::SharedGate;
use crate::delivery::intercepted::intercept;
use crate::delivery::obligation::{NoObligation, ReplyObligation};
use crate::interceptor::api::Inbound;
use crate::interceptor::items::ItemHooks;
use crate::message::mode::Mode;
use crate::{Actor, Context, Direction, Headers, Message, Outcome};

/// The handler of a message, with the context that it gets.
pub(crate) trait Callee<M: Message>: Send {
    /// Admits the message and its reply, if the actor has a lifecycle; and whether the message counts as activity.
    fn gate(&self) -> Option<(SharedGate, bool)>;
    /// The message is in hand.
    fn begin(&mut self, headers: Headers, asker: Option<Arc<dyn Asker>>);
    /// Shows the items of a stream request to the interceptors. A read has none.
    fn intercept_items(&self, _: &mut M, _: MakeItemHooks<'_>) {}
    fn call(self, message: M) -> impl Future<Output = Outcome<M::Reply>> + Send;
}

/// Makes the item hooks of one stream of this actor.
pub(crate) type MakeItemHooks<'a> = &'a dyn Fn(Arc<dyn Labelled>, Direction) -> Box<ItemHooks<dyn Inbound>>;

/// A handler that has the actor to itself.
pub(crate) struct Alone<'a, A: Actor> {
    actor: &'a mut A,
    ctx: &'a mut Context<A>,
}

impl<A: Handles<M>, M: Message> Callee<M> for Alone<'_, A> {
    fn gate(&self) -> Option<(SharedGate, bool)> {
        Some((self.ctx.gate()?, self.ctx.is_activity()))
    }

    #[inline(always)]
    fn begin(&mut self, headers: Headers, asker: Option<Arc<dyn Asker>>) {
        self.ctx.begin(headers, asker);
    }

    fn intercept_items(&self, message: &mut M, hooks: MakeItemHooks<'_>) {
        let core = &self.ctx.actor_ref().core;
        A::By::intercept_items(message, &|direction| hooks(core.clone(), direction));
    }

    #[inline(always)]
    fn call(self, message: M) -> impl Future<Output = Outcome<M::Reply>> + Send {
        A::By::call(self.actor, message, self.ctx)
    }
}

/// Takes a message to its handler: alone, or beside other reads.
pub(crate) trait ToHandler<'a, M: Message> {
    type Running;
    fn target(&self) -> &'a dyn DispatchTarget;
    /// The obligation is created where it is used: it is large, and moving it would cost as much as the rest.
    fn handle<O: ReplyObligation<M::Reply> + 'a>(
        self,
        message: M,
        headers: Headers,
        mode: Mode,
        obligation: impl FnOnce() -> O,
    ) -> Self::Running;
    /// No handler runs.
    fn skip() -> Self::Running;
}

impl<'a, A: Handles<M>, M: Message> ToHandler<'a, M> for DispatchContext<'a, A> {
    type Running = Running<'a>;

    #[inline]
    fn target(&self) -> &'a dyn DispatchTarget {
        self.route.target
    }

    /// Inlined, so that the running handler is created in place: it is large, and moving it would dominate the cost of a
    /// tell.
    #[inline(always)]
    fn handle<O: ReplyObligation<M::Reply> + 'a>(
        self,
        message: M,
        headers: Headers,
        mode: Mode,
        obligation: impl FnOnce() -> O,
    ) -> Running<'a> {
        let DispatchContext { actor, ctx, route } = self;
        handle_by(Alone { actor, ctx }, route, message, headers, mode, obligation)
    }

    fn skip() -> Running<'a> {
        skip()
    }
}

/// Runs the handler of a message of any access.
#[inline(always)]
fn handle_by<'a, C: Callee<M> + 'a, M: Message, O: ReplyObligation<M::Reply> + 'a>(
    mut callee: C,
    route: Route<'a>,
    message: M,
    headers: Headers,
    mode: Mode,
    obligation: impl FnOnce() -> O,
) -> Running<'a> {
    if let Some(inbound) = route.inbound {
        return intercept(callee, route.target, inbound, message, headers, mode, obligation());
    }
    let mut obligation = obligation();
    callee.begin(headers, obligation.asker());
    obligation.begin();
    start(callee, message, DirectReply(obligation))
}

/// Handles a told message. The receipt is dropped when the message has been handled.
#[inline(always)]
pub(crate) fn handle_told<'a, A: Handles<M>, M: Message, D: Send + 'a>(
    context: DispatchContext<'a, A>,
    message: M,
    headers: Headers,
    receipt: D,
) -> Running<'a> {
    context.handle(message, headers, Mode::Tell, || NoObligation(receipt))
}

/// Starts the handler.
#[inline(always)]
pub(crate) fn start<'a, C: Callee<M> + 'a, M: Message>(
    callee: C,
    message: M,
    mut continuation: impl Continuation<M::Reply> + 'a,
) -> Running<'a> {
    match catch_unwind(AssertUnwindSafe(|| callee.call(message))) {
        Ok(handling) => Running::from_or_box(Handling {
            handling: Some(handling),
            continuation,
            message: PhantomData::<M>,
        }),
        Err(payload) => {
            Running::from_or_box(ready(finished::<M>(continuation.panicked(Panic::new(payload)))))
        }
    }
}

pin_project! {
    /// Runs the handler and its continuation under one panic guard.
    struct Handling<M, F, S> {
        // `None` once it has ended, or was aborted by its asker.
        #[pin]
        handling: Option<F>,
        continuation: S,
        message: PhantomData<M>,
    }

    impl<M, F, S> PinnedDrop for Handling<M, F, S> {
        // A killed handler drops its values here.
        fn drop(this: Pin<&mut Self>) {
            let mut handling = this.project().handling;
            if handling.is_some()
                && let Err(panic) = contain(|| handling.set(None))
            {
                tracing::warn!(of = type_name::<F>(), %panic, "a killed handler panicked while it was dropped");
            }
        }
    }
}

impl<M: Message, F: Future<Output = Outcome<M::Reply>>, S: Continuation<M::Reply>> Future
    for Handling<M, F, S>
{
    type Output = Finished;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Finished> {
        let mut this = self.project();
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let Some(handling) = this.handling.as_mut().as_pin_mut() else {
                unreachable!("a handler is polled to its end once")
            };
            let until = this.continuation.obligation().deadline().map(Until::enter);
            let polled = handling.poll(cx);
            drop(until);
            let end = match polled {
                Poll::Ready(outcome) => End::Returned(outcome),
                // The asker has given up, and the message type has `ABORT`.
                Poll::Pending if this.continuation.obligation().is_aborted(cx) => End::Aborted,
                Poll::Pending => return Poll::Pending,
            };
            // Before the answer: a panic in the future's destructor is a panic of the handler.
            this.handling.set(None);
            Poll::Ready(finished::<M>(this.continuation.conclude(end)))
        }));
        match polled {
            Ok(polled) => polled,
            Err(payload) => Poll::Ready(finished::<M>(caught(this.continuation, payload))),
        }
    }
}

/// Out of line: a handler that does not panic has no use for it.
#[cold]
#[inline(never)]
fn caught<R>(continuation: &mut impl Continuation<R>, payload: Box<dyn Any + Send>) -> Handled {
    continuation.panicked(Panic::new(payload))
}
