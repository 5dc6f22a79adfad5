//! Whoever waits in line for room in a bounded mailbox is answered, however the actor ends.

use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, ErrorKind, Overflow, Result, System};
use tokio::task::JoinHandle;

use super::body;
use crate::actors::{Act, Boom, Hold, Hooks, Note, Worker};
use crate::{Capability, Lab, Pace, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "LINE-01",
        Topic::Bound,
        &[(Topic::Bound, State::Stopped), (Topic::Bound, State::Killed), (Topic::Bound, State::Failed)],
        "When the actor stops, is killed or fails, senders and askers in line get `Stopped`, and their messages are dead letters.",
        "A place in line is no promise, but whoever has one is told.",
        body!(ends),
    ),
    Rule::must(
        "LINE-02",
        Topic::Bound,
        &[(Topic::Bound, State::Drained)],
        "A drain handles those in line, too, and lets nobody join it.",
        "They came before the drain.",
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
        "After a native stop or drain nobody is left in line.",
        "The native end is an end like any other.",
        body!(native_stop),
    )
    .needs(Capability::NativeStop)
    .spi(&["ignores-stop"]),
    Rule::must(
        "LINE-05",
        Topic::Bound,
        &[(Topic::Bound, State::NativeKill)],
        "After a native kill nobody is left in line.",
        "The native end is an end like any other.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "keeps-cell-after-kill"]),
    Rule::must(
        "LINE-06",
        Topic::Bound,
        &[(Topic::Bound, State::RuntimeDropped)],
        "After the runtime of the actor was dropped nobody is left in line.",
        "Senders elsewhere in the process must not wait for a runtime that is gone.",
        body!(runtime_dropped),
    )
    .spi(&["foreign-runtime"]),
    Rule::must(
        "LINE-07",
        Topic::Bound,
        &[(Topic::Bound, State::Handling)],
        "An ask that waits in line fails with `Timeout` in time, and is skipped when its turn comes.",
        "The timeout is from asking to answer, with all the waiting in between.",
        body!(times_out),
    )
    .pace(Pace::Driven),
];

/// An actor in a handler, one note queued in a mailbox of one, and a send and an ask in line.
struct Line {
    system: System,
    gate: Gate,
    journal: Journal,
    actor: ActorRef<Worker>,
    sender: JoinHandle<Result<()>>,
    asker: dactor_core::PendingReply<Note>,
}

async fn line(lab: &Lab, hooks: Hooks) -> Line {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let worker = Worker::with(&journal, hooks);
    let actor = system.spawn(worker).bounded(1, Overflow::Block).await.unwrap();
    actor.tell(Hold(0, gate.clone())).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
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
    async fn answered(self, lab: &Lab, dead: u64) {
        let sent = lab.soon("the sender is answered", self.sender).await.unwrap();
        assert_eq!(sent.unwrap_err().kind(), ErrorKind::Stopped);
        let asked = lab.soon("the asker is answered", self.asker).await;
        assert_eq!(asked.unwrap_err().kind(), ErrorKind::Stopped);
        lab.soon("the actor ends", self.actor.wait()).await.unwrap();
        assert_eq!(self.system.dead_letters(), dead);
    }
}

async fn ends(lab: Lab) {
    let stopped = line(&lab, Hooks::default()).await;
    stopped.actor.stop();
    stopped.gate.open();
    stopped.answered(&lab, 3).await;

    let killed = line(&lab, Hooks::default()).await;
    killed.actor.kill();
    killed.answered(&lab, 3).await;

    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let actor = system.spawn(Worker::new(&journal)).bounded(2, Overflow::Block).await.unwrap();
    actor.tell(Hold(0, gate.clone())).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    actor.tell(Boom("over")).unwrap();
    actor.tell(Note(1)).unwrap();
    let failed = queue(system, gate, journal, actor).await;
    let (actor, gate) = (failed.actor.clone(), failed.gate.clone());
    gate.open();
    lab.soon("the actor ends", actor.wait()).await.unwrap();
    // The send got in when the panicking message was taken, and died in the queue.
    lab.soon("the sender is answered", failed.sender).await.unwrap().unwrap();
    let asked = lab.soon("the asker is answered", failed.asker).await;
    assert_eq!(asked.unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(failed.system.dead_letters(), 3);
}

async fn drained(lab: Lab) {
    let line = line(&lab, Hooks::default()).await;
    line.actor.drain();
    let late = lab.soon("a late send is refused", line.actor.send(Note(9))).await;
    assert_eq!(late.unwrap_err().kind(), ErrorKind::Stopped);
    line.gate.open();
    lab.soon("the sender gets in", line.sender).await.unwrap().unwrap();
    assert_eq!(lab.soon("the asker is answered", line.asker).await.unwrap(), 3);
    lab.soon("the actor ends", line.actor.wait()).await.unwrap();
    assert_eq!(line.journal.entries(), ["start", "hold 0", "held 0", "1", "2", "3", "stop: drained", "drop"]);
    assert_eq!(line.system.dead_letters(), 1, "the late one");
}

async fn too_late(lab: Lab) {
    let stopping = Gate::new();
    let line = line(&lab, Hooks { stop: Act::Hold(stopping.clone()), ..Hooks::default() }).await;
    let actor = line.actor.clone();
    actor.stop();
    line.gate.open();
    lab.soon("the actor is in `on_stop`", stopping.reached()).await;
    let late = lab.soon("a send to a stopping actor fails", actor.send(Note(9))).await;
    assert_eq!(late.unwrap_err().kind(), ErrorKind::Stopped);
    stopping.open();
    lab.soon("the actor ends", actor.wait()).await.unwrap();
    let late = lab.soon("a send to an ended actor fails", actor.send(Note(9))).await;
    assert_eq!(late.unwrap_err().kind(), ErrorKind::Stopped);
    line.answered(&lab, 5).await;
}

async fn native_stop(lab: Lab) {
    let line = line(&lab, Hooks::default()).await;
    lab.native_stop(&line.actor).await;
    line.gate.open();
    lab.soon("the actor ends", line.actor.wait()).await.unwrap();
    // Handled or refused: a native stop may handle what was accepted.
    let sent = lab.soon("the sender is answered", line.sender).await.unwrap();
    let asked = lab.soon("the asker is answered", line.asker).await;
    assert_eq!(sent.is_ok(), asked.is_ok());
    assert_eq!(line.system.dead_letters(), if sent.is_ok() { 0 } else { 3 });
}

async fn native_kill(lab: Lab) {
    let line = line(&lab, Hooks::default()).await;
    lab.native_kill(&line.actor).await;
    line.answered(&lab, 3).await;
}

async fn runtime_dropped(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let (spawner, worker, hold) = (system.clone(), Worker::new(&journal), gate.clone());
    let (go, gone) = tokio::sync::oneshot::channel();
    let (ready, actor) = tokio::sync::oneshot::channel();
    let elsewhere = lab.elsewhere(move || async move {
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
    let (line, ()) = lab.soon("the runtime is dropped", futures_util::future::join(here, elsewhere)).await;
    line.answered(&lab, 3).await;
}

async fn times_out(mut lab: Lab) {
    const FIVE: Duration = Duration::from_secs(5);
    let line = line(&lab, Hooks::default()).await;
    let asker = line.actor.clone();
    let asked = tokio::spawn(async move { asker.ask(Note(4)).timeout(FIVE).await });
    lab.clock().advance(FIVE).await;
    assert!(asked.is_finished(), "the ask did not give up in time");
    assert_eq!(asked.await.unwrap().unwrap_err().kind(), ErrorKind::Timeout);
    line.gate.open();
    assert_eq!(line.asker.await.unwrap(), 3);
    assert_eq!(line.actor.ask(Note(5)).await.unwrap(), 5);
    assert_eq!(line.journal.entries(), ["start", "hold 0", "held 0", "1", "2", "3", "5"]);
    assert_eq!(line.system.dead_letters(), 0);
}
