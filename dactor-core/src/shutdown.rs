use std::sync::Arc;
use std::time::Duration;

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

impl System {
    /// Ends every actor within the [grace period](crate::SystemBuilder::grace): lets them drain for its first
    /// half, then stops them, and kills what is left in the last quarter. Nothing is spawned from there on. Around it the
    /// [phases](crate::SystemBuilder::phase) run.
    ///
    /// [Services](Self::spawn_service) come after all others, in the same way; then each gets half of the grace period.
    ///
    /// # Errors
    ///
    /// [`ShutdownIncomplete`](ErrorKind::ShutdownIncomplete) when an actor did not drain by itself: the
    /// context says which had to be stopped, which were killed, and which live on because their handler never
    /// reached an await. Also when a task of a phase was not done.
    pub async fn shutdown(&self) -> Result<()> {
        // One at a time: who comes second finds everything done.
        let _alone = self.closing().lock().await;
        let mut undone = self.phases().run(Moment::Before).await;
        self.registry().close();
        let live = self.registry().snapshot();
        let (users, services): (Vec<_>, Vec<_>) =
            live.into_iter().partition(|actor| actor.head().guardian == Guardian::User);
        let grace = if services.is_empty() { self.grace() } else { self.grace() / 2 };
        let mut unfinished = end(users, grace).await;
        unfinished.extend(end(services, grace).await);
        undone.extend(self.phases().run(Moment::After).await);
        self.set_ended();
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
