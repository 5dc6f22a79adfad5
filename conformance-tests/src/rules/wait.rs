//! Waiting for the end, and counting who lives.

use std::sync::Arc;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ErrorKind, StopReason};
use futures_util::future::join_all;

use super::body;
use crate::actors::{Act, Boom, Hold, Hooks, Note, Worker};
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "WAIT-01",
        Topic::Wait,
        &[(Topic::Wait, State::Idle), (Topic::Wait, State::Handling)],
        "Any number of waiters, who came while the actor was idle or handling, all get the reason; so do those who come after.",
        "The end is a fact, not an event that one may miss.",
        body!(many),
    )
    .spi(&["runs-nothing"]),
    Rule::must(
        "WAIT-02",
        Topic::Wait,
        &[(Topic::Wait, State::Stopping), (Topic::Name, State::Stopped)],
        "When `wait` returns, `on_stop` is done, the instance is dropped, the name is free and the actor is not counted.",
        "Whoever waits wants to use what the actor held.",
        body!(all_is_over),
    ),
    Rule::must(
        "WAIT-03",
        Topic::Wait,
        &[(Topic::Wait, State::Idle)],
        "`wait_all` returns when every actor that lived has ended, with the first failure; an empty system has none to wait for.",
        "A main function waits for its actors and exits with what went wrong first.",
        body!(all),
    ),
    Rule::must(
        "WAIT-04",
        Topic::Wait,
        &[(Topic::Wait, State::Idle), (Topic::Wait, State::Dead)],
        "The number of live actors is exact after every spawn and every end.",
        "It is how a program knows that nothing leaks.",
        body!(counts),
    ),
    Rule::must(
        "WAIT-05",
        Topic::Wait,
        &[(Topic::Wait, State::Handling)],
        "A waiter that gives up disturbs nobody.",
        "A wait is often one arm of a select.",
        body!(gives_up),
    ),
];

async fn many(lab: Lab) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let actor = lab.system().spawn(Worker::new(&journal)).await.unwrap();
    let waiter = |actor: &dactor_core::ActorRef<Worker>| {
        let actor = actor.clone();
        tokio::spawn(async move { actor.wait().await.unwrap() })
    };
    let mut waiters: Vec<_> = (0..5).map(|_| waiter(&actor)).collect();
    lab.soon("the actor answers", actor.ask(Note(1))).await.unwrap();
    actor.tell(Hold(2, gate.clone())).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    waiters.extend((0..5).map(|_| waiter(&actor)));
    tokio::task::yield_now().await;
    assert!(waiters.iter().all(|waiter| !waiter.is_finished()), "a waiter was told too early");
    actor.stop();
    gate.open();
    for reason in lab.soon("all waiters are told", join_all(waiters)).await {
        assert!(matches!(reason.unwrap(), StopReason::Stopped));
    }
    for _ in 0..5 {
        assert!(matches!(
            lab.soon("a late waiter is told", actor.wait()).await.unwrap(),
            StopReason::Stopped
        ));
    }
}

async fn all_is_over(lab: Lab) {
    let system = lab.system();
    for round in 0..20 {
        let (journal, gate) = (Journal::new(), Gate::new());
        let hooks = Hooks { stop: Act::Hold(gate.clone()), ..Hooks::default() };
        let actor = system.spawn(Worker::with(&journal, hooks)).name("again").await.unwrap();
        let waiting = actor.clone();
        let waiter = tokio::spawn(async move {
            waiting.wait().await.unwrap();
            (waiting.system().live(), waiting.system().get::<Worker>("again").is_some())
        });
        actor.stop();
        lab.soon("on_stop runs", gate.reached()).await;
        assert!(!waiter.is_finished(), "the waiter was told before on_stop was done");
        gate.open();
        assert_eq!(lab.soon("the waiter is told", waiter).await.unwrap(), (0, false), "round {round}");
        assert_eq!(journal.entries(), ["start", "stop: stopped", "drop"]);
    }
}

async fn all(lab: Lab) {
    let system = lab.system();
    lab.soon("an empty system has nobody to wait for", system.wait_all()).await.unwrap();
    let journal = Journal::new();
    let mut actors = Vec::new();
    for _ in 0..4 {
        actors.push(system.spawn(Worker::new(&journal)).await.unwrap());
    }
    let mut waiter = Box::pin(system.wait_all());
    assert!(futures_util::poll!(&mut waiter).is_pending());
    actors[0].stop();
    lab.soon("the first ends", actors[0].wait()).await.unwrap();
    for (index, text) in [(2, "first"), (1, "second")] {
        actors[index].tell(Boom(text)).unwrap();
        lab.soon("another one fails", actors[index].wait()).await.unwrap();
    }
    assert!(futures_util::poll!(&mut waiter).is_pending(), "one actor still lives");
    actors[3].kill();
    let error = lab.soon("the waiter is told", waiter).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panicked);
    assert!(format!("{error:#}").contains("first"), "{error}");
}

async fn counts(lab: Lab) {
    let (system, other, journal) = (lab.system(), lab.system(), Journal::new());
    assert_eq!(system.live(), 0);
    let mut actors = Vec::new();
    for count in 1..=20 {
        actors.push(system.spawn(Worker::new(&journal)).await.unwrap());
        assert_eq!(system.live(), count);
    }
    assert_eq!(other.live(), 0, "systems count their own");
    for (ended, actor) in actors.iter().enumerate() {
        match ended % 4 {
            0 => actor.stop(),
            1 => actor.drain(),
            2 => actor.kill(),
            _ => actor.tell(Boom("no")).unwrap(),
        }
        lab.soon("the actor ends", actor.wait()).await.unwrap();
        assert_eq!(system.live(), 19 - ended);
    }
}

async fn gives_up(lab: Lab) {
    let gate = Gate::new();
    let actor = lab.system().spawn(Worker::new(&Journal::new())).await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    let shared = Arc::new(actor);
    let mut leaving = Box::pin(shared.wait());
    let mut staying = Box::pin(shared.wait());
    assert!(futures_util::poll!(&mut leaving).is_pending() && futures_util::poll!(&mut staying).is_pending());
    drop(leaving);
    shared.stop();
    gate.open();
    assert!(matches!(lab.soon("the other waiter is told", staying).await.unwrap(), StopReason::Stopped));
}
