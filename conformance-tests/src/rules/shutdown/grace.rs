//! Drain, stop and kill within one grace period.

use std::future::IntoFuture;
use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Actor, Context, Error, ErrorKind, Handler, Message, Outcome, StopReason};

use crate::fixtures::hooks::{HookAction, Hooks};
use crate::fixtures::worker::{Hold, Note, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "SHUT-01",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Idle), (Topic::Shutdown, State::Handling)],
        "A shutdown drains all actors: every accepted message is handled, `on_stop` runs with `drained`, and `shutdown` returns when the last actor has ended.",
        "An orderly shutdown loses no message.",
        body!(drains),
    )
    .spi(&["loses-wakes"]),
    Rule::must(
        "SHUT-02",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Dead), (Topic::Shutdown, State::Idle)],
        "After a shutdown, `spawn` fails with `SystemShutDown` and messages are refused; further shutdowns, also concurrent ones, succeed.",
        "Late callers get a clear error, and signals may arrive twice.",
        body!(afterwards),
    ),
    Rule::must(
        "SHUT-03",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Handling)],
        "An actor that does not drain within half of the grace period is stopped: its current message is finished, its queued messages become dead letters, and the error names it.",
        "A long queue must not keep a process from ending.",
        body!(stops),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "SHUT-04",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Handling)],
        "An actor that has not stopped after three quarters of the grace period is killed; the error says that it neither drained nor stopped.",
        "A handler that hangs must not keep a process from ending.",
        body!(kills),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "SHUT-05",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Stopping)],
        "An `on_stop` that hangs is killed after three quarters of the grace period.",
        "A hook must not keep a process from ending.",
        body!(kills_stopping),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "SHUT-06",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Starting)],
        "A shutdown during `on_start` waits for it; a start that hangs is killed, and its `spawn` fails.",
        "A starting actor must end, too.",
        body!(starting),
    )
    .runtime(RuntimeMode::DrivenClock),
];

const GRACE: Duration = Duration::from_secs(4);
const SECOND: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(1);

async fn drains(rule: RuleContext) {
    let (system, gate) = (rule.system(), Gate::new());
    let (idle, busy) = (Journal::new(), Journal::new());
    let first = system.spawn(Worker::new(&idle)).await.unwrap();
    let second = system.spawn(Worker::new(&busy)).await.unwrap();
    rule.take_native_handle(&first);
    rule.soon("the actor answers", first.ask(Note(1))).await.unwrap();
    rule.let_idle().await;
    second.tell(Hold(1, gate.clone())).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    second.tell(Note(2)).unwrap();
    let closing = system.clone();
    let shutdown = tokio::spawn(async move { closing.shutdown().await });
    rule.let_idle().await;
    assert!(!shutdown.is_finished() && first.is_alive() == Some(true), "a busy actor may need the idle one");
    gate.open();
    rule.soon("the shutdown returns", shutdown).await.unwrap().unwrap();
    assert!(matches!(first.stop_reason(), Some(StopReason::Drained)));
    assert!(matches!(second.stop_reason(), Some(StopReason::Drained)));
    assert_eq!(idle.entries(), ["start", "1", "stop: drained", "drop"]);
    assert_eq!(busy.entries(), ["start", "hold 1", "held 1", "2", "stop: drained", "drop"]);
    assert_eq!(system.actor_count(), 0);
}

async fn afterwards(rule: RuleContext) {
    let (system, journal) = (rule.system(), Journal::new());
    let actor = system.spawn(Worker::new(&journal)).name("a").await.unwrap();
    let (one, two) = tokio::join!(system.shutdown(), system.shutdown());
    assert!(one.is_ok() && two.is_ok(), "{one:?} {two:?}");
    rule.soon("a third shutdown returns", system.shutdown()).await.unwrap();
    let made = Journal::new();
    let error = system.spawn(Worker::factory(&made, Hooks::default())).name("a").await.unwrap_err();
    assert_eq!((error.kind(), error.get("system")), (ErrorKind::SystemShutDown, Some("test")));
    assert!(made.is_empty());
    assert_eq!(actor.tell(Note(1)).unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(journal.entries(), ["start", "stop: drained", "drop"]);
}

fn assert_incomplete(error: &Error, not_drained: Option<&str>, not_stopped: Option<&str>) {
    assert_eq!((error.kind(), error.get("system")), (ErrorKind::ShutdownIncomplete, Some("test")));
    assert_eq!(error.get("did not drain"), not_drained);
    assert_eq!(error.get("did not stop"), not_stopped);
    assert_eq!(error.get("could not be killed"), None);
}

async fn stops(mut rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.builder().grace(GRACE).build().unwrap());
    let actor = system.spawn(Sleeper(journal.clone())).name("sleeper").await.unwrap();
    for number in 0..5 {
        actor.tell(Sleep(number)).unwrap();
    }
    let quick = system.spawn(Worker::new(&Journal::new())).await.unwrap();
    let closing = system.clone();
    let shutdown = tokio::spawn(async move { closing.shutdown().await });
    // With 700 ms per message, the third one is current when half of the grace period is over.
    for step in 0..20 {
        let step = if step == 0 { SECOND / 10 - TICK } else { SECOND / 10 };
        rule.clock().advance(step).await;
    }
    assert_eq!(journal.entries(), ["0", "1", "2"]);
    rule.clock().advance(TICK).await;
    assert!(matches!(quick.stop_reason(), Some(StopReason::Drained)));
    assert!(actor.is_alive() == Some(true), "the current message is finished");
    rule.clock().advance(SECOND / 2).await;
    assert!(shutdown.is_finished(), "`shutdown` returns when the last actor has ended");
    assert_incomplete(&shutdown.await.unwrap().unwrap_err(), Some("pekko://test/user/sleeper"), None);
    assert_eq!(journal.entries(), ["0", "1", "2", "stop: stopped"]);
    assert_eq!(system.dead_letter_count(), 2);
}

async fn kills(mut rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.builder().grace(GRACE).build().unwrap());
    let actor = system.spawn(Worker::new(&journal)).name("stuck").await.unwrap();
    let gate = Gate::new();
    let asked = actor.ask(Hold(1, gate.clone())).enqueue().unwrap();
    gate.reached().await;
    let closing = system.clone();
    let shutdown = tokio::spawn(async move { closing.shutdown().await });
    rule.clock().advance(3 * SECOND - TICK).await;
    assert!(actor.is_alive() == Some(true) && !shutdown.is_finished(), "killed too early");
    rule.clock().advance(TICK).await;
    assert!(shutdown.is_finished(), "`shutdown` returns when the last actor has ended");
    assert_incomplete(
        &shutdown.await.unwrap().unwrap_err(),
        Some("pekko://test/user/stuck"),
        Some("pekko://test/user/stuck"),
    );
    assert!(matches!(actor.stop_reason(), Some(StopReason::Killed)));
    assert_eq!(asked.await.unwrap_err().kind(), ErrorKind::Interrupted);
    assert_eq!(journal.entries(), ["start", "hold 1", "drop"]);
    assert_eq!(system.actor_count(), 0);
}

async fn kills_stopping(mut rule: RuleContext) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let system = rule.builder().grace(GRACE).build().unwrap();
    let hooks = Hooks { stop: HookAction::Hold(gate.clone()), ..Hooks::default() };
    let actor = system.spawn(Worker::with(&journal, hooks)).name("stuck").await.unwrap();
    actor.stop();
    gate.reached().await;
    let closing = system.clone();
    let shutdown = tokio::spawn(async move { closing.shutdown().await });
    rule.clock().advance(3 * SECOND - TICK).await;
    assert!(actor.is_alive() == Some(true) && !shutdown.is_finished(), "killed too early");
    rule.clock().advance(TICK).await;
    assert_incomplete(
        &shutdown.await.unwrap().unwrap_err(),
        Some("pekko://test/user/stuck"),
        Some("pekko://test/user/stuck"),
    );
    assert!(matches!(actor.stop_reason(), Some(StopReason::Killed)));
    assert_eq!(journal.entries(), ["start", "stop: stopped", "drop"]);
}

async fn starting(mut rule: RuleContext) {
    let (slow, stuck, system) = (Gate::new(), Gate::new(), rule.builder().grace(GRACE).build().unwrap());
    let (first, second) = (Journal::new(), Journal::new());
    let spawn = |journal: &Journal, gate: &Gate, name: &str| {
        let hooks = Hooks { start: HookAction::Hold(gate.clone()), ..Hooks::default() };
        tokio::spawn(system.spawn(Worker::with(journal, hooks)).name(name).into_future())
    };
    let (one, two) = (spawn(&first, &slow, "slow"), spawn(&second, &stuck, "stuck"));
    slow.reached().await;
    stuck.reached().await;
    let closing = system.clone();
    let shutdown = tokio::spawn(async move { closing.shutdown().await });
    rule.clock().advance(SECOND).await;
    slow.open();
    let started = one.await.unwrap().unwrap();
    rule.clock().advance(SECOND).await;
    rule.clock().advance(SECOND).await;
    assert!(matches!(started.wait().await.unwrap(), StopReason::Drained));
    assert_eq!(first.entries(), ["start", "stop: drained", "drop"]);
    assert_eq!(two.await.unwrap().unwrap_err().kind(), ErrorKind::StartFailed);
    assert_eq!(second.entries(), ["start", "drop"]);
    assert_incomplete(
        &shutdown.await.unwrap().unwrap_err(),
        Some("pekko://test/user/stuck"),
        Some("pekko://test/user/stuck"),
    );
    assert_eq!(system.actor_count(), 0);
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
    type Access = dactor_core::Exclusive;
}

impl Handler<Sleep> for Sleeper {
    async fn handle(&mut self, Sleep(number): Sleep, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.0.note(number);
        tokio::time::sleep(Duration::from_millis(700)).await;
        Ok(())
    }
}
