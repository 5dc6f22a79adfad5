//! What follows when an actor has failed: its fate, and the restart.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::Instant;

use super::{Alive, Cut, Killed, Left, error, guarded, hook};
use crate::envelope::{Handled, Labelled};
use crate::mailbox::Ending;
use crate::owed::Told;
use crate::panic::{Panic, contain, discard};
use crate::random::fraction;
use crate::shared::Shared;
use crate::supervision::{Fate, Record, Scope};
use crate::{Actor, Directive, Error, ErrorKind, StopReason, Supervision};

impl<A: Actor> Alive<A> {
    /// What follows a message that was not simply handled.
    pub(super) async fn conclude(&mut self, handled: Handled, message: &'static str) -> Result<(), Left> {
        let Self { seed, ctx, estate, .. } = self;
        let shared = &*estate.shared;
        let events = shared.head.system.events();
        let panicked = |panic: Panic| {
            let error = error(shared, ErrorKind::Panicked).with("message", message).because(panic);
            events.failed(shared, message, &error);
            (error, None)
        };
        let mut failure = None;
        match handled {
            Handled::Done => {}
            Handled::Unheard => events.unheard(shared, message),
            Handled::Panicked(panic) => failure = Some(panicked(panic)),
            Handled::Failed(failed, told) => {
                let error =
                    error(shared, ErrorKind::Failed).with("message", message).because_shared(failed.shared());
                if told != Told::Somebody {
                    events.failed(shared, message, &error);
                }
                let Some(instance) = seed.instance() else { unreachable!("it has just handled a message") };
                match hook(shared, || instance.on_error(&failed, ctx)).await {
                    Ok(Directive::Resume) => {}
                    Ok(Directive::Escalate) => failure = Some((error, None)),
                    Ok(directive) => failure = Some((error, Some(directive))),
                    Err(Cut::Killed) => return Err(Left::Lost(StopReason::Killed)),
                    Err(Cut::Panicked(panic)) => {
                        let error = super::panicked(shared, "on_error", panic).with("message", message);
                        events.failed(shared, message, &error);
                        failure = Some((error, None));
                    }
                }
            }
        }
        if let Err(panic) = ctx.rest() {
            let later = panicked(panic);
            failure.get_or_insert(later);
        }
        match failure {
            Some((failure, directive)) => self.fail(failure, directive).await,
            None => Ok(()),
        }
    }

    /// Meets a failure: by the actor's own decision, or else by its supervision.
    pub(super) async fn fail(&mut self, failure: Error, directive: Option<Directive>) -> Result<(), Left> {
        // After a panic its state cannot be trusted.
        let sound = failure.kind() != ErrorKind::Panicked;
        let left = |failure: Error| {
            let reason = StopReason::Failed(failure);
            if sound { Left::Sound(reason) } else { Left::Lost(reason) }
        };
        let (fate, strategy) = self.meet(&failure, directive);
        match fate {
            Fate::Resume => Ok(()),
            Fate::Restart { .. } if !self.seed.is_factory() => {
                Err(left(no_factory(&self.estate.shared, failure)))
            }
            Fate::Restart { after } => self.restart(failure, after).await,
            Fate::Stop => Err(left(failure)),
            Fate::Escalate => {
                self.escalate(&failure);
                Err(left(failure))
            }
            Fate::Exhausted => {
                let spent = exhausted(failure, &strategy);
                self.escalate(&spent);
                Err(left(spent))
            }
        }
    }

    /// How this actor's failures are met. One that cannot be asked because it panics stops the actor.
    fn strategy(&self) -> Supervision {
        if let Some(own) = &self.supervision {
            return (**own).clone();
        }
        contain(|| self.estate.shared.head.supervisor().supervision()).unwrap_or_else(|panic| {
            self.supervision_panicked(&panic);
            Supervision::one_for_one().always(Directive::Stop)
        })
    }

    fn supervision_panicked(&self, panic: &Panic) {
        tracing::warn!(actor = %self.estate.shared.label(), %panic, "a supervision panicked");
    }

    /// What becomes of this actor, and by which supervision. Tells those who share its fate.
    fn meet(&mut self, failure: &Error, directive: Option<Directive>) -> (Fate, Supervision) {
        let strategy = self.strategy();
        let decide = || strategy.directive(failure, self.seed.is_factory());
        let directive = directive.unwrap_or_else(|| {
            contain(decide).unwrap_or_else(|panic| {
                self.supervision_panicked(&panic);
                Directive::Stop
            })
        });
        let (now, roll) = (Instant::now(), fraction());
        let decide = |record: &mut Record| strategy.fate(directive, record, now, roll);
        let head = &self.estate.shared.head;
        let fate = match strategy.scope {
            Scope::One => decide(self.record.get_or_insert_default()),
            scope => head.supervisor().share_fate(scope, head, failure, directive, decide),
        };
        (fate, strategy)
    }

    fn escalate(&self, failure: &Error) {
        self.estate.shared.head.supervisor().escalate(self.estate.shared.label(), failure);
    }

    /// Replaces the instance by a fresh one from the factory. One that does not start has failed in turn.
    pub(super) async fn restart(&mut self, failure: Error, after: Duration) -> Result<(), Left> {
        let (mut failure, mut after) = (failure, after);
        let killed = |Killed| Left::Lost(StopReason::Killed);
        loop {
            self.ctx.forget_children();
            self.ctx.part_with_instance();
            self.estate.shared.head.family.begin_generation();
            if self.has_children() {
                self.dismiss(Ending::Stop).await.map_err(killed)?;
            }
            discard(self.seed.take());
            back_off(&self.estate.shared, after).await?;
            self.estate.shared.head.family.begin_anew();
            let again = match self.start(Some(&failure)).await {
                Ok(()) => {
                    self.ctx.unstash_all();
                    let shared = &*self.estate.shared;
                    shared.head.system.events().restarted(shared, &failure);
                    return Ok(());
                }
                Err(StopReason::Failed(again)) => again,
                Err(reason) => return Err(Left::Lost(reason)),
            };
            // What did not start has no `on_stop` either.
            let (fate, strategy) = self.meet(&again, None);
            let last = match fate {
                Fate::Restart { after: longer } => {
                    (failure, after) = (again, longer);
                    continue;
                }
                Fate::Resume | Fate::Stop => again,
                Fate::Escalate => {
                    self.escalate(&again);
                    again
                }
                Fate::Exhausted => {
                    let spent = exhausted(again, &strategy);
                    self.escalate(&spent);
                    spent
                }
            };
            return Err(Left::Lost(StopReason::Failed(last)));
        }
    }
}

/// Waits before a restart. A stop does not wait for it, and not for the restart either; messages do.
async fn back_off<A: Actor>(shared: &Shared<A>, after: Duration) -> Result<(), Left> {
    match shared.mailbox.ending() {
        Ending::Stop => return Err(Left::Lost(StopReason::Stopped)),
        Ending::Kill => return Err(Left::Lost(StopReason::Killed)),
        Ending::None | Ending::Drain if after.is_zero() => return Ok(()),
        Ending::None | Ending::Drain => {}
    }
    let mut sleep = pin!(tokio::time::sleep(after));
    // Whoever polls an actor's code polls it again when a signal comes.
    let waiting = pin!(poll_fn(|cx| match shared.mailbox.ending() {
        Ending::Stop => Poll::Ready(Err(Left::Lost(StopReason::Stopped))),
        _ => sleep.as_mut().poll(cx).map(Ok),
    }));
    guarded(shared, waiting).await.unwrap_or(Err(Left::Lost(StopReason::Killed)))
}

/// A restart too many.
fn exhausted(failure: Error, strategy: &Supervision) -> Error {
    failure.with("restart", format!("refused: more than {}", strategy.budget_text()))
}

/// A restart without anything to restart from.
pub(super) fn no_factory<A: Actor>(shared: &Shared<A>, failure: Error) -> Error {
    error(shared, ErrorKind::Failed)
        .with("restart", "impossible: spawned from a value, not from a factory")
        .because(failure)
}

#[cfg(test)]
mod tests;
