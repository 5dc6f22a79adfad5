//! Waiting for the end of actors, and counting live actors.

use std::sync::Arc;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ErrorKind, StopReason};
use futures_util::FutureExt;
use futures_util::future::join_all;

use crate::fixtures::hooks::{HookAction, Hooks};
use crate::fixtures::self_caller::{RunAction, SelfCaller, action, assert_asked_itself};
use crate::fixtures::worker::{Hold, Note, PanicWith, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "WAIT-01",
        Topic::Wait,
        &[(Topic::Wait, State::Idle), (Topic::Wait, State::Handling)],
        "Any number of `wait` calls, made while the actor is idle, while it handles a message or after its end, return the stop reason.",
        "The end of an actor is a state, not an event that a caller can miss.",
        body!(many),
    )
    .spi(&["runs-nothing"]),
    Rule::must(
        "WAIT-02",
        Topic::Wait,
        &[(Topic::Wait, State::Stopping), (Topic::Name, State::Stopped)],
        "When `wait` returns, `on_stop` has finished, the instance is dropped, the name is free and the actor is no longer counted as live.",
        "Callers of `wait` want to use the resources that the actor held.",
        body!(all_is_over),
    ),
    Rule::must(
        "WAIT-03",
        Topic::Wait,
        &[(Topic::Wait, State::Idle)],
        "`wait_all` returns when every actor that was alive has ended, with the first failure; in an empty system it returns at once.",
        "A `main` function waits for its actors and exits with the first error.",
        body!(all),
    ),
    Rule::must(
        "WAIT-04",
        Topic::Wait,
        &[(Topic::Wait, State::Idle), (Topic::Wait, State::Dead)],
        "The number of live actors is exact after every spawn and every end.",
        "Programs use the count to detect leaks.",
        body!(counts),
    ),
    Rule::must(
        "WAIT-05",
        Topic::Wait,
        &[(Topic::Wait, State::Handling)],
        "Dropping a `wait` future does not affect other callers of `wait`.",
        "A `wait` is often one branch of a `select!`.",
        body!(gives_up),
    ),
    Rule::must(
        "WAIT-06",
        Topic::Wait,
        &[(Topic::Wait, State::Handling), (Topic::Wait, State::Starting), (Topic::Wait, State::Stopping)],
        "An actor that awaits its own `wait`, or `wait_all`, in a handler or hook gets `AskedItself` with its path, at once and at any poll; a task that it spawns may wait.",
        "The actor ends only after its turn, so the wait would be a deadlock.",
        body!(own_end),
    ),
];

async fn many(rule: RuleContext) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let actor = rule.system().spawn(Worker::new(&journal)).await.unwrap();
    let waiter = |actor: &dactor_core::ActorRef<Worker>| {
        let actor = actor.clone();
        tokio::spawn(async move { actor.wait().await.unwrap() })
    };
    let mut waiters: Vec<_> = (0..5).map(|_| waiter(&actor)).collect();
    rule.soon("the actor answers", actor.ask(Note(1))).await.unwrap();
    actor.tell(Hold(2, gate.clone())).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    waiters.extend((0..5).map(|_| waiter(&actor)));
    tokio::task::yield_now().await;
    assert!(waiters.iter().all(|waiter| !waiter.is_finished()), "`wait` returned too early");
    actor.stop();
    gate.open();
    for reason in rule.soon("all `wait` calls return", join_all(waiters)).await {
        assert!(matches!(reason.unwrap(), StopReason::Stopped));
    }
    for _ in 0..5 {
        assert!(matches!(
            rule.soon("a late `wait` returns", actor.wait()).await.unwrap(),
            StopReason::Stopped
        ));
    }
}

async fn all_is_over(rule: RuleContext) {
    let system = rule.system();
    for round in 0..20 {
        let (journal, gate) = (Journal::new(), Gate::new());
        let hooks = Hooks { stop: HookAction::Hold(gate.clone()), ..Hooks::default() };
        let actor = system.spawn(Worker::with(&journal, hooks)).name("again").await.unwrap();
        let waiting = actor.clone();
        let waiter = tokio::spawn(async move {
            waiting.wait().await.unwrap();
            (waiting.system().actor_count(), waiting.system().get::<Worker>("again").is_some())
        });
        actor.stop();
        rule.soon("on_stop runs", gate.reached()).await;
        assert!(!waiter.is_finished(), "`wait` returned before `on_stop` finished");
        gate.open();
        assert_eq!(rule.soon("`wait` returns", waiter).await.unwrap(), (0, false), "round {round}");
        assert_eq!(journal.entries(), ["start", "stop: stopped", "drop"]);
    }
}

async fn all(rule: RuleContext) {
    let system = rule.system();
    rule.soon("`wait_all` of an empty system returns", system.wait_all()).await.unwrap();
    let journal = Journal::new();
    let mut actors = Vec::new();
    for _ in 0..4 {
        actors.push(system.spawn(Worker::new(&journal)).await.unwrap());
    }
    let mut waiter = Box::pin(system.wait_all());
    assert!(futures_util::poll!(&mut waiter).is_pending());
    actors[0].stop();
    rule.soon("the first actor ends", actors[0].wait()).await.unwrap();
    for (index, text) in [(2, "first"), (1, "second")] {
        actors[index].tell(PanicWith(text)).unwrap();
        rule.soon("another actor fails", actors[index].wait()).await.unwrap();
    }
    assert!(futures_util::poll!(&mut waiter).is_pending(), "one actor is still alive");
    actors[3].kill();
    let error = rule.soon("`wait` returns", waiter).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panicked);
    assert!(format!("{error:#}").contains("first"), "{error}");
}

async fn counts(rule: RuleContext) {
    let (system, other, journal) = (rule.system(), rule.system(), Journal::new());
    assert_eq!(system.actor_count(), 0);
    let mut actors = Vec::new();
    for count in 1..=20 {
        actors.push(system.spawn(Worker::new(&journal)).await.unwrap());
        assert_eq!(system.actor_count(), count);
    }
    assert_eq!(other.actor_count(), 0, "systems count their own actors");
    for (ended, actor) in actors.iter().enumerate() {
        match ended % 4 {
            0 => actor.stop(),
            1 => actor.drain(),
            2 => actor.kill(),
            _ => actor.tell(PanicWith("no")).unwrap(),
        }
        rule.soon("the actor ends", actor.wait()).await.unwrap();
        assert_eq!(system.actor_count(), 19 - ended);
    }
}

async fn gives_up(rule: RuleContext) {
    let gate = Gate::new();
    let actor = rule.system().spawn(Worker::new(&Journal::new())).await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    let shared = Arc::new(actor);
    let mut leaving = Box::pin(shared.wait());
    let mut staying = Box::pin(shared.wait());
    assert!(futures_util::poll!(&mut leaving).is_pending() && futures_util::poll!(&mut staying).is_pending());
    drop(leaving);
    shared.stop();
    gate.open();
    assert!(matches!(rule.soon("the other `wait` returns", staying).await.unwrap(), StopReason::Stopped));
}

async fn own_end(rule: RuleContext) {
    let (system, journal) = (rule.system(), Journal::new());
    let check = |journal: &Journal, word: &'static str| {
        let journal = journal.clone();
        action(move |myself| async move {
            assert_asked_itself(myself.wait().await, "wait", &myself);
            assert_asked_itself(myself.system().wait_all().await, "wait_all", &myself);
            journal.note(word);
        })
    };
    let mut caller = SelfCaller::new(&journal);
    (caller.start_action, caller.stop_action) =
        (Some(check(&journal, "in on_start")), Some(check(&journal, "in on_stop")));
    let actor = system.spawn(caller).name("caller").await.unwrap();
    rule.soon("the handler returns", actor.ask(RunAction(check(&journal, "in a handler")))).await.unwrap();
    // Waits that were first polled outside of the actor.
    let (own, all) = (actor.clone(), system.clone());
    let mut one = async move { own.wait().await }.boxed();
    let mut two = async move { all.wait_all().await }.boxed();
    assert!(futures_util::poll!(&mut one).is_pending() && futures_util::poll!(&mut two).is_pending());
    let brought = action(move |myself| async move {
        assert_asked_itself(one.await, "wait", &myself);
        assert_asked_itself(two.await, "wait_all", &myself);
        let waiting = myself.clone();
        let waiter = tokio::spawn(async move { waiting.wait().await });
        myself.stop();
        drop(waiter);
    });
    rule.soon("the handler returns", actor.ask(RunAction(brought))).await.unwrap();
    assert_eq!(rule.soon("the actor ends", actor.wait()).await.unwrap().to_string(), "stopped");
    assert_eq!(journal.entries(), ["in on_start", "in a handler", "in on_stop", "stop: stopped"]);
    assert_eq!(actor.wait().await.unwrap().to_string(), "stopped");
}
