//! Shutdown: drain, then stop, then kill, within one grace period.

use std::future::IntoFuture;
use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Actor, Context, Error, ErrorKind, Handler, Message, Outcome, StopReason};

use super::body;
use crate::actors::{Act, Hold, Hooks, Note, Worker};
use crate::{Lab, Pace, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "SHUT-01",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Idle), (Topic::Shutdown, State::Handling)],
        "A shutdown drains: all that was accepted is handled, `on_stop` runs with `drained`, and it returns when the last actor has ended.",
        "An orderly program loses nothing.",
        body!(drains),
    )
    .spi(&["loses-wakes"]),
    Rule::must(
        "SHUT-02",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Dead), (Topic::Shutdown, State::Idle)],
        "After a shutdown `spawn` is `SystemShutDown` and messages are refused; shutting down again, even at the same time, is fine.",
        "Whoever comes late gets a clear answer, and signals come twice.",
        body!(afterwards),
    ),
    Rule::must(
        "SHUT-03",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Handling)],
        "An actor that does not drain in half of the grace period is stopped: its current message is finished, its queue goes to dead letters; the error names it.",
        "A long queue must not keep a process from ending.",
        body!(stops),
    )
    .pace(Pace::Driven),
    Rule::must(
        "SHUT-04",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Handling)],
        "An actor that does not stop by three quarters of the grace period is killed; the error says that it neither drained nor stopped.",
        "A handler that hangs must not keep a process from ending.",
        body!(kills),
    )
    .pace(Pace::Driven),
    Rule::must(
        "SHUT-05",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Stopping)],
        "An `on_stop` that hangs is killed at three quarters of the grace period.",
        "A hook must not keep a process from ending.",
        body!(kills_stopping),
    )
    .pace(Pace::Driven),
    Rule::must(
        "SHUT-06",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Starting)],
        "A shutdown during `on_start` waits for it; a start that hangs is killed, and its `spawn` fails.",
        "An actor that is about to live must end, too.",
        body!(starting),
    )
    .pace(Pace::Driven),
];

const GRACE: Duration = Duration::from_secs(4);
const SECOND: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(1);

async fn drains(lab: Lab) {
    let (system, gate) = (lab.system(), Gate::new());
    let (idle, busy) = (Journal::new(), Journal::new());
    let first = system.spawn(Worker::new(&idle)).await.unwrap();
    let second = system.spawn(Worker::new(&busy)).await.unwrap();
    lab.expose(&first);
    lab.soon("the actor answers", first.ask(Note(1))).await.unwrap();
    lab.rest().await;
    second.tell(Hold(1, gate.clone())).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    second.tell(Note(2)).unwrap();
    let closing = system.clone();
    let shutdown = tokio::spawn(async move { closing.shutdown().await });
    lab.rest().await;
    assert!(!shutdown.is_finished() && first.is_alive(), "one actor is busy, and may need the other");
    gate.open();
    lab.soon("the shutdown returns", shutdown).await.unwrap().unwrap();
    assert!(matches!(first.stop_reason(), Some(StopReason::Drained)));
    assert!(matches!(second.stop_reason(), Some(StopReason::Drained)));
    assert_eq!(idle.entries(), ["start", "1", "stop: drained", "drop"]);
    assert_eq!(busy.entries(), ["start", "hold 1", "held 1", "2", "stop: drained", "drop"]);
    assert_eq!(system.live(), 0);
}

async fn afterwards(lab: Lab) {
    let (system, journal) = (lab.system(), Journal::new());
    let actor = system.spawn(Worker::new(&journal)).name("a").await.unwrap();
    let (one, two) = tokio::join!(system.shutdown(), system.shutdown());
    assert!(one.is_ok() && two.is_ok(), "{one:?} {two:?}");
    lab.soon("a third shutdown returns", system.shutdown()).await.unwrap();
    let made = Journal::new();
    let error = system.spawn(Worker::factory(&made, Hooks::default())).name("a").await.unwrap_err();
    assert_eq!((error.kind(), error.get("system")), (ErrorKind::SystemShutDown, Some("lab")));
    assert!(made.is_empty());
    assert_eq!(actor.tell(Note(1)).unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(journal.entries(), ["start", "stop: drained", "drop"]);
}

fn assert_incomplete(error: &Error, not_drained: Option<&str>, not_stopped: Option<&str>) {
    assert_eq!((error.kind(), error.get("system")), (ErrorKind::ShutdownIncomplete, Some("lab")));
    assert_eq!(error.get("did not drain"), not_drained);
    assert_eq!(error.get("did not stop"), not_stopped);
    assert_eq!(error.get("could not be killed"), None);
}

async fn stops(mut lab: Lab) {
    let (journal, system) = (Journal::new(), lab.builder().grace(GRACE).build().unwrap());
    let actor = system.spawn(Sleeper(journal.clone())).name("sleeper").await.unwrap();
    for number in 0..5 {
        actor.tell(Sleep(number)).unwrap();
    }
    let quick = system.spawn(Worker::new(&Journal::new())).await.unwrap();
    let closing = system.clone();
    let shutdown = tokio::spawn(async move { closing.shutdown().await });
    // 700 ms each: the third is in hand when the first half is over.
    for step in 0..20 {
        let step = if step == 0 { SECOND / 10 - TICK } else { SECOND / 10 };
        lab.clock().advance(step).await;
    }
    assert_eq!(journal.entries(), ["0", "1", "2"]);
    lab.clock().advance(TICK).await;
    assert!(matches!(quick.stop_reason(), Some(StopReason::Drained)));
    assert!(actor.is_alive(), "the current message is finished");
    lab.clock().advance(SECOND / 2).await;
    assert!(shutdown.is_finished(), "it returns when the last actor has ended");
    assert_incomplete(&shutdown.await.unwrap().unwrap_err(), Some("pekko://lab/user/sleeper"), None);
    assert_eq!(journal.entries(), ["0", "1", "2", "stop: stopped"]);
    assert_eq!(system.dead_letters(), 2);
}

async fn kills(mut lab: Lab) {
    let (journal, system) = (Journal::new(), lab.builder().grace(GRACE).build().unwrap());
    let actor = system.spawn(Worker::new(&journal)).name("stuck").await.unwrap();
    let gate = Gate::new();
    let asked = actor.ask(Hold(1, gate.clone())).enqueue().unwrap();
    gate.reached().await;
    let closing = system.clone();
    let shutdown = tokio::spawn(async move { closing.shutdown().await });
    lab.clock().advance(3 * SECOND - TICK).await;
    assert!(actor.is_alive() && !shutdown.is_finished(), "killed too early");
    lab.clock().advance(TICK).await;
    assert!(shutdown.is_finished(), "it returns when the last actor has ended");
    assert_incomplete(
        &shutdown.await.unwrap().unwrap_err(),
        Some("pekko://lab/user/stuck"),
        Some("pekko://lab/user/stuck"),
    );
    assert!(matches!(actor.stop_reason(), Some(StopReason::Killed)));
    assert_eq!(asked.await.unwrap_err().kind(), ErrorKind::Interrupted);
    assert_eq!(journal.entries(), ["start", "hold 1", "drop"]);
    assert_eq!(system.live(), 0);
}

async fn kills_stopping(mut lab: Lab) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let system = lab.builder().grace(GRACE).build().unwrap();
    let hooks = Hooks { stop: Act::Hold(gate.clone()), ..Hooks::default() };
    let actor = system.spawn(Worker::with(&journal, hooks)).name("stuck").await.unwrap();
    actor.stop();
    gate.reached().await;
    let closing = system.clone();
    let shutdown = tokio::spawn(async move { closing.shutdown().await });
    lab.clock().advance(3 * SECOND - TICK).await;
    assert!(actor.is_alive() && !shutdown.is_finished(), "killed too early");
    lab.clock().advance(TICK).await;
    assert_incomplete(
        &shutdown.await.unwrap().unwrap_err(),
        Some("pekko://lab/user/stuck"),
        Some("pekko://lab/user/stuck"),
    );
    assert!(matches!(actor.stop_reason(), Some(StopReason::Killed)));
    assert_eq!(journal.entries(), ["start", "stop: stopped", "drop"]);
}

async fn starting(mut lab: Lab) {
    let (slow, stuck, system) = (Gate::new(), Gate::new(), lab.builder().grace(GRACE).build().unwrap());
    let (first, second) = (Journal::new(), Journal::new());
    let spawn = |journal: &Journal, gate: &Gate, name: &str| {
        let hooks = Hooks { start: Act::Hold(gate.clone()), ..Hooks::default() };
        tokio::spawn(system.spawn(Worker::with(journal, hooks)).name(name).into_future())
    };
    let (one, two) = (spawn(&first, &slow, "slow"), spawn(&second, &stuck, "stuck"));
    slow.reached().await;
    stuck.reached().await;
    let closing = system.clone();
    let shutdown = tokio::spawn(async move { closing.shutdown().await });
    lab.clock().advance(SECOND).await;
    slow.open();
    let started = one.await.unwrap().unwrap();
    lab.clock().advance(SECOND).await;
    lab.clock().advance(SECOND).await;
    assert!(matches!(started.wait().await.unwrap(), StopReason::Drained));
    assert_eq!(first.entries(), ["start", "stop: drained", "drop"]);
    assert_eq!(two.await.unwrap().unwrap_err().kind(), ErrorKind::StartFailed);
    assert_eq!(second.entries(), ["start", "drop"]);
    assert_incomplete(
        &shutdown.await.unwrap().unwrap_err(),
        Some("pekko://lab/user/stuck"),
        Some("pekko://lab/user/stuck"),
    );
    assert_eq!(system.live(), 0);
}

/// Takes 700 ms for each message.
struct Sleeper(Journal);

impl Actor for Sleeper {
    async fn on_stop(&mut self, reason: &StopReason, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.0.note(format!("stop: {reason}"));
        Ok(())
    }
}

struct Sleep(u32);
impl Message for Sleep {
    type Reply = ();
}

impl Handler<Sleep> for Sleeper {
    async fn handle(&mut self, Sleep(number): Sleep, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.0.note(number);
        tokio::time::sleep(Duration::from_millis(700)).await;
        Ok(())
    }
}
