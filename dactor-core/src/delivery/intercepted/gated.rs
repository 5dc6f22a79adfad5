//! One message of an actor with a [`Lifecycle`], which is asked before the message is handled and before it is answered.

use std::future::ready;
use std::sync::Arc;
use std::task::Context as TaskContext;

use tokio::time::Instant;

use super::{Unhandled, run_interceptors};
use crate::base::panic::{Panic, contain, discard};
use crate::delivery::access::Handles;
use crate::delivery::ask_state::Asker;
use crate::delivery::completion::{DirectReply, Handled};
use crate::delivery::envelope::dispatch::{DispatchContext, Running};
use crate::delivery::envelope::lifecycle::SharedLifecycle;
use crate::delivery::handler::start;
use crate::delivery::obligation::{ReplyObligation, ReplyStatus};
use crate::interceptor::api::Inbound;
use crate::message::mode::Mode;
use crate::{Actor, Error, Failure, Headers, Message, Result};

/// Takes a message to its handler, if the lifecycle of the actor admits it.
pub(super) fn run_gated<'a, A: Handles<M>, M: Message, O: ReplyObligation<M::Reply> + 'a>(
    context: DispatchContext<'a, A>,
    chain: &'a [Arc<dyn Inbound>],
    message: M,
    headers: Headers,
    mode: Mode,
    obligation: O,
    lifecycle: SharedLifecycle<A>,
) -> Running<'a> {
    let admitted = lifecycle.admit();
    let mut obligation = GatedObligation { inner: obligation, lifecycle };
    match admitted {
        Ok(None) => dispatch(context, chain, message, headers, mode, obligation),
        Ok(Some(wait)) => {
            let is_told = obligation.waiting().is_none();
            let mut unhandled = Unhandled { message: Some(message), target: context.target, is_told };
            Running::from_or_box(async move {
                wait.await;
                let Some(message) = unhandled.message.take() else { unreachable!("it is taken once") };
                dispatch(context, chain, message, headers, mode, obligation).await
            })
        }
        Err(error) => {
            let error = error.about(context.target).with("message", M::type_name());
            let text = contain(|| message.describe()).unwrap_or_else(|panic| Some(format!("({panic})")));
            discard(message);
            discard(headers);
            if obligation.inner.give(Err(error.clone())) != ReplyStatus::Delivered {
                context.target.report_dead_letter(M::type_name(), &error, &|| text.clone());
            }
            Running::from_or_box(ready(Handled::Done))
        }
    }
}

fn dispatch<'a, A: Handles<M>, M: Message, O: ReplyObligation<M::Reply> + 'a>(
    context: DispatchContext<'a, A>,
    chain: &'a [Arc<dyn Inbound>],
    message: M,
    headers: Headers,
    mode: Mode,
    mut obligation: O,
) -> Running<'a> {
    if !chain.is_empty() {
        return run_interceptors(context, chain, message, headers, mode, obligation);
    }
    let DispatchContext { actor, ctx, .. } = context;
    ctx.begin(headers, obligation.asker());
    obligation.begin();
    start(actor, ctx, message, DirectReply(obligation))
}

/// An obligation whose answer is given only if the lifecycle of the actor allows it.
struct GatedObligation<A: Actor, O> {
    inner: O,
    lifecycle: SharedLifecycle<A>,
}

impl<A: Actor, O> GatedObligation<A, O> {
    /// The error to give instead of the answer.
    fn refusal(&self) -> Option<Error> {
        self.lifecycle.may_reply().err().map(Error::perhaps_handled)
    }
}

impl<A: Actor, R, O: ReplyObligation<R>> ReplyObligation<R> for GatedObligation<A, O> {
    fn begin(&mut self) {
        self.inner.begin();
    }

    fn give(&mut self, answer: Result<R>) -> ReplyStatus {
        match (answer, self.refusal()) {
            (answer, None) => self.inner.give(answer),
            (answer, Some(error)) => {
                discard(answer);
                self.inner.give(Err(error))
            }
        }
    }

    fn failed(&mut self, failure: &Failure) -> ReplyStatus {
        match self.refusal() {
            None => self.inner.failed(failure),
            Some(error) => self.inner.give(Err(error)),
        }
    }

    fn panicked(&mut self, panic: &Panic) -> ReplyStatus {
        self.inner.panicked(panic)
    }

    fn pass_on(&mut self) {
        self.inner.pass_on();
    }

    fn is_deferred(&self) -> bool {
        self.inner.is_deferred()
    }

    fn asker(&self) -> Option<Arc<dyn Asker>> {
        self.inner.asker()
    }

    fn waiting(&self) -> Option<&dyn Asker> {
        self.inner.waiting()
    }

    fn hold(&mut self) {
        self.inner.hold();
    }

    fn release(&mut self) {
        self.inner.release();
    }

    fn deadline(&self) -> Option<Instant> {
        self.inner.deadline()
    }

    fn is_aborted(&mut self, cx: &mut TaskContext<'_>) -> bool {
        self.inner.is_aborted(cx)
    }
}
