//! The state of a system's shutdown, and its report.

use std::error::Error as StdError;
use std::fmt;
use std::iter;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};
use tokio::task;

use crate::base::panic::contain;
use crate::kernel::actor_core::DynActor;
use crate::{Error, ErrorKind, Result, StopReason, System};

/// The shutdown of one system. It runs once, in a task of its own, and every caller awaits its result. So it
/// continues when the caller is dropped, or is an actor of the system and ends during the shutdown.
#[derive(Debug)]
pub(crate) struct ShutdownState {
    stage: watch::Sender<Stage>,
    report: Mutex<Report>,
    /// An actor became idle, or has ended.
    changed: Notify,
    /// Messages accepted but not handled.
    accepted: AtomicU64,
    /// Messages sent by an actor of the system to an actor that was already stopping.
    sent: AtomicU64,
}

#[derive(Debug)]
enum Stage {
    /// Not begun, or its runtime has ended: the next caller continues it.
    Open,
    /// In this task, once it has been polled.
    Running(Option<task::Id>),
    Done(Result<()>),
}

impl Default for ShutdownState {
    fn default() -> Self {
        Self {
            stage: watch::Sender::new(Stage::Open),
            report: Mutex::default(),
            changed: Notify::new(),
            accepted: AtomicU64::new(0),
            sent: AtomicU64::new(0),
        }
    }
}

impl ShutdownState {
    /// Whether the caller has to run it.
    pub(crate) fn begin(&self) -> bool {
        self.stage.send_if_modified(|stage| {
            let open = matches!(stage, Stage::Open);
            if open {
                *stage = Stage::Running(None);
            }
            open
        })
    }

    /// The result of the shutdown, for any caller.
    pub(crate) async fn done(&self) -> Result<()> {
        let mut stages = self.stage.subscribe();
        loop {
            if let Stage::Done(result) = &*stages.borrow_and_update() {
                return result.clone();
            }
            // The sender lives as long as this future.
            let _ = stages.changed().await;
        }
    }

    /// Waits while it is running.
    pub(crate) async fn runs(&self) -> Option<Result<()>> {
        let mut stages = self.stage.subscribe();
        match &*stages.wait_for(|stage| !matches!(stage, Stage::Running(_))).await.ok()? {
            Stage::Done(result) => Some(result.clone()),
            Stage::Open | Stage::Running(_) => None,
        }
    }

    /// Whether the caller is the shutdown task itself, in a phase.
    pub(crate) fn is_own_task(&self) -> bool {
        matches!(&*self.stage.borrow(), Stage::Running(Some(id)) if task::try_id() == Some(*id))
    }

    /// Makes the shutdown check again whether all actors are idle.
    pub(crate) fn notify_changed(&self) {
        self.changed.notify_one();
    }

    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    pub(crate) fn lose_accepted(&self) {
        self.accepted.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn lose_sent(&self) {
        self.sent.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds lost messages. Messages that actors send in their last hooks do not count on their own.
    fn report_losses(&self) {
        let (accepted, sent) = (self.accepted.load(Ordering::Relaxed), self.sent.load(Ordering::Relaxed));
        let mut report = self.report();
        if accepted > 0 || (sent > 0 && !report.0.is_empty()) {
            report.add("lost messages", accepted + sent);
        }
    }

    pub(crate) fn report(&self) -> MutexGuard<'_, Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running shutdown. Dropped before its end, because its runtime has ended, it is open again.
pub(crate) struct Running(pub(crate) System);

impl Running {
    pub(crate) async fn run(self) {
        let shutdown = self.0.shutdown_state();
        shutdown.stage.send_replace(Stage::Running(task::try_id()));
        self.0.run_shutdown().await;
        shutdown.report_losses();
        let result = shutdown.report().result(&self.0);
        if let Err(error) = &result {
            tracing::warn!(%error, "the shutdown was incomplete");
        }
        shutdown.stage.send_replace(Stage::Done(result));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.shutdown_state().stage.send_if_modified(|stage| {
            let cut = matches!(stage, Stage::Running(_));
            if cut {
                *stage = Stage::Open;
            }
            cut
        });
    }
}

/// What went wrong: empty after an orderly shutdown.
#[derive(Debug, Default)]
pub(crate) struct Report(Vec<(&'static str, String)>);

impl Report {
    pub(crate) fn add(&mut self, what: &'static str, text: impl fmt::Display) {
        self.0.push((what, text.to_string()));
    }

    /// Lists actors, if there are any.
    pub(crate) fn name(&mut self, what: &'static str, actors: &[Arc<dyn DynActor>]) {
        if !actors.is_empty() {
            self.add(what, list(actors, |actor| actor.label()));
        }
    }

    /// Adds the stop reasons of these actors.
    pub(crate) fn reasons(&mut self, actors: &[Arc<dyn DynActor>]) {
        let having = |wanted: fn(&StopReason) -> bool| {
            let ended = actors.iter().filter(|actor| actor.meta().stop_reason().is_some_and(wanted));
            ended.cloned().collect::<Vec<_>>()
        };
        self.name("killed", &having(|reason| matches!(reason, StopReason::Killed)));
        let failed = having(|reason| reason.failure().is_some());
        if !failed.is_empty() {
            self.add("failed", list(&failed, |actor| format!("{}: {}", actor.label(), failure(actor))));
        }
    }

    /// The result for the callers.
    pub(crate) fn result(&self, system: &System) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let error = Error::new(ErrorKind::ShutdownIncomplete).with("system", system.name());
        Err(self.0.iter().fold(error, |error, (what, text)| error.with(what, text)))
    }
}

/// A failure with its causes, whose text is user code.
fn failure(actor: &Arc<dyn DynActor>) -> String {
    let text = || {
        let error = actor.meta().stop_reason().and_then(|reason| reason.failure())? as &dyn StdError;
        let causes = iter::successors(Some(error), |&error| error.source());
        Some(causes.map(ToString::to_string).collect::<Vec<_>>().join(": "))
    };
    contain(text).ok().flatten().unwrap_or_else(|| "an error whose text panics".to_owned())
}

/// The first ten, and how many more there are.
fn list(actors: &[Arc<dyn DynActor>], text: impl Fn(&Arc<dyn DynActor>) -> String) -> String {
    const SHOWN: usize = 10;
    let mut list = actors.iter().take(SHOWN).map(text).collect::<Vec<_>>().join(" ");
    if actors.len() > SHOWN {
        list.push_str(&format!(" and {} more", actors.len() - SHOWN));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Guardian;
    use crate::system::test_actors::{system, test_actor};

    #[test]
    fn a_long_list_is_cut() {
        let system = system();
        for (count, end) in [(9, ""), (10, ""), (11, " and 1 more"), (30, " and 20 more")] {
            let actors: Vec<Arc<dyn DynActor>> =
                (0..count).map(|_| test_actor(&system, Guardian::User) as Arc<dyn DynActor>).collect();
            let shown: Vec<_> = actors.iter().take(10).map(|actor| actor.label()).collect();
            assert_eq!(list(&actors, |actor| actor.label()), shown.join(" ") + end);
        }
    }
}
