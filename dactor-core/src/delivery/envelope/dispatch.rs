//! The context for dispatching a message to its handler.

use std::sync::Arc;

use stackfuture::StackFuture;
use tokio::time::Instant;

use crate::base::label::Labelled;
use crate::base::panic::Panic;
use crate::delivery::access::SharedActor;
use crate::delivery::ask_state::Asker;
use crate::delivery::completion::{Finished, Incident, Report};
use crate::interceptor::api::Inbound;
use crate::mailbox::Ending;
use crate::{Actor, Context, Error, ErrorKind, ReadContext};

/// A handler's future up to this many bytes lives inside the cell; a larger one is boxed.
const INLINE: usize = 256;

/// The running handler.
pub(crate) type Running<'a> = StackFuture<'a, Finished, INLINE>;

/// A running read, with its context, its message and the obligation to answer.
pub(crate) type RunningRead<'a> = StackFuture<'a, Finished, READ_INLINE>;

/// A read is allocated with this many bytes beside other reads; a larger one is boxed once more.
const READ_INLINE: usize = 640;

/// A message that is skipped: no handler runs.
pub(crate) fn skip<'a, const INLINE: usize>() -> StackFuture<'a, Finished, INLINE> {
    StackFuture::from_or_box(std::future::ready(Ok(None)))
}

/// A message that panicked before its handler ran.
pub(crate) fn panicked<'a>(message: &'static str, panic: Panic) -> Running<'a> {
    Running::from_or_box(std::future::ready(Err(Report::new(message, Incident::Panicked(panic)))))
}

/// What the dispatch of a read needs.
pub(crate) struct ReadDispatch<'a, A: Actor> {
    pub(crate) actor: &'a dyn SharedActor<A>,
    pub(crate) ctx: ReadContext<A>,
    pub(crate) route: Route<'a>,
}

/// What a message passes on its way to its handler.
#[derive(Clone, Copy)]
pub(crate) struct Route<'a> {
    pub(crate) target: &'a dyn DispatchTarget,
    pub(crate) inbound: Option<InboundChain<'a>>,
}

/// The inbound interceptors of an actor.
#[derive(Clone, Copy)]
pub(crate) struct InboundChain<'a> {
    pub(crate) chain: &'a Arc<[Arc<dyn Inbound>]>,
    /// How many messages of the turn wait behind this one.
    pub(crate) behind: usize,
}

/// What the dispatch of a message needs: the actor, its context and its interceptors.
pub(crate) struct DispatchContext<'a, A: Actor> {
    pub(crate) actor: &'a mut A,
    pub(crate) ctx: &'a mut Context<A>,
    pub(crate) route: Route<'a>,
}

/// The actor that handles a message, as seen by the dispatch.
pub(crate) trait DispatchTarget: Labelled {
    /// How the actor has been asked to end.
    fn ending(&self) -> Ending;

    /// The error of a message that is not handled because the actor is ending.
    fn stopped(&self, message: &'static str) -> Error;

    /// Reports a message that is not handled.
    fn report_dead_letter(&self, message: &'static str, error: &Error, describe: &dyn Fn() -> Option<String>);
}

impl dyn DispatchTarget + '_ {
    pub(crate) fn error(&self, kind: ErrorKind, message: &'static str) -> Error {
        Error::new(kind).about(self).with("message", message)
    }

    /// The error of a message whose asker has given up, if so.
    pub(crate) fn unwanted(&self, asker: &(impl Asker + ?Sized), message: &'static str) -> Option<Error> {
        if asker.is_gone() {
            return Some(self.error(ErrorKind::Cancelled, message));
        }
        let late = asker.deadline().is_some_and(|deadline| deadline <= Instant::now());
        late.then(|| self.error(ErrorKind::Timeout, message))
    }
}
