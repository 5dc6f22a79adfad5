//! One read in its handler, beside others.

use std::future::Future;
use std::sync::Arc;

use super::{Callee, handle_by};
use crate::delivery::ask_state::Asker;
use crate::delivery::completion::Handled;
use crate::delivery::envelope::dispatch::{ReadDispatch, RunningRead};
use crate::delivery::envelope::lifecycle::SharedLifecycle;
use crate::delivery::obligation::ReplyObligation;
use crate::message::mode::Mode;
use crate::{Headers, Message, Outcome, ReadContext, ReadHandler};

/// A handler that shares the actor with others.
struct Beside<'a, A: crate::Actor> {
    actor: &'a A,
    ctx: &'a mut ReadContext<A>,
}

impl<A: ReadHandler<M>, M: Message> Callee<M> for Beside<'_, A> {
    type Gate = SharedLifecycle<A>;

    fn gate(&self) -> Option<SharedLifecycle<A>> {
        self.ctx.lifecycle().cloned()
    }

    fn begin(&mut self, headers: Headers, asker: Option<Arc<dyn Asker>>) {
        self.ctx.begin(headers, asker);
    }

    fn call(self, message: M) -> impl Future<Output = Outcome<M::Reply>> + Send {
        self.actor.read(message, self.ctx)
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
            handle_by(callee, route, message, headers, mode, obligation).await
        };
        match (ctx.release(), handled) {
            (Err(panic), Handled::Done) => Handled::Panicked(panic),
            (Err(panic), handled) => {
                tracing::warn!(actor = %route.target.label(), %panic, "a destructor panicked");
                handled
            }
            (Ok(()), handled) => handled,
        }
    })
}

/// A read whose answer is not wanted any more.
pub(crate) fn skip_read<'a>() -> RunningRead<'a> {
    RunningRead::from_or_box(std::future::ready(Handled::Done))
}
