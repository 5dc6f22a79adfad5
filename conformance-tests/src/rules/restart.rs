//! Restarting in place.

use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dactor_core::testkit::{Faults, Gate, Journal};
use dactor_core::{
    Actor, Context, Directive, Error, ErrorKind, Handler, Message, Outcome, StopReason, Supervision,
};

use super::body;
use crate::actors::{Act, Boom, Count, Hold, Hooks, Note, Worker};
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "RESTART-01",
        Topic::Panic,
        &[(Topic::Panic, State::Handling), (Topic::Order, State::Handling)],
        "After a panic an actor spawned from a factory is replaced in place: same ref, id, name and queue, fresh state; the old instance is dropped first, the failed message is not repeated.",
        "Senders need not know that anything happened.",
        body!(in_place),
    ),
    Rule::must(
        "RESTART-02",
        Topic::Panic,
        &[(Topic::Panic, State::Handling), (Topic::Wait, State::Handling)],
        "Waiters and weak refs survive a restart.",
        "A restart is not an end.",
        body!(waiters_survive),
    ),
    Rule::must(
        "RESTART-03",
        Topic::Panic,
        &[(Topic::Panic, State::Handling)],
        "Messages sent during `on_restart` wait for it; a stop meanwhile lets it finish, then stops.",
        "It is a start like the first one.",
        body!(held),
    ),
    Rule::must(
        "RESTART-04",
        Topic::Panic,
        &[(Topic::Panic, State::Failed), (Topic::Failure, State::Failed)],
        "When `on_restart` fails or panics, or the factory panics, that is another failure: it is tried again within the budget, then the actor ends as failed with that error; the queue goes to dead letters.",
        "A restart that fails must not be tried for ever.",
        body!(fails),
    ),
    Rule::must(
        "RESTART-05",
        Topic::Panic,
        &[(Topic::Panic, State::Failed)],
        "A restart of an actor that was spawned from a value ends it as failed and says why; the first failure is the source.",
        "The mistake is in the spawn, and the error must point there.",
        body!(no_factory),
    ),
    Rule::must(
        "RESTART-06",
        Topic::Panic,
        &[(Topic::Panic, State::Handling)],
        "An actor can be restarted again and again; every asker gets the answer of its own message.",
        "A fault every few messages must cost only those messages.",
        body!(again_and_again),
    ),
];

async fn in_place(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let actor = system.spawn(Worker::factory(&journal, Hooks::default())).name("a").await.unwrap();
    let id = actor.id();
    actor.tell(Note(1)).unwrap();
    actor.tell(Hold(2, gate.clone())).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    let boom = actor.ask(Boom("bang")).enqueue().unwrap();
    actor.tell(Note(3)).unwrap();
    let count = actor.ask(Count()).enqueue().unwrap();
    gate.open();
    assert_eq!(lab.soon("the asker is told", boom).await.unwrap_err().kind(), ErrorKind::Panicked);
    assert_eq!(lab.soon("the queue is kept", count).await.unwrap(), 1, "only 3 was handled by this instance");
    let expected = ["make", "start", "1", "hold 2", "held 2", "drop", "make", "restart: Panicked", "3"];
    assert_eq!(journal.entries(), expected);
    assert_eq!((actor.id(), actor.name()), (id, Some("a")));
    assert_eq!(system.get::<Worker>("a"), Some(actor.clone()));
    assert_eq!((system.live(), system.dead_letters()), (1, 0));
}

async fn waiters_survive(lab: Lab) {
    let journal = Journal::new();
    let actor = lab.system().spawn(Worker::factory(&journal, Hooks::default())).await.unwrap();
    let weak = actor.downgrade();
    let waiting = actor.clone();
    let waiter = tokio::spawn(async move { waiting.wait().await.unwrap() });
    actor.tell(Boom("bang")).unwrap();
    lab.soon("the actor is restarted", actor.ask(Note(1))).await.unwrap();
    assert!(!waiter.is_finished());
    assert_eq!(weak.upgrade(), Some(actor.clone()));
    actor.stop();
    assert!(matches!(lab.soon("the waiter is told", waiter).await.unwrap(), StopReason::Stopped));
    assert_eq!(
        journal.entries(),
        ["make", "start", "drop", "make", "restart: Panicked", "1", "stop: stopped", "drop"]
    );
}

async fn held(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let hooks = Hooks { restart: Act::Hold(gate.clone()), ..Hooks::default() };
    let actor = system.spawn(Worker::factory(&journal, hooks)).await.unwrap();
    actor.tell(Boom("one")).unwrap();
    lab.soon("on_restart runs", gate.reached()).await;
    let asked = actor.ask(Note(1)).enqueue().unwrap();
    assert_eq!(journal.entries(), ["make", "start", "drop", "make", "restart: Panicked"]);
    gate.open();
    assert_eq!(lab.soon("the ask is answered", asked).await.unwrap(), 1);

    let (journal, gate) = (Journal::new(), Gate::new());
    let hooks = Hooks { restart: Act::Hold(gate.clone()), ..Hooks::default() };
    let actor = system.spawn(Worker::factory(&journal, hooks)).await.unwrap();
    actor.tell(Boom("two")).unwrap();
    lab.soon("on_restart runs", gate.reached()).await;
    actor.tell(Note(2)).unwrap();
    actor.stop();
    gate.open();
    assert!(matches!(lab.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Stopped));
    assert_eq!(
        journal.entries(),
        ["make", "start", "drop", "make", "restart: Panicked", "stop: stopped", "drop"]
    );
}

async fn fails(lab: Lab) {
    for (restart, kind) in
        [(Act::Fail("still bad"), ErrorKind::Failed), (Act::Panic("still bad"), ErrorKind::Panicked)]
    {
        let (journal, system) = (Journal::new(), lab.system());
        let hooks = Hooks { restart, ..Hooks::default() };
        let twice = Supervision::one_for_one().budget(2, Duration::from_secs(600));
        let actor = system.spawn(Worker::factory(&journal, hooks)).supervision(twice).await.unwrap();
        let gate = Gate::new();
        actor.tell(Hold(1, gate.clone())).unwrap();
        lab.soon("the handler runs", gate.reached()).await;
        actor.tell(Boom("bang")).unwrap();
        let after = actor.ask(Note(2)).enqueue().unwrap();
        gate.open();
        assert_eq!(lab.soon("the next is told", after).await.unwrap_err().kind(), ErrorKind::Stopped);
        let StopReason::Failed(error) = lab.soon("the actor ends", actor.wait()).await.unwrap() else {
            panic!("not failed")
        };
        assert_eq!((error.kind(), error.get("hook")), (kind, Some("on_restart")));
        assert!(format!("{error:#}").contains("still bad"), "{error}");
        let again = format!("restart: {kind:?}");
        let expected = ["make", "start", "hold 1", "held 1", "drop", "make", "restart: Panicked", "drop"];
        assert_eq!(journal.entries(), [&expected[..], &["make", &again, "drop"]].concat());
        assert_eq!((system.live(), system.dead_letters()), (0, 1));
    }
    let (made, journal) = (Arc::new(AtomicUsize::new(0)), Journal::new());
    let factory = move || match made.fetch_add(1, Ordering::SeqCst) {
        0 => Worker::new(&journal),
        _ => panic!("no material"),
    };
    let once = Supervision::one_for_one().budget(1, Duration::from_secs(600));
    let actor = lab.system().spawn(factory).supervision(once).await.unwrap();
    actor.tell(Boom("bang")).unwrap();
    let StopReason::Failed(error) = lab.soon("the actor ends", actor.wait()).await.unwrap() else {
        panic!("not failed")
    };
    assert_eq!((error.kind(), error.get("hook")), (ErrorKind::Panicked, Some("factory")));
}

async fn no_factory(lab: Lab) {
    let journal = Journal::new();
    let restart = Supervision::one_for_one().always(Directive::Restart);
    let actor = lab.system().spawn(Worker::new(&journal)).supervision(restart).name("a").await.unwrap();
    actor.tell(Boom("bang")).unwrap();
    let StopReason::Failed(error) = lab.soon("the actor ends", actor.wait()).await.unwrap() else {
        panic!("not failed")
    };
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Failed, Some("pekko://lab/user/a")));
    assert!(error.get("restart").is_some_and(|why| why.contains("factory")), "{error}");
    let first = error.source().and_then(|source| source.downcast_ref::<Error>()).expect("the first failure");
    assert_eq!(first.kind(), ErrorKind::Panicked);
    assert_eq!(journal.entries(), ["start", "drop"]);
}

async fn again_and_again(lab: Lab) {
    let faults =
        (1..=30).filter(|call| call % 3 == 0).fold(Faults::new(), |faults, call| faults.panic_on(call, "3"));
    let faults = (1..=30).filter(|call| call % 5 == 1).fold(faults, |faults, call| faults.fail_on(call, "1"));
    let (seen, (system, events)) = (faults.clone(), lab.observed());
    let actor = system.spawn(move || Frail(faults.clone())).await.unwrap();
    let mut restarts = 0;
    for call in 1..=30_usize {
        let answer = lab.soon("the asker is answered", actor.ask(Call(call))).await;
        match answer.map_err(|error| error.kind()) {
            Err(ErrorKind::Panicked) if call % 3 == 0 && call % 5 != 1 => restarts += 1,
            Err(ErrorKind::Failed) if call % 5 == 1 => {}
            Ok(answer) if answer == call && call % 3 != 0 && call % 5 != 1 => {}
            other => panic!("call {call}: {other:?}"),
        }
    }
    // The last asker was answered before the restart: one more ask comes after it.
    assert_eq!(lab.soon("the actor goes on", actor.ask(Call(31))).await.unwrap(), 31);
    assert_eq!((seen.calls(), restarts), (31, 8));
    assert_eq!(events.journal().count("restarted"), 8);
    assert!(actor.is_alive());
}

/// Strikes by plan.
struct Frail(Faults);
impl Actor for Frail {}

struct Call(usize);
impl Message for Call {
    type Reply = usize;
}

impl Handler<Call> for Frail {
    async fn handle(&mut self, Call(call): Call, _ctx: &mut Context<Self>) -> Outcome<usize> {
        self.0.strike().await?;
        Ok(call)
    }
}
