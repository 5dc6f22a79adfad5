use std::future::{Future, poll_fn};
use std::mem;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task;
use tokio::time::{Instant, timeout_at};

use crate::family::ended;
use crate::mailbox::Ending;
use crate::path::Guardian;
use crate::phases::Moment;
use crate::shared::Control;
use crate::{Error, ErrorKind, Result, System};

/// The steps of a shutdown, and by which fraction of the grace period, in quarters, each must have worked.
const STEPS: [(Ending, u32, &str); 3] =
    [(Ending::Drain, 2, "drain"), (Ending::Stop, 3, "stop"), (Ending::Kill, 4, "kill")];

/// How far the shutdown of one system is.
///
/// It runs in a task of its own, once: whoever asks for it, and however often, awaits its result. So it goes on when the
/// caller is dropped, and also when the caller is an actor of the system, which ends in its course.
#[derive(Debug)]
pub(crate) struct Closing(watch::Sender<Stage>);

#[derive(Debug)]
enum Stage {
    /// Not begun, or the runtime that ran it has ended: the next caller goes on with it.
    Open,
    /// In this task, once it has been polled.
    Running(Option<task::Id>),
    Done(Result<()>),
}

impl Default for Closing {
    fn default() -> Self {
        Self(watch::Sender::new(Stage::Open))
    }
}

impl Closing {
    /// Whether the caller has to run it.
    fn begin(&self) -> bool {
        self.0.send_if_modified(|stage| {
            let open = matches!(stage, Stage::Open);
            if open {
                *stage = Stage::Running(None);
            }
            open
        })
    }

    /// The result of the shutdown, whoever asks for it.
    pub(crate) async fn done(&self) -> Result<()> {
        let mut stages = self.0.subscribe();
        loop {
            if let Stage::Done(result) = &*stages.borrow_and_update() {
                return result.clone();
            }
            // The sender is in the same place as this future.
            let _ = stages.changed().await;
        }
    }

    /// Waits as long as it runs.
    async fn runs(&self) -> Option<Result<()>> {
        let mut stages = self.0.subscribe();
        match &*stages.wait_for(|stage| !matches!(stage, Stage::Running(_))).await.ok()? {
            Stage::Done(result) => Some(result.clone()),
            Stage::Open | Stage::Running(_) => None,
        }
    }

    /// Whether this is called by the shutdown itself, in a phase.
    fn is_own_task(&self) -> bool {
        matches!(&*self.0.borrow(), Stage::Running(Some(id)) if task::try_id() == Some(*id))
    }
}

/// A shutdown that runs. One that is dropped before its end, because its runtime has ended, is open again.
struct Running(System);

impl Running {
    async fn run(self) {
        let stage = &self.0.closing().0;
        stage.send_replace(Stage::Running(task::try_id()));
        let result = self.0.close_down().await;
        stage.send_replace(Stage::Done(result));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.closing().0.send_if_modified(|stage| {
            let cut = matches!(stage, Stage::Running(_));
            if cut {
                *stage = Stage::Open;
            }
            cut
        });
    }
}

impl System {
    /// Ends every actor within the [grace period](crate::SystemBuilder::grace): lets them drain for its first
    /// half, then stops them, and kills what is left in the last quarter. Nothing is spawned from there on. Around it the
    /// [phases](crate::SystemBuilder::phase) run.
    ///
    /// [Services](Self::spawn_service) come after all others, in the same way; then each gets half of the grace period.
    ///
    /// It runs in a task of its own and goes on when this future is dropped. All callers, at whatever time, get the same
    /// result.
    ///
    /// # Errors
    ///
    /// [`ShutdownIncomplete`](ErrorKind::ShutdownIncomplete) when an actor did not drain by itself: the
    /// context says which had to be stopped, which were killed, and which live on because their handler never
    /// reached an await. Also when a task of a phase was not done.
    ///
    /// [`AskedItself`](ErrorKind::AskedItself), at once, in a handler or hook of an actor of this system, and in a task of
    /// a phase: the shutdown could not end before they do. It has begun all the same, and goes on.
    ///
    /// ```
    /// # use dactor_core::{Actor, Context, Handler, Message, Outcome};
    /// # struct Supervisor; impl Actor for Supervisor {}
    /// # struct Quit; impl Message for Quit { type Reply = (); }
    /// impl Handler<Quit> for Supervisor {
    ///     async fn handle(&mut self, _: Quit, ctx: &mut Context<Self>) -> Outcome<()> {
    ///         // Begins the shutdown; `AskedItself` says that it cannot be awaited here.
    ///         let _ = ctx.system().shutdown().await;
    ///         Ok(())
    ///     }
    /// }
    /// ```
    ///
    /// [`NoRuntime`](ErrorKind::NoRuntime) outside of a tokio runtime.
    pub async fn shutdown(&self) -> Result<()> {
        let mut result = pin!(self.shut_down());
        poll_fn(|cx| {
            let polled = result.as_mut().poll(cx);
            if polled.is_pending() && self.closing().is_own_task() {
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
            if self.closing().begin() {
                let running = Running(self.clone());
                let no_runtime = || Error::new(ErrorKind::NoRuntime).with("call", "shutdown");
                let runtime = Handle::try_current().map_err(|error| no_runtime().because(error))?;
                if mem::replace(&mut begun, true) {
                    return Err(no_runtime().with("because", "the runtime has ended"));
                }
                runtime.spawn(running.run());
            }
            if let Some(result) = self.closing().runs().await {
                return result;
            }
        }
    }

    async fn close_down(&self) -> Result<()> {
        let mut undone = self.phases().run(Moment::Before).await;
        self.registry().close();
        let live = self.registry().snapshot();
        let (users, services): (Vec<_>, Vec<_>) =
            live.into_iter().partition(|actor| actor.head().guardian == Guardian::User);
        let grace = if services.is_empty() { self.grace() } else { self.grace() / 2 };
        let mut unfinished = end(users, grace).await;
        unfinished.extend(end(services, grace).await);
        undone.extend(self.phases().run(Moment::After).await);
        if unfinished.is_empty() && undone.is_empty() {
            return Ok(());
        }
        let error = Error::new(ErrorKind::ShutdownIncomplete).with("system", self.name());
        let error = undone.into_iter().fold(error, |error, why| error.with("phase", why));
        Err(unfinished.into_iter().fold(error, |error, (step, actors)| {
            error.with(
                match step {
                    "drain" => "did not drain",
                    "stop" => "did not stop",
                    _ => "could not be killed",
                },
                actors,
            )
        }))
    }
}

/// Ends these actors, and says which of them a step did not end.
async fn end(mut left: Vec<Arc<dyn Control>>, grace: Duration) -> Vec<(&'static str, String)> {
    let begin = Instant::now();
    let mut unfinished = Vec::new();
    for (ending, quarters, step) in STEPS {
        // One that drains still has its children, and lets them drain when it is done.
        let told = left.iter().filter(|actor| ending != Ending::Drain || actor.head().parent.is_none());
        told.for_each(|actor| actor.signal(ending));
        let _ = timeout_at(begin + grace * quarters / 4, ended(left.iter())).await;
        left.retain(|actor| actor.head().end.get().is_none());
        if left.is_empty() {
            break;
        }
        unfinished.push((step, labels(&left)));
    }
    unfinished
}

fn labels(actors: &[Arc<dyn Control>]) -> String {
    const SHOWN: usize = 10;
    let mut text = actors.iter().take(SHOWN).map(|actor| actor.label()).collect::<Vec<_>>().join(" ");
    if actors.len() > SHOWN {
        text.push_str(&format!(" and {} more", actors.len() - SHOWN));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interceptors::testbed::{self, Echo, Never};
    use crate::puppet::{puppet, system};

    #[test]
    fn a_long_list_is_cut() {
        let system = system();
        for (count, end) in [(9, ""), (10, ""), (11, " and 1 more"), (30, " and 20 more")] {
            let actors: Vec<Arc<dyn Control>> =
                (0..count).map(|_| puppet(&system, Guardian::User) as Arc<dyn Control>).collect();
            let shown: Vec<_> = actors.iter().take(10).map(|actor| actor.label()).collect();
            assert_eq!(labels(&actors), shown.join(" ") + end);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn services_get_half_of_the_grace_period() {
        let quarter = Duration::from_secs(1);
        // What hangs is killed at three quarters of the time that it has.
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
