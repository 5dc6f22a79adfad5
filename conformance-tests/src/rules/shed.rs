//! Load shedding: a mailbox that is too long or too slow refuses new messages.

use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Error, ErrorKind, Overflow, Priority, Shed};

use crate::fixtures::busy::BusyWorker;
use crate::fixtures::hooks::{HookAction, Hooks};
use crate::fixtures::worker::{Hold, Note, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "SHED-01",
        Topic::Shed,
        &[(Topic::Shed, State::Handling)],
        "While the number of queued messages has reached the load-shedding length, a tell, send or ask of any priority fails with `Overloaded`, which names the actor, the message and when to retry, and becomes a dead letter; `try_tell` returns the message. Below that length messages are accepted.",
        "Load shedding: reject early instead of answering late.",
        body!(length),
    ),
    Rule::must(
        "SHED-02",
        Topic::Shed,
        &[(Topic::Shed, State::Handling)],
        "While a message of any lane has waited longer than the load-shedding age, new messages are refused; their retry time is the age of that message.",
        "A short but slow queue is an overload, too.",
        body!(age),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "SHED-03",
        Topic::Shed,
        &[(Topic::Shed, State::Handling), (Topic::Bound, State::Handling)],
        "A mailbox that sheds load admits no new waiting sender; senders that already wait stay.",
        "Waiting for room also delays the answer.",
        body!(line),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "SHED-04",
        Topic::Shed,
        &[(Topic::Shed, State::Idle)],
        "An idle actor accepts messages however long it was idle. The load-shedding limits of a system are the default, which a spawn can override. No limit, or a limit of zero, fails with `InvalidCapacity`.",
        "A configuration error is reported where it is made.",
        body!(configured),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "SHED-05",
        Topic::Shed,
        &[(Topic::Shed, State::Starting)],
        "A mailbox also sheds load during `on_start`.",
        "Messages pile up during a slow start.",
        body!(starting),
    ),
    Rule::must(
        "SHED-06",
        Topic::Shed,
        &[(Topic::Shed, State::Stopping), (Topic::Shed, State::Dead)],
        "A stopping or ended actor refuses messages with `Stopped`, however overloaded it was.",
        "A retry would be useless.",
        body!(ended),
    ),
    Rule::must(
        "SHED-07",
        Topic::Shed,
        &[(Topic::Shed, State::Handling), (Topic::Ask, State::Handling)],
        "An ask that was given up counts neither for the load-shedding length nor for the age.",
        "No asker waits for its answer.",
        body!(shed),
    )
    .runtime(RuntimeMode::DrivenClock),
];

fn assert_overloaded(error: &Error) -> Duration {
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Overloaded, Some("pekko://test/user/a")));
    assert_eq!(error.get("message"), Some(std::any::type_name::<Note>()));
    let after = error.retry_after().expect("the error says when to retry");
    assert_eq!(error.get("retry after"), Some(format!("{after:?}").as_str()));
    assert!(after >= Duration::from_millis(1), "a retry after {after:?} would busy-loop");
    after
}

async fn length(rule: RuleContext) {
    let busy = BusyWorker::new(&rule, Hooks::default(), |spawn| spawn.shed(Shed::default().length(2))).await;
    let actor = &busy.actor;
    actor.tell(Note(1)).unwrap();
    actor.at(Priority::High).tell(Note(2)).unwrap();
    assert_overloaded(&actor.tell(Note(3)).unwrap_err());
    assert_overloaded(&actor.at(Priority::High).tell(Note(3)).unwrap_err());
    let back = actor.try_tell(Note(4)).unwrap_err();
    assert_overloaded(&back.reason);
    assert_eq!(back.message.0, 4);
    assert_overloaded(&rule.soon("the send returns", actor.send(Note(5))).await.unwrap_err());
    assert_overloaded(&rule.soon("the ask returns", actor.ask(Note(6))).await.unwrap_err());
    assert_eq!(busy.system.dead_letter_count(), 4, "all but the returned message");
    busy.gate.open();
    rule.soon("the queue is handled", busy.journal.wait_for("1")).await;
    assert_eq!(rule.soon("the actor answers", actor.ask(Note(7))).await.unwrap(), 7);
    assert_eq!(busy.journal.entries(), ["start", "hold 0", "held 0", "2", "1", "7"]);
}

async fn age(mut rule: RuleContext) {
    const SECOND: Duration = Duration::from_secs(1);
    const TICK: Duration = Duration::from_millis(1);
    let busy =
        BusyWorker::new(&rule, Hooks::default(), |spawn| spawn.shed(Shed::default().age(SECOND))).await;
    let actor = busy.actor.clone();
    actor.at(Priority::Low).tell(Note(1)).unwrap();
    rule.clock().advance(SECOND).await;
    actor.tell(Note(2)).unwrap();
    rule.clock().advance(TICK).await;
    assert_eq!(assert_overloaded(&actor.tell(Note(3)).unwrap_err()), SECOND + TICK);
    rule.clock().advance(SECOND).await;
    assert_eq!(assert_overloaded(&actor.ask(Note(4)).await.unwrap_err()), 2 * SECOND + TICK);
    busy.gate.open();
    busy.journal.wait_for("1").await;
    rule.clock().advance(10 * SECOND).await;
    assert_eq!(actor.ask(Note(5)).await.unwrap(), 5, "the queue is empty");
    assert_eq!(busy.journal.entries(), ["start", "hold 0", "held 0", "2", "1", "5"]);
}

async fn line(mut rule: RuleContext) {
    const SECOND: Duration = Duration::from_secs(1);
    let shed = Shed::default().age(SECOND);
    let busy =
        BusyWorker::new(&rule, Hooks::default(), |spawn| spawn.bounded(1, Overflow::Block).shed(shed)).await;
    let actor = busy.actor.clone();
    actor.tell(Note(1)).unwrap();
    let waiting = actor.ask(Note(2)).enqueue().unwrap();
    assert_eq!(actor.tell(Note(3)).unwrap_err().kind(), ErrorKind::MailboxFull);
    rule.clock().advance(2 * SECOND).await;
    assert_overloaded(&actor.send(Note(4)).await.unwrap_err());
    assert_overloaded(&actor.tell(Note(5)).unwrap_err());
    busy.gate.open();
    assert_eq!(waiting.await.unwrap(), 2);
}

async fn configured(mut rule: RuleContext) {
    const SECOND: Duration = Duration::from_secs(1);
    let system = rule.builder().shed(Shed::default().length(1)).build().unwrap();
    let gate = Gate::new();
    let actor = system.spawn(Worker::new(&Journal::new())).await.unwrap();
    rule.clock().advance(1000 * SECOND).await;
    actor.tell(Hold(0, gate.clone())).unwrap();
    gate.reached().await;
    actor.tell(Note(1)).unwrap();
    assert_eq!(actor.tell(Note(2)).unwrap_err().kind(), ErrorKind::Overloaded);
    let other = system.spawn(Worker::new(&Journal::new())).shed(Shed::default().age(SECOND)).unbounded();
    let other = other.await.unwrap();
    other.tell(Hold(0, gate.clone())).unwrap();
    (1..9).for_each(|number| other.tell(Note(number)).unwrap());
    for wrong in [Shed::default(), Shed::default().length(0), Shed::default().age(Duration::ZERO)] {
        let error = rule.builder().shed(wrong).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidCapacity);
        assert!(error.get("because").is_some());
        let error = system.spawn(Worker::new(&Journal::new())).shed(wrong).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidCapacity);
    }
    assert_eq!(system.actor_count(), 2);
}

async fn starting(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let worker = Worker::with(&journal, Hooks { start: HookAction::Hold(gate.clone()), ..Hooks::default() });
    let spawner = system.clone();
    let shed = Shed::default().length(1);
    let spawned = tokio::spawn(async move { spawner.spawn(worker).name("a").shed(shed).await });
    rule.soon("the actor is in `on_start`", gate.reached()).await;
    let actor = system.get::<Worker>("a").unwrap();
    actor.tell(Note(1)).unwrap();
    assert_overloaded(&actor.tell(Note(2)).unwrap_err());
    gate.open();
    rule.soon("the actor starts", spawned).await.unwrap().unwrap();
    rule.soon("the queue is handled", journal.wait_for("1")).await;
    assert_eq!(rule.soon("the actor answers", actor.ask(Note(3))).await.unwrap(), 3);
}

async fn ended(rule: RuleContext) {
    let (journal, hold, stopping, system) = (Journal::new(), Gate::new(), Gate::new(), rule.system());
    let worker =
        Worker::with(&journal, Hooks { stop: HookAction::Hold(stopping.clone()), ..Hooks::default() });
    let actor = system.spawn(worker).shed(Shed::default().length(1)).await.unwrap();
    actor.tell(Hold(0, hold.clone())).unwrap();
    rule.soon("the handler runs", hold.reached()).await;
    actor.tell(Note(1)).unwrap();
    assert_eq!(actor.tell(Note(2)).unwrap_err().kind(), ErrorKind::Overloaded);
    actor.stop();
    assert_eq!(actor.tell(Note(3)).unwrap_err().kind(), ErrorKind::Stopped);
    hold.open();
    rule.soon("the actor is in `on_stop`", stopping.reached()).await;
    assert_eq!(actor.tell(Note(4)).unwrap_err().kind(), ErrorKind::Stopped);
    stopping.open();
    rule.soon("the actor ends", actor.wait()).await.unwrap();
    assert_eq!(actor.tell(Note(5)).unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(system.dead_letter_count(), 5);
}

async fn shed(mut rule: RuleContext) {
    const SECOND: Duration = Duration::from_secs(1);
    let busy = BusyWorker::new(&rule, Hooks::default(), |spawn| spawn.shed(Shed::default().length(2))).await;
    let asked: Vec<_> = (1..=2).map(|number| busy.actor.ask(Note(number)).enqueue().unwrap()).collect();
    assert_eq!(busy.actor.tell(Note(9)).unwrap_err().kind(), ErrorKind::Overloaded);
    drop(asked);
    busy.actor.tell(Note(3)).unwrap();
    let late = busy.actor.ask(Note(4)).enqueue().unwrap();
    assert_eq!(busy.actor.tell(Note(9)).unwrap_err().kind(), ErrorKind::Overloaded);
    drop(late);
    busy.actor.tell(Note(5)).unwrap();
    assert_eq!(busy.handled(&rule).await, ["3", "5"]);

    for priority in [Priority::Normal, Priority::High, Priority::Low] {
        let busy =
            BusyWorker::new(&rule, Hooks::default(), |spawn| spawn.shed(Shed::default().age(SECOND))).await;
        let old = busy.actor.at(priority).ask(Note(1)).enqueue().unwrap();
        rule.clock().advance(2 * SECOND).await;
        assert_eq!(busy.actor.tell(Note(9)).unwrap_err().kind(), ErrorKind::Overloaded);
        drop(old);
        busy.actor.tell(Note(2)).unwrap();
        let behind = busy.actor.ask(Note(3)).enqueue().unwrap();
        drop(behind);
        rule.clock().advance(SECOND).await;
        busy.actor.at(priority).tell(Note(4)).unwrap();
        assert_eq!(busy.handled(&rule).await.len(), 2, "{priority:?}");
    }
}
