//! Senders and askers waiting for room in a bounded mailbox are answered, however the actor ends.

use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, ErrorKind, Overflow, Result, System};
use tokio::task::JoinHandle;

use crate::fixtures::busy::BusyWorker;
use crate::fixtures::hooks::{HookAction, Hooks};
use crate::fixtures::worker::{Hold, Note, PanicWith, Worker};
use crate::rules::body;
use crate::{Capability, Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "LINE-01",
        Topic::Bound,
        &[(Topic::Bound, State::Stopped), (Topic::Bound, State::Killed), (Topic::Bound, State::Failed)],
        "When the actor stops, is killed or fails, senders and askers waiting for room get `Stopped`, and their messages become dead letters.",
        "A waiting sender is informed when the actor ends.",
        body!(ends),
    ),
    Rule::must(
        "LINE-02",
        Topic::Bound,
        &[(Topic::Bound, State::Drained)],
        "A drain also handles the messages of senders waiting for room, and admits no further waiting sender.",
        "These messages were sent before the drain.",
        body!(drained),
    ),
    Rule::must(
        "LINE-03",
        Topic::Bound,
        &[(Topic::Bound, State::Stopping), (Topic::Bound, State::Dead)],
        "A send to a stopping or ended actor fails with `Stopped` at once, however full its mailbox was.",
        "There will never be room again.",
        body!(too_late),
    ),
    Rule::must(
        "LINE-04",
        Topic::Bound,
        &[(Topic::Bound, State::NativeStop)],
        "After a native stop or drain, no sender waits for room.",
        "A native stop is an ordinary end of an actor.",
        body!(native_stop),
    )
    .needs(Capability::NativeStop)
    .spi(&["ignores-stop"]),
    Rule::must(
        "LINE-05",
        Topic::Bound,
        &[(Topic::Bound, State::NativeKill)],
        "After a native kill, no sender waits for room.",
        "A native kill is an ordinary end of an actor.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "keeps-cell-after-kill"]),
    Rule::must(
        "LINE-06",
        Topic::Bound,
        &[(Topic::Bound, State::RuntimeDropped)],
        "After the runtime of the actor was dropped, no sender waits for room.",
        "Senders on other runtimes must not wait for a runtime that is gone.",
        body!(runtime_dropped),
    )
    .spi(&["foreign-runtime"]),
    Rule::must(
        "LINE-07",
        Topic::Bound,
        &[(Topic::Bound, State::Handling)],
        "An ask that waits for room fails with `Timeout` on time, and its message is skipped.",
        "The timeout covers the whole time from asking to the reply.",
        body!(times_out),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "LINE-08",
        Topic::Bound,
        &[(Topic::Bound, State::Handling), (Topic::Ask, State::Handling)],
        "An ask that is given up leaves the queue of waiting senders; an ask given up in the mailbox admits the next waiting sender at once.",
        "No sender waits behind a withdrawn message.",
        body!(given_up),
    ),
];

/// An actor in a handler, with one queued note in a mailbox of one, and a send and an ask waiting for room.
struct Line {
    system: System,
    gate: Gate,
    journal: Journal,
    actor: ActorRef<Worker>,
    sender: JoinHandle<Result<()>>,
    asker: dactor_core::PendingReply<Note>,
}

async fn line(rule: &RuleContext, hooks: Hooks) -> Line {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let worker = Worker::with(&journal, hooks);
    let actor = system.spawn(worker).bounded(1, Overflow::Block).await.unwrap();
    actor.tell(Hold(0, gate.clone())).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    actor.tell(Note(1)).unwrap();
    queue(system, gate, journal, actor).await
}

async fn queue(system: System, gate: Gate, journal: Journal, actor: ActorRef<Worker>) -> Line {
    let waiting = actor.clone();
    let mut send = Box::pin(async move { waiting.send(Note(2)).await });
    assert!(futures_util::poll!(&mut send).is_pending());
    let sender = tokio::spawn(send);
    let asker = actor.ask(Note(3)).enqueue().unwrap();
    Line { system, gate, journal, actor, sender, asker }
}

impl Line {
    async fn answered(self, rule: &RuleContext, dead: u64) {
        let sent = rule.soon("the sender is answered", self.sender).await.unwrap();
        assert_eq!(sent.unwrap_err().kind(), ErrorKind::Stopped);
        let asked = rule.soon("the asker is answered", self.asker).await;
        assert_eq!(asked.unwrap_err().kind(), ErrorKind::Stopped);
        rule.soon("the actor ends", self.actor.wait()).await.unwrap();
        assert_eq!(self.system.dead_letter_count(), dead);
    }
}

async fn ends(rule: RuleContext) {
    let stopped = line(&rule, Hooks::default()).await;
    stopped.actor.stop();
    stopped.gate.open();
    stopped.answered(&rule, 3).await;

    let killed = line(&rule, Hooks::default()).await;
    killed.actor.kill();
    killed.answered(&rule, 3).await;

    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let actor = system.spawn(Worker::new(&journal)).bounded(2, Overflow::Block).await.unwrap();
    actor.tell(Hold(0, gate.clone())).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    actor.tell(PanicWith("over")).unwrap();
    actor.tell(Note(1)).unwrap();
    let failed = queue(system, gate, journal, actor).await;
    let (actor, gate) = (failed.actor.clone(), failed.gate.clone());
    gate.open();
    rule.soon("the actor ends", actor.wait()).await.unwrap();
    // The send was admitted when the panicking message was taken, and was refused in the queue.
    rule.soon("the sender is answered", failed.sender).await.unwrap().unwrap();
    let asked = rule.soon("the asker is answered", failed.asker).await;
    assert_eq!(asked.unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(failed.system.dead_letter_count(), 3);
}

async fn drained(rule: RuleContext) {
    let line = line(&rule, Hooks::default()).await;
    line.actor.drain();
    let late = rule.soon("a late send is refused", line.actor.send(Note(9))).await;
    assert_eq!(late.unwrap_err().kind(), ErrorKind::Stopped);
    line.gate.open();
    rule.soon("the waiting sender is admitted", line.sender).await.unwrap().unwrap();
    assert_eq!(rule.soon("the asker is answered", line.asker).await.unwrap(), 3);
    rule.soon("the actor ends", line.actor.wait()).await.unwrap();
    assert_eq!(line.journal.entries(), ["start", "hold 0", "held 0", "1", "2", "3", "stop: drained", "drop"]);
    assert_eq!(line.system.dead_letter_count(), 1, "the late message");
}

async fn too_late(rule: RuleContext) {
    let stopping = Gate::new();
    let line = line(&rule, Hooks { stop: HookAction::Hold(stopping.clone()), ..Hooks::default() }).await;
    let actor = line.actor.clone();
    actor.stop();
    line.gate.open();
    rule.soon("the actor is in `on_stop`", stopping.reached()).await;
    let late = rule.soon("a send to a stopping actor fails", actor.send(Note(9))).await;
    assert_eq!(late.unwrap_err().kind(), ErrorKind::Stopped);
    stopping.open();
    rule.soon("the actor ends", actor.wait()).await.unwrap();
    let late = rule.soon("a send to an ended actor fails", actor.send(Note(9))).await;
    assert_eq!(late.unwrap_err().kind(), ErrorKind::Stopped);
    line.answered(&rule, 5).await;
}

async fn native_stop(rule: RuleContext) {
    let line = line(&rule, Hooks::default()).await;
    rule.native_stop(&line.actor).await;
    line.gate.open();
    rule.soon("the actor ends", line.actor.wait()).await.unwrap();
    // Handled or refused: a native stop may handle accepted messages.
    let sent = rule.soon("the sender is answered", line.sender).await.unwrap();
    let asked = rule.soon("the asker is answered", line.asker).await;
    assert_eq!(sent.is_ok(), asked.is_ok());
    assert_eq!(line.system.dead_letter_count(), if sent.is_ok() { 0 } else { 3 });
}

async fn native_kill(rule: RuleContext) {
    let line = line(&rule, Hooks::default()).await;
    rule.native_kill(&line.actor).await;
    line.answered(&rule, 3).await;
}

async fn runtime_dropped(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let (spawner, worker, hold) = (system.clone(), Worker::new(&journal), gate.clone());
    let (go, gone) = tokio::sync::oneshot::channel();
    let (ready, actor) = tokio::sync::oneshot::channel();
    let elsewhere = rule.on_dropped_runtime(move || async move {
        let actor = spawner.spawn(worker).bounded(1, Overflow::Block).await.unwrap();
        actor.tell(Hold(0, hold.clone())).unwrap();
        hold.reached().await;
        actor.tell(Note(1)).unwrap();
        let _ = ready.send(actor);
        let _ = gone.await;
    });
    let here = async {
        let actor = actor.await.unwrap();
        let line = queue(system, gate, journal, actor).await;
        let _ = go.send(());
        line
    };
    let (line, ()) = rule.soon("the runtime is dropped", futures_util::future::join(here, elsewhere)).await;
    line.answered(&rule, 3).await;
}

async fn times_out(mut rule: RuleContext) {
    const FIVE: Duration = Duration::from_secs(5);
    let line = line(&rule, Hooks::default()).await;
    let asker = line.actor.clone();
    let asked = tokio::spawn(async move { asker.ask(Note(4)).timeout(FIVE).await });
    rule.clock().advance(FIVE).await;
    assert!(asked.is_finished(), "the ask did not time out");
    assert_eq!(asked.await.unwrap().unwrap_err().kind(), ErrorKind::Timeout);
    line.gate.open();
    assert_eq!(line.asker.await.unwrap(), 3);
    assert_eq!(line.actor.ask(Note(5)).await.unwrap(), 5);
    assert_eq!(line.journal.entries(), ["start", "hold 0", "held 0", "1", "2", "3", "5"]);
    assert_eq!(line.system.dead_letter_count(), 0);
}

async fn given_up(rule: RuleContext) {
    let busy = BusyWorker::new(&rule, Hooks::default(), |spawn| spawn.bounded(1, Overflow::Block)).await;
    let actor = busy.actor.clone();
    let queued = actor.ask(Note(1)).enqueue().unwrap();
    let waiting: Vec<_> = (2..=4).map(|number| actor.ask(Note(number)).enqueue().unwrap()).collect();
    let sender = tokio::spawn({
        let actor = actor.clone();
        async move { actor.send(Note(5)).await }
    });
    rule.let_idle().await;
    drop(waiting);
    assert!(!sender.is_finished());
    drop(queued);
    rule.soon("the waiting sender is admitted", sender).await.unwrap().unwrap();
    assert_eq!((actor.queued(), busy.system.dead_letter_count()), (Some(1), 0));
    assert_eq!(actor.tell(Note(6)).unwrap_err().kind(), ErrorKind::MailboxFull);
    assert_eq!(busy.handled(&rule).await, ["5"]);
}
