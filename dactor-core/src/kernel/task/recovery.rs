//! Failure handling: the decision, and the restart.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::Instant;

use super::hook::{self, HookError, Killed, error, guarded, hook};
use super::{ActorTask, LoopExit};
use crate::base::label::Labelled;
use crate::base::panic::{Panic, contain};
use crate::delivery::completion::{Incident, Report};
use crate::delivery::obligation::ReplyStatus;
use crate::kernel::actor_core::ActorCore;
use crate::mailbox::Ending;
use crate::supervision::strategy::{Decision, Record, Scope};
use crate::{Actor, Directive, Error, ErrorKind, StopReason, Supervision};

impl<A: Actor> ActorTask<A> {
    /// Handles the outcome of a message that was not handled normally.
    pub(super) async fn conclude(&mut self, report: Report) -> Result<(), LoopExit> {
        let Report { message, incident, current } = report;
        let Self { factory, ctx, teardown, .. } = self;
        ctx.resume(current);
        let core = &*teardown.core;
        let events = core.meta.system().events();
        let panicked = |panic: Panic| {
            let error = error(core, ErrorKind::Panicked).with("message", message).because(panic);
            events.failed(core, message, &error);
            (error, None)
        };
        let mut failure = None;
        match incident {
            Incident::AskerGone => events.asker_gone(core, message),
            Incident::ReplyDropped => events.reply_dropped(core, message),
            Incident::Panicked(panic) => failure = Some(panicked(panic)),
            Incident::Failed(failed, status) => {
                let error =
                    error(core, ErrorKind::Failed).with("message", message).because_shared(failed.shared());
                let error = match status {
                    ReplyStatus::Deferred => {
                        error.with("because", "the handler had already deferred its reply")
                    }
                    _ => error,
                };
                if status != ReplyStatus::Delivered {
                    events.failed(core, message, &error);
                }
                let Some(instance) = factory.instance() else {
                    unreachable!("the actor has just handled a message")
                };
                match hook(core, || instance.on_error(&failed, ctx)).await {
                    Ok(Directive::Resume) => {}
                    Ok(Directive::Escalate) => failure = Some((error, None)),
                    Ok(directive) => failure = Some((error, Some(directive))),
                    Err(HookError::Killed) => return Err(LoopExit::Lost(StopReason::Killed)),
                    Err(HookError::Panicked(panic)) => {
                        let error = hook::panicked(core, "on_error", panic).with("message", message);
                        events.failed(core, message, &error);
                        failure = Some((error, None));
                    }
                }
            }
        }
        if let Err(panic) = ctx.finish_message() {
            let later = panicked(panic);
            failure.get_or_insert(later);
        }
        match failure {
            Some((failure, directive)) => self.fail(failure, directive).await,
            None => Ok(()),
        }
    }

    /// Reports a failure of an instance that is gone.
    pub(super) fn report(&self, report: Report) {
        let Report { message, incident, .. } = report;
        let core = &*self.teardown.core;
        let error = match incident {
            Incident::Panicked(panic) => error(core, ErrorKind::Panicked).because(panic),
            Incident::Failed(failed, status) if status != ReplyStatus::Delivered => {
                error(core, ErrorKind::Failed).because_shared(failed.shared())
            }
            _ => return,
        };
        core.meta.system().events().failed(core, message, &error.with("message", message));
    }

    /// Handles a failure: by the actor's own decision, or else by its supervision strategy.
    pub(super) async fn fail(
        &mut self,
        failure: Error,
        directive: Option<Directive>,
    ) -> Result<(), LoopExit> {
        // After a panic, the state cannot be trusted.
        let instance =
            if failure.kind() == ErrorKind::Panicked { Instance::Panicked } else { Instance::Sound };
        let (decision, failure) = self.decide_on(failure, directive);
        self.recover(decision, failure, instance).await
    }

    /// Restarts because a sibling failed.
    pub(super) async fn restart_with_sibling(
        &mut self,
        failure: Error,
        after: Duration,
    ) -> Result<(), LoopExit> {
        self.recover(Decision::Restart { after }, failure, Instance::Sound).await
    }

    /// Applies the decision. An instance that fails to start has failed in turn.
    async fn recover(
        &mut self,
        decision: Decision,
        failure: Error,
        instance: Instance,
    ) -> Result<(), LoopExit> {
        let (mut decision, mut failure, mut instance) = (decision, failure, instance);
        loop {
            let recovery = recovery(decision, instance, self.factory.is_restartable());
            let last = match recovery {
                Recovery::Resume => return Ok(()),
                Recovery::Restart { after } => match self.restart(&failure, after).await? {
                    Ok(()) => return Ok(()),
                    Err(again) => {
                        (decision, failure) = self.decide_on(again, None);
                        instance = Instance::NotStarted;
                        continue;
                    }
                },
                Recovery::End => failure,
                Recovery::EndWithoutFactory => no_factory(&self.teardown.core, failure),
                Recovery::Escalate => {
                    self.escalate(&failure);
                    failure
                }
            };
            let reason = StopReason::Failed(last);
            return Err(match instance {
                Instance::Sound => LoopExit::Sound(reason),
                Instance::Panicked | Instance::NotStarted => LoopExit::Lost(reason),
            });
        }
    }

    /// The supervision strategy for this actor. If `supervision()` itself panics, the actor is stopped.
    fn strategy(&self) -> Supervision {
        if let Some(own) = self.options.as_ref().and_then(|options| options.supervision.as_ref()) {
            return own.clone();
        }
        contain(|| self.teardown.core.meta.supervisor().supervision()).unwrap_or_else(|panic| {
            self.supervision_panicked(&panic);
            Supervision::one_for_one().always(Directive::Stop)
        })
    }

    fn supervision_panicked(&self, panic: &Panic) {
        tracing::warn!(actor = %self.teardown.core.label(), %panic, "a supervision strategy panicked");
    }

    /// Decides about this actor, and informs the affected siblings.
    fn decide_on(&mut self, failure: Error, directive: Option<Directive>) -> (Decision, Error) {
        let strategy = self.strategy();
        let decide = || strategy.directive(&failure, self.factory.is_restartable());
        let directive = directive.unwrap_or_else(|| {
            contain(decide).unwrap_or_else(|panic| {
                self.supervision_panicked(&panic);
                Directive::Stop
            })
        });
        let (now, roll) = (Instant::now(), self.teardown.core.meta.system().random().fraction());
        let decide = |record: &mut Record| strategy.decision(directive, record, now, roll);
        let meta = &self.teardown.core.meta;
        let decision = match strategy.scope {
            Scope::One => decide(self.record.get_or_insert_default()),
            scope => meta.supervisor().decide_for_group(scope, meta, &failure, directive, decide),
        };
        match decision {
            Decision::Exhausted => (decision, exhausted(failure, &strategy)),
            _ => (decision, failure),
        }
    }

    fn escalate(&self, failure: &Error) {
        self.teardown.core.meta.supervisor().escalate(self.teardown.core.label(), failure);
    }

    /// Replaces the instance by a new one from the factory. The inner error is that of an instance that
    /// failed to start.
    async fn restart(&mut self, failure: &Error, after: Duration) -> Result<Result<(), Error>, LoopExit> {
        self.ctx.forget_children();
        self.ctx.drop_instance_state();
        self.teardown.core.meta.family().begin_generation();
        if self.teardown.has_children() {
            let killed = |Killed| LoopExit::Lost(StopReason::Killed);
            self.stop_children(Ending::Stop).await.map_err(killed)?;
        }
        self.factory.drop_instance();
        back_off(&self.teardown.core, after).await?;
        self.teardown.core.meta.family().begin_anew();
        match self.start(Some(failure)).await {
            Ok(()) => {
                self.ctx.unstash_all();
                let core = &*self.teardown.core;
                core.meta.system().events().restarted(core, failure);
                Ok(Ok(()))
            }
            Err(StopReason::Failed(again)) => Ok(Err(again)),
            Err(reason) => Err(LoopExit::Lost(reason)),
        }
    }
}

/// The state of the instance after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instance {
    /// It can continue, or run its `on_stop`.
    Sound,
    /// Its state cannot be trusted.
    Panicked,
    NotStarted,
}

/// What happens after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recovery {
    Resume,
    Restart {
        after: Duration,
    },
    End,
    /// A restart was decided, but there is no factory.
    EndWithoutFactory,
    /// It ends, and its parent fails in turn.
    Escalate,
}

/// Turns a supervision decision into a recovery.
fn recovery(decision: Decision, instance: Instance, is_restartable: bool) -> Recovery {
    match decision {
        Decision::Resume if instance == Instance::NotStarted => Recovery::End,
        Decision::Resume => Recovery::Resume,
        Decision::Restart { .. } if !is_restartable => Recovery::EndWithoutFactory,
        Decision::Restart { after } => Recovery::Restart { after },
        Decision::Stop => Recovery::End,
        Decision::Escalate | Decision::Exhausted => Recovery::Escalate,
    }
}

/// Backoff before a restart. A stop interrupts it and cancels the restart; messages wait.
async fn back_off<A: Actor>(core: &ActorCore<A>, after: Duration) -> Result<(), LoopExit> {
    match core.mailbox.ending() {
        Ending::Stop => return Err(LoopExit::Lost(StopReason::Stopped)),
        Ending::Kill => return Err(LoopExit::Lost(StopReason::Killed)),
        Ending::None | Ending::Drain if after.is_zero() => return Ok(()),
        Ending::None | Ending::Drain => {}
    }
    let mut sleep = pin!(tokio::time::sleep(after));
    // The poller of an actor's code polls it again on a signal.
    let waiting = pin!(poll_fn(|cx| match core.mailbox.ending() {
        Ending::Stop => Poll::Ready(Err(LoopExit::Lost(StopReason::Stopped))),
        _ => sleep.as_mut().poll(cx).map(Ok),
    }));
    guarded(core, waiting).await.unwrap_or(Err(LoopExit::Lost(StopReason::Killed)))
}

/// The restart budget is exceeded.
fn exhausted(failure: Error, strategy: &Supervision) -> Error {
    failure.with("restart", format!("refused: more than {}", strategy.budget_text()))
}

/// A restart without a factory.
fn no_factory<A: Actor>(core: &ActorCore<A>, failure: Error) -> Error {
    error(core, ErrorKind::Failed)
        .with("restart", "impossible: spawned from a value, not from a factory")
        .because(failure)
}

#[cfg(test)]
mod tests;
