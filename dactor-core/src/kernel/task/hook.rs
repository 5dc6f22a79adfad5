//! User code in an actor's task: polls its hooks and handlers, and interprets their results.

use std::future::Future;
use std::mem;
use std::pin::{Pin, pin};
use std::task::{Context as TaskContext, Poll};

use crate::base::panic::{Contained, Panic};
use crate::kernel::actor_core::ActorCore;
use crate::kernel::cycles::Watch;
use crate::mailbox::Ending;
use crate::{Actor, Error, ErrorKind, Failure, Outcome, StopReason};

/// The actor was killed while its code was running.
pub(super) struct Killed;

/// Why a hook did not complete.
pub(super) enum HookError {
    Killed,
    Panicked(Panic),
}

pub(super) fn error<A: Actor>(core: &ActorCore<A>, kind: ErrorKind) -> Error {
    Error::new(kind).about(core)
}

pub(super) fn panicked<A: Actor>(core: &ActorCore<A>, which: &'static str, panic: Panic) -> Error {
    error(core, ErrorKind::Panicked).with("hook", which).because(panic)
}

/// What the result of a hook that may end the actor means.
#[inline]
pub(super) fn concluded<A: Actor>(
    core: &ActorCore<A>,
    which: &'static str,
    result: Result<Outcome<()>, HookError>,
) -> Result<(), StopReason> {
    match result {
        Ok(Ok(())) => Ok(()),
        Ok(Err(failure)) => Err(failed(core, which, failure)),
        Err(error) => Err(interrupted(core, which, error)),
    }
}

#[cold]
fn failed<A: Actor>(core: &ActorCore<A>, which: &'static str, failure: Failure) -> StopReason {
    let error = error(core, ErrorKind::Failed).with("hook", which);
    StopReason::Failed(error.because_shared(failure.shared()))
}

#[cold]
fn interrupted<A: Actor>(core: &ActorCore<A>, which: &'static str, error: HookError) -> StopReason {
    match error {
        HookError::Panicked(panic) => StopReason::Failed(panicked(core, which, panic)),
        HookError::Killed => StopReason::Killed,
    }
}

/// Runs a hook as [`guarded`] code and contains its panics, including one in the call, before there is a
/// future.
pub(super) async fn hook<A: Actor, F: Future>(
    core: &ActorCore<A>,
    call: impl FnOnce() -> F,
) -> Result<F::Output, HookError> {
    let code = pin!(Contained::new(async move { call().await }));
    match guarded(core, code).await {
        Ok(Ok(output)) => Ok(output),
        Ok(Err(panic)) => Err(HookError::Panicked(panic)),
        Err(Killed) => Err(HookError::Killed),
    }
}

/// Polls user code that does not panic, as this actor's, and drops it at the await where a kill arrives.
#[inline(always)]
pub(super) fn guarded<'a, A: Actor, F: Future>(
    core: &'a ActorCore<A>,
    code: Pin<&'a mut F>,
) -> Guarded<'a, A, F> {
    Guarded { core, code, begun: false, watch: Watch::new() }
}

/// The future of [`guarded`]: every message is polled through it, so it is not a closure over several locals.
pub(super) struct Guarded<'a, A: Actor, F> {
    core: &'a ActorCore<A>,
    code: Pin<&'a mut F>,
    begun: bool,
    watch: Watch,
}

impl<A: Actor, F: Future> Future for Guarded<'_, A, F> {
    type Output = Result<F::Output, Killed>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let Self { core, code, begun, watch } = &mut *self;
        // A message that left the queue is polled at least to its first await: a kill in between would lose it
        // silently.
        if mem::replace(begun, true) && core.mailbox.ending() == Ending::Kill {
            return Poll::Ready(Err(Killed));
        }
        let entered = core.enter();
        let polled = if core.meta.detects_cycles() {
            watch.poll(&core.meta, code.as_mut(), cx)
        } else {
            code.as_mut().poll(cx)
        };
        drop(entered);
        match polled {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            Poll::Pending if core.mailbox.wait_for_signal(cx.waker()) => Poll::Ready(Err(Killed)),
            Poll::Pending => Poll::Pending,
        }
    }
}
