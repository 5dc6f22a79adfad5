//! Shutdown: drains, stops and kills all actors within one grace period, and runs the phases around it.

use std::collections::HashSet;
use std::future::{Future, poll_fn};
use std::iter::successors;
use std::mem;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::time::Instant;

use crate::kernel::actor_core::DynActor;
use crate::kernel::family::ended;
use crate::kernel::stopping::{after, kill_in_rounds, until};
use crate::mailbox::Ending;
use crate::path::Guardian;
use crate::system::phases::Moment;
use crate::system::runtime;
use crate::system::shutdown_state::Running;
use crate::{Error, ErrorKind, Result, System};

/// How long killed actors may take to reach their next await, even with a shorter grace period.
const KILLED_WITHIN: Duration = Duration::from_secs(1);

impl System {
    /// Graceful shutdown: ends every actor within the [grace period](crate::SystemBuilder::grace). Actors
    /// drain for up to half of it, are then stopped, and from three quarters on, hanging actors are killed,
    /// leaves of the tree first. From the drain on, spawning fails. The
    /// [phases](crate::SystemBuilder::phase) run before
    /// and after.
    ///
    /// While draining, actors accept messages that other actors send in handlers and hooks, and refuse
    /// messages from outside, including timers and streams. So accepted work passes all stages of a pipeline.
    /// When all actors are idle at once, they end. Actors that keep sending messages to themselves or each
    /// other never become idle: stop them in a [phase](crate::Phase::before_actors).
    ///
    /// Children end before their parents, with one deadline for all. A hanging actor is killed; its ancestors
    /// still run `on_stop` in the remaining time. At seven eighths of the grace period, all remaining actors
    /// are killed. A grace period of zero kills all actors immediately.
    ///
    /// [Services](Self::spawn_service) end after all other actors, in the same way; each group then gets half
    /// of the grace period.
    ///
    /// The shutdown runs in a task of its own and continues when this future is dropped. All callers get the
    /// same result, whenever they call.
    ///
    /// # Errors
    ///
    /// [`ShutdownIncomplete`](ErrorKind::ShutdownIncomplete) when not everything ended in order. Its context is the report:
    ///
    /// | context | names |
    /// | --- | --- |
    /// | `did not drain` | actors still busy after half of the grace period, which were stopped |
    /// | `did not stop` | actors that exceeded the time after that, and were killed |
    /// | `killed` | all actors killed during the shutdown, by any caller |
    /// | `could not be killed` | actors still running, because their code never reached an await |
    /// | `failed` | actors that failed during the shutdown, including those whose `on_stop` returned an error |
    /// | `lost messages` | not actors: how many messages were accepted but not handled, or sent by a busy actor to an actor that no longer accepted them |
    /// | `phase` | a task of a phase that was not done |
    /// | `second signal` | how many actors a second signal found: see [`shutdown_on_signals`](Self::shutdown_on_signals) |
    ///
    /// [`AskedItself`](ErrorKind::AskedItself), immediately, in a handler or hook of an actor of this system,
    /// and in a task of a phase: waiting there would be a deadlock. The shutdown has begun nevertheless, and
    /// continues.
    ///
    /// ```
    /// # use dactor_core::{Actor, Context, Handler, Message, Outcome};
    /// # struct Supervisor; impl Actor for Supervisor {}
    /// # struct Quit; impl Message for Quit { type Reply = (); type Access = dactor_core::Exclusive; }
    /// impl Handler<Quit> for Supervisor {
    ///     async fn handle(&mut self, _: Quit, ctx: &mut Context<Self>) -> Outcome<()> {
    ///         // Begins the shutdown; `AskedItself` means that it cannot be awaited here.
    ///         let _ = ctx.system().shutdown().await;
    ///         Ok(())
    ///     }
    /// }
    /// ```
    ///
    /// [`NoRuntime`](ErrorKind::NoRuntime) outside a tokio runtime, and in one without a timer.
    pub async fn shutdown(&self) -> Result<()> {
        let mut result = pin!(self.shut_down());
        poll_fn(|cx| {
            let polled = result.as_mut().poll(cx);
            if polled.is_pending() && self.shutdown_state().is_own_task() {
                let error = Error::new(ErrorKind::AskedItself).with("system", self.name());
                return Poll::Ready(Err(error
                    .with("call", "shutdown")
                    .with("in", "a phase of the shutdown")));
            }
            self.poll_outside_turns("shutdown", polled).map(|result| result.and_then(|result| result))
        })
        .await
    }

    async fn shut_down(&self) -> Result<()> {
        let mut begun = false;
        loop {
            if self.shutdown_state().begin() {
                let running = Running(self.clone());
                let runtime = runtime::check("shutdown")?;
                if mem::replace(&mut begun, true) {
                    let error = Error::new(ErrorKind::NoRuntime).with("call", "shutdown");
                    return Err(error.with("because", "the runtime has ended"));
                }
                runtime.spawn(running.run());
            }
            if let Some(result) = self.shutdown_state().runs().await {
                return result;
            }
        }
    }

    /// The body of the shutdown task. Problems go into the report immediately, because another task may have
    /// to continue it.
    pub(crate) async fn run_shutdown(&self) {
        self.phases().run(Moment::Before, self.shutdown_state()).await;
        self.registry().close();
        let live = self.registry().snapshot();
        let (users, services): (Vec<_>, Vec<_>) =
            live.into_iter().partition(|actor| actor.meta().guardian() == Guardian::User);
        let grace = if services.is_empty() { self.grace() } else { self.grace() / 2 };
        self.end(users, grace).await;
        self.end(services, grace).await;
        // Actors that had ended before, and are still notifying their waiters.
        let _ = until(Some(Instant::now() + KILLED_WITHIN), self.all_left()).await;
        self.phases().run(Moment::After, self.shutdown_state()).await;
    }

    /// Ends these actors: parents with all their children.
    async fn end(&self, actors: Vec<Arc<dyn DynActor>>, grace: Duration) {
        let begin = Instant::now();
        let mut left = actors.clone();
        let reported: Vec<_> = actors.into_iter().filter(|actor| !is_being_killed(actor)).collect();
        if !grace.is_zero() && !self.drain(&mut left, after(begin, grace, 4)).await {
            self.shutdown_state().report().name("did not drain", &at_work(&left));
            for actor in &left {
                // An idle top-level actor has drained.
                let rests = actor.meta().parent().is_none() && actor.idle_wakes().is_some();
                actor.signal(if rests { Ending::Drain } else { Ending::Stop });
            }
            if !all_end(&mut left, after(begin, grace, 6)).await {
                let end = after(begin, grace, 7).unwrap_or_else(Instant::now);
                let killed = kill_in_rounds(|| unfinished(&left), end).await;
                self.shutdown_state().report().name("did not stop", &killed);
            }
        }
        left.iter().for_each(|actor| actor.signal(Ending::Kill));
        let last = after(begin, grace, 8).max(Some(Instant::now() + KILLED_WITHIN));
        let _ = all_end(&mut left, last).await;
        let mut report = self.shutdown_state().report();
        report.name("could not be killed", &left);
        report.reasons(&reported);
    }

    /// Drains these actors. `false` when some are left.
    async fn drain(&self, left: &mut Vec<Arc<dyn DynActor>>, then: Option<Instant>) -> bool {
        left.iter().for_each(|actor| actor.admit_members_only());
        if !until(then, self.all_rest(left)).await {
            *left = unfinished(left);
            return left.is_empty();
        }
        // A draining actor still has its children, and drains them when it is done.
        let top = left.iter().filter(|actor| actor.meta().parent().is_none());
        top.for_each(|actor| actor.signal(Ending::Drain));
        all_end(left, then).await
    }

    async fn all_left(&self) {
        while self.registry().is_anyone_leaving() {
            self.shutdown_state().changed().await;
        }
    }

    /// Waits until all actors are idle at once. They stay idle, because they accept messages only from each
    /// other.
    async fn all_rest(&self, actors: &[Arc<dyn DynActor>]) {
        let mut first = 0;
        while let Some(busy) = busy(actors, first) {
            first = busy;
            self.shutdown_state().changed().await;
        }
    }
}

/// The index of a busy actor, searching from `first`. Checks twice: if no actor was woken in between, all
/// were idle when the second pass began.
fn busy(actors: &[Arc<dyn DynActor>], first: usize) -> Option<usize> {
    let in_turn = || (first..actors.len()).chain(0..first);
    let mut seen = Vec::with_capacity(actors.len());
    for at in in_turn() {
        let ended = actors[at].meta().has_ended();
        let rests = actors[at].idle_wakes();
        if !ended && rests.is_none() {
            return Some(at);
        }
        seen.push((ended, rests));
    }
    in_turn().zip(seen).find_map(|(at, before)| {
        let now = (actors[at].meta().has_ended(), actors[at].idle_wakes());
        (now != before).then_some(at)
    })
}

/// Waits for these actors to end, and keeps those still running at the deadline.
async fn all_end(left: &mut Vec<Arc<dyn DynActor>>, then: Option<Instant>) -> bool {
    let ended = until(then, ended(left.iter())).await;
    *left = unfinished(left);
    ended || left.is_empty()
}

/// Whether the actor or an ancestor was already killed, and not by the shutdown.
fn is_being_killed(actor: &Arc<dyn DynActor>) -> bool {
    successors(Some(actor), |actor| actor.meta().parent()).any(|actor| actor.ending() == Ending::Kill)
}

fn unfinished(actors: &[Arc<dyn DynActor>]) -> Vec<Arc<dyn DynActor>> {
    actors.iter().filter(|actor| !actor.meta().has_ended()).cloned().collect()
}

/// The actors that are busy, and not merely waiting for their children.
fn at_work(left: &[Arc<dyn DynActor>]) -> Vec<Arc<dyn DynActor>> {
    let asked = || left.iter().filter(|actor| actor.ending() != Ending::None);
    let waiting: HashSet<_> =
        asked().filter_map(|actor| actor.meta().parent()).map(|parent| parent.pid()).collect();
    let at_work =
        |actor: &&Arc<dyn DynActor>| actor.idle_wakes().is_none() && !waiting.contains(&actor.pid());
    left.iter().filter(at_work).cloned().collect()
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, mpsc};

    use super::*;
    use crate::interceptors::testbed::{self, Echo, Never};
    use crate::{Event, StopReason};

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_shutdown_waits_for_an_actor_that_is_telling_its_end() {
        let (telling, mut told) = tokio::sync::mpsc::unbounded_channel();
        let (go_on, wait) = mpsc::channel();
        let wait = Mutex::new(wait);
        let observer = move |event: &Event| {
            if let Event::Stopped { .. } = event {
                telling.send(()).unwrap();
                wait.lock().unwrap().recv().unwrap();
            }
        };
        let system = testbed::system(|builder| builder.observe(observer));
        let actor = system.spawn(Echo).await.unwrap();
        actor.stop();
        told.recv().await.unwrap();
        // It has left the registry, but its stop reason is not set yet.
        assert_eq!(system.registry().len(), 0);
        assert!(actor.stop_reason().is_none());
        let mut shutdown = pin!(system.shutdown());
        let early = tokio::time::timeout(Duration::from_millis(50), shutdown.as_mut()).await;
        assert!(early.is_err(), "the shutdown returned before the actor had its reason");
        go_on.send(()).unwrap();
        shutdown.await.unwrap();
        assert!(matches!(actor.stop_reason(), Some(StopReason::Stopped)));
    }

    #[tokio::test(start_paused = true)]
    async fn services_get_half_of_the_grace_period() {
        let quarter = Duration::from_secs(1);
        // A hanging actor is killed at three quarters of its time.
        for (service, quarters) in [(false, 3), (true, 6)] {
            let system = testbed::system(|builder| builder.grace(quarter * if service { 8 } else { 4 }));
            let user = system.spawn(Echo).await.unwrap();
            user.tell(Never).unwrap();
            if service {
                system.spawn_service(Echo).await.unwrap().tell(Never).unwrap();
            }
            let begin = Instant::now();
            assert_eq!(system.shutdown().await.unwrap_err().kind(), ErrorKind::ShutdownIncomplete);
            let took = begin.elapsed();
            assert!(took >= quarter * quarters && took < quarter * quarters + quarter / 10, "{took:?}");
        }
    }
}
