//! One read in its handler, beside others.

use std::future::Future;
use std::sync::Arc;

use super::{Callee, ToHandler, handle_by};
use crate::delivery::access::{Dispatch, Handles};
use crate::delivery::ask_state::Asker;
use crate::delivery::completion::{Incident, Report};
use crate::delivery::envelope::dispatch::{DispatchTarget, ReadDispatch, RunningRead, skip};
use crate::delivery::gate::SharedGate;
use crate::delivery::obligation::ReplyObligation;
use crate::message::mode::Mode;
use crate::{Headers, Message, Outcome, ReadContext, ReadHandler};

/// A handler that shares the actor with others.
struct Beside<'a, A: crate::Actor> {
    actor: &'a A,
    ctx: &'a mut ReadContext<A>,
}

impl<A: ReadHandler<M>, M: Message> Callee<M> for Beside<'_, A> {
    fn gate(&self) -> Option<(SharedGate, bool)> {
        self.ctx.gate()
    }

    fn begin(&mut self, headers: Headers, asker: Option<Arc<dyn Asker>>) {
        self.ctx.begin(headers, asker);
    }

    fn call(self, message: M) -> impl Future<Output = Outcome<M::Reply>> + Send {
        self.actor.read(message, self.ctx)
    }
}

impl<'a, A: Handles<M>, M: Message> ToHandler<'a, M> for ReadDispatch<'a, A> {
    type Running = RunningRead<'a>;

    fn target(&self) -> &'a dyn DispatchTarget {
        self.route.target
    }

    fn handle<O: ReplyObligation<M::Reply> + 'a>(
        self,
        message: M,
        headers: Headers,
        mode: Mode,
        obligation: impl FnOnce() -> O,
    ) -> RunningRead<'a> {
        A::By::read(self, message, headers, mode, obligation())
    }

    fn skip() -> RunningRead<'a> {
        skip()
    }
}

/// Runs one read. Its context is released when the asker has been answered, and each part of it under a guard of its own.
pub(crate) fn read<'a, A: ReadHandler<M>, M: Message, O: ReplyObligation<M::Reply> + 'a>(
    context: ReadDispatch<'a, A>,
    message: M,
    headers: Headers,
    mode: Mode,
    obligation: O,
) -> RunningRead<'a> {
    let ReadDispatch { actor, mut ctx, route } = context;
    let actor = actor.get();
    RunningRead::from_or_box(async move {
        let handled = {
            let callee = Beside { actor, ctx: &mut ctx };
            handle_by(callee, route, message, headers, mode, || obligation).await
        };
        let handled = handled.map_err(|mut report| {
            report.current = ctx.current();
            report
        });
        match (ctx.release(), handled) {
            (Err(panic), Ok(_)) => Err(Report::new(M::type_name(), Incident::Panicked(panic))),
            (Err(panic), handled) => {
                tracing::warn!(actor = %route.target.label(), %panic, "a destructor panicked");
                handled
            }
            (Ok(()), handled) => handled,
        }
    })
}
