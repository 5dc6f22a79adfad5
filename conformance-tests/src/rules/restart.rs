//! Restarting in place.

use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dactor_core::testkit::{Faults, Gate, Journal};
use dactor_core::{
    Actor, Context, Directive, Error, ErrorKind, Handler, Message, Outcome, StopReason, Supervision,
};

use crate::fixtures::hooks::{HookAction, Hooks};
use crate::fixtures::worker::{Count, Hold, Note, PanicWith, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "RESTART-01",
        Topic::Panic,
        &[(Topic::Panic, State::Handling), (Topic::Order, State::Handling)],
        "After a panic, an actor that was spawned from a factory is restarted in place with fresh state: reference, id, name and queue stay. The old instance is dropped first, and the failed message is not repeated.",
        "Senders do not notice a restart.",
        body!(in_place),
    ),
    Rule::must(
        "RESTART-02",
        Topic::Panic,
        &[(Topic::Panic, State::Handling), (Topic::Wait, State::Handling)],
        "Pending `wait` calls and weak references survive a restart.",
        "A restart is not an end.",
        body!(waiters_survive),
    ),
    Rule::must(
        "RESTART-03",
        Topic::Panic,
        &[(Topic::Panic, State::Handling)],
        "Messages sent during `on_restart` wait for it; a stop lets `on_restart` finish and then stops the actor.",
        "A restart is handled like the first start.",
        body!(held),
    ),
    Rule::must(
        "RESTART-04",
        Topic::Panic,
        &[(Topic::Panic, State::Failed), (Topic::Failure, State::Failed)],
        "A failed or panicking `on_restart`, or a factory that panics, is a further failure: the restart is repeated within the budget, then the actor ends as failed with that error, and queued messages become dead letters.",
        "A failing restart must not be repeated forever.",
        body!(fails),
    ),
    Rule::must(
        "RESTART-05",
        Topic::Panic,
        &[(Topic::Panic, State::Failed)],
        "Restarting an actor that was spawned from a value ends it as failed; the error gives the reason, and its source is the first failure.",
        "The mistake is in the spawn, and the error must say so.",
        body!(no_factory),
    ),
    Rule::must(
        "RESTART-06",
        Topic::Panic,
        &[(Topic::Panic, State::Handling)],
        "An actor can be restarted repeatedly; every asker gets the answer to its own message.",
        "A recurring fault costs only the messages that cause it.",
        body!(again_and_again),
    ),
];

async fn in_place(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let actor = system.spawn(Worker::factory(&journal, Hooks::default())).name("a").await.unwrap();
    let id = actor.id();
    actor.tell(Note(1)).unwrap();
    actor.tell(Hold(2, gate.clone())).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    let panicking = actor.ask(PanicWith("bang")).enqueue().unwrap();
    actor.tell(Note(3)).unwrap();
    let count = actor.ask(Count()).enqueue().unwrap();
    gate.open();
    assert_eq!(
        rule.soon("the asker gets the error", panicking).await.unwrap_err().kind(),
        ErrorKind::Panicked
    );
    assert_eq!(
        rule.soon("the queue is kept", count).await.unwrap(),
        1,
        "only 3 was handled by this instance"
    );
    let expected = ["make", "start", "1", "hold 2", "held 2", "drop", "make", "restart: Panicked", "3"];
    assert_eq!(journal.entries(), expected);
    assert_eq!((actor.id(), actor.name()), (id, Some("a")));
    assert_eq!(system.get::<Worker>("a"), Some(actor.clone()));
    assert_eq!((system.actor_count(), system.dead_letter_count()), (1, 0));
}

async fn waiters_survive(rule: RuleContext) {
    let journal = Journal::new();
    let actor = rule.system().spawn(Worker::factory(&journal, Hooks::default())).await.unwrap();
    let weak = actor.downgrade();
    let waiting = actor.clone();
    let waiter = tokio::spawn(async move { waiting.wait().await.unwrap() });
    actor.tell(PanicWith("bang")).unwrap();
    rule.soon("the actor is restarted", actor.ask(Note(1))).await.unwrap();
    assert!(!waiter.is_finished());
    assert_eq!(weak.upgrade(), Some(actor.clone()));
    actor.stop();
    assert!(matches!(rule.soon("`wait` returns", waiter).await.unwrap(), StopReason::Stopped));
    assert_eq!(
        journal.entries(),
        ["make", "start", "drop", "make", "restart: Panicked", "1", "stop: stopped", "drop"]
    );
}

async fn held(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let hooks = Hooks { restart: HookAction::Hold(gate.clone()), ..Hooks::default() };
    let actor = system.spawn(Worker::factory(&journal, hooks)).await.unwrap();
    actor.tell(PanicWith("one")).unwrap();
    rule.soon("on_restart runs", gate.reached()).await;
    let asked = actor.ask(Note(1)).enqueue().unwrap();
    assert_eq!(journal.entries(), ["make", "start", "drop", "make", "restart: Panicked"]);
    gate.open();
    assert_eq!(rule.soon("the ask is answered", asked).await.unwrap(), 1);

    let (journal, gate) = (Journal::new(), Gate::new());
    let hooks = Hooks { restart: HookAction::Hold(gate.clone()), ..Hooks::default() };
    let actor = system.spawn(Worker::factory(&journal, hooks)).await.unwrap();
    actor.tell(PanicWith("two")).unwrap();
    rule.soon("on_restart runs", gate.reached()).await;
    actor.tell(Note(2)).unwrap();
    actor.stop();
    gate.open();
    assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Stopped));
    assert_eq!(
        journal.entries(),
        ["make", "start", "drop", "make", "restart: Panicked", "stop: stopped", "drop"]
    );
}

async fn fails(rule: RuleContext) {
    for (restart, kind) in [
        (HookAction::Fail("still bad"), ErrorKind::Failed),
        (HookAction::Panic("still bad"), ErrorKind::Panicked),
    ] {
        let (journal, system) = (Journal::new(), rule.system());
        let hooks = Hooks { restart, ..Hooks::default() };
        let twice = Supervision::one_for_one().budget(2, Duration::from_secs(600));
        let actor = system.spawn(Worker::factory(&journal, hooks)).supervision(twice).await.unwrap();
        let gate = Gate::new();
        actor.tell(Hold(1, gate.clone())).unwrap();
        rule.soon("the handler runs", gate.reached()).await;
        actor.tell(PanicWith("bang")).unwrap();
        let after = actor.ask(Note(2)).enqueue().unwrap();
        gate.open();
        assert_eq!(rule.soon("the next ask is refused", after).await.unwrap_err().kind(), ErrorKind::Stopped);
        let StopReason::Failed(error) = rule.soon("the actor ends", actor.wait()).await.unwrap() else {
            panic!("not failed")
        };
        assert_eq!((error.kind(), error.get("hook")), (kind, Some("on_restart")));
        assert!(format!("{error:#}").contains("still bad"), "{error}");
        let again = format!("restart: {kind:?}");
        let expected = ["make", "start", "hold 1", "held 1", "drop", "make", "restart: Panicked", "drop"];
        assert_eq!(journal.entries(), [&expected[..], &["make", &again, "drop"]].concat());
        assert_eq!((system.actor_count(), system.dead_letter_count()), (0, 1));
    }
    let (made, journal) = (Arc::new(AtomicUsize::new(0)), Journal::new());
    let factory = move || match made.fetch_add(1, Ordering::SeqCst) {
        0 => Worker::new(&journal),
        _ => panic!("no material"),
    };
    let once = Supervision::one_for_one().budget(1, Duration::from_secs(600));
    let actor = rule.system().spawn(factory).supervision(once).await.unwrap();
    actor.tell(PanicWith("bang")).unwrap();
    let StopReason::Failed(error) = rule.soon("the actor ends", actor.wait()).await.unwrap() else {
        panic!("not failed")
    };
    assert_eq!((error.kind(), error.get("hook")), (ErrorKind::Panicked, Some("factory")));
}

async fn no_factory(rule: RuleContext) {
    let journal = Journal::new();
    let restart = Supervision::one_for_one().always(Directive::Restart);
    let actor = rule.system().spawn(Worker::new(&journal)).supervision(restart).name("a").await.unwrap();
    actor.tell(PanicWith("bang")).unwrap();
    let StopReason::Failed(error) = rule.soon("the actor ends", actor.wait()).await.unwrap() else {
        panic!("not failed")
    };
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Failed, Some("pekko://test/user/a")));
    assert!(error.get("restart").is_some_and(|why| why.contains("factory")), "{error}");
    let first = error.source().and_then(|source| source.downcast_ref::<Error>()).expect("the first failure");
    assert_eq!(first.kind(), ErrorKind::Panicked);
    assert_eq!(journal.entries(), ["start", "drop"]);
}

async fn again_and_again(rule: RuleContext) {
    let faults =
        (1..=30).filter(|call| call % 3 == 0).fold(Faults::new(), |faults, call| faults.panic_on(call, "3"));
    let faults = (1..=30).filter(|call| call % 5 == 1).fold(faults, |faults, call| faults.fail_on(call, "1"));
    let (seen, (system, events)) = (faults.clone(), rule.system_with_events());
    let actor = system.spawn(move || FaultyActor(faults.clone())).await.unwrap();
    let mut restarts = 0;
    for call in 1..=30_usize {
        let answer = rule.soon("the asker is answered", actor.ask(Call(call))).await;
        match answer.map_err(|error| error.kind()) {
            Err(ErrorKind::Panicked) if call % 3 == 0 && call % 5 != 1 => restarts += 1,
            Err(ErrorKind::Failed) if call % 5 == 1 => {}
            Ok(answer) if answer == call && call % 3 != 0 && call % 5 != 1 => {}
            other => panic!("call {call}: {other:?}"),
        }
    }
    // The last asker was answered before the restart: one more ask comes after it.
    assert_eq!(rule.soon("the actor continues", actor.ask(Call(31))).await.unwrap(), 31);
    assert_eq!((seen.calls(), restarts), (31, 8));
    assert_eq!(events.journal().count("restarted"), 8);
    assert!(actor.is_alive() == Some(true));
}

/// Fails and panics according to a plan.
struct FaultyActor(Faults);

impl Actor for FaultyActor {}

struct Call(usize);

impl Message for Call {
    type Reply = usize;
    type Access = dactor_core::Exclusive;
}

impl Handler<Call> for FaultyActor {
    async fn handle(&mut self, Call(call): Call, _ctx: &mut Context<Self>) -> Outcome<usize> {
        self.0.strike().await?;
        Ok(call)
    }
}
