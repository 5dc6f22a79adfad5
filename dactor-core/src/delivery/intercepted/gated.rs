//! One message of an actor with a [lifecycle](Gate), which is asked before the message is handled and before it is answered.

use std::sync::Arc;
use std::task::Context as TaskContext;

use tokio::time::Instant;

use super::{Unhandled, run_interceptors};
use crate::base::panic::{Panic, contain, discard};
use crate::delivery::ask_state::Asker;
use crate::delivery::completion::DirectReply;
use crate::delivery::envelope::dispatch::{DispatchTarget, InboundChain, Running, skip};
use crate::delivery::gate::SharedGate;
use crate::delivery::handler::{Callee, start};
use crate::delivery::obligation::{ReplyObligation, ReplyStatus};
use crate::message::mode::Mode;
use crate::{Error, Failure, Headers, Message, Result};

/// Takes a message to its handler, if the lifecycle of the actor admits it.
#[allow(clippy::too_many_arguments)]
pub(super) fn run_gated<'a, C: Callee<M> + 'a, M: Message, O: ReplyObligation<M::Reply> + 'a>(
    callee: C,
    target: &'a dyn DispatchTarget,
    inbound: InboundChain<'a>,
    message: M,
    headers: Headers,
    mode: Mode,
    obligation: O,
    (gate, is_activity): (SharedGate, bool),
) -> Running<'a> {
    let admitted = gate.admit(is_activity);
    let mut obligation = GatedObligation { inner: obligation, gate, is_activity };
    match admitted {
        Ok(None) => dispatch(callee, target, inbound, message, headers, mode, obligation),
        Ok(Some(wait)) => {
            let is_told = obligation.waiting().is_none();
            let mut unhandled = Unhandled { message: Some(message), target, is_told };
            Running::from_or_box(async move {
                wait.await;
                let Some(message) = unhandled.message.take() else { unreachable!("it is taken once") };
                dispatch(callee, target, inbound, message, headers, mode, obligation).await
            })
        }
        Err(error) => {
            let error = error.about(target).with("message", M::type_name());
            let text = contain(|| message.describe()).unwrap_or_else(|panic| Some(format!("({panic})")));
            discard(message);
            discard(headers);
            if obligation.inner.give(Err(error.clone())) != ReplyStatus::Delivered {
                target.report_dead_letter(M::type_name(), &error, &|| text.clone());
            }
            skip()
        }
    }
}

fn dispatch<'a, C: Callee<M> + 'a, M: Message, O: ReplyObligation<M::Reply> + 'a>(
    mut callee: C,
    target: &'a dyn DispatchTarget,
    inbound: InboundChain<'a>,
    message: M,
    headers: Headers,
    mode: Mode,
    mut obligation: O,
) -> Running<'a> {
    if !inbound.chain.is_empty() {
        return run_interceptors(callee, target, inbound, message, headers, mode, obligation);
    }
    callee.begin(headers, obligation.asker());
    obligation.begin();
    start(callee, message, DirectReply(obligation))
}

/// An obligation whose answer is given only if the lifecycle of the actor allows it.
struct GatedObligation<O> {
    inner: O,
    gate: SharedGate,
    is_activity: bool,
}

impl<O> GatedObligation<O> {
    /// The error to give instead of the answer.
    fn refusal(&self) -> Option<Error> {
        self.gate.may_reply(self.is_activity).err().map(Error::perhaps_handled)
    }
}

impl<R, O: ReplyObligation<R>> ReplyObligation<R> for GatedObligation<O> {
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
