//! Panics in handlers, destructors and observers are contained and reported.

use std::any::type_name;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Context, Directive, ErrorKind, Handler, Message, Outcome, StopReason, Supervision};

use crate::fixtures::hooks::Hooks;
use crate::fixtures::worker::{Count, Hold, Note, PanicBeforeFuture, PanicWith, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "PANIC-01",
        Topic::Panic,
        &[(Topic::Panic, State::Handling)],
        "The asker of a handler that panics gets `Panicked` with the actor, the message and the panic's text, and one event is emitted.",
        "The asker must not wait forever, and every panic is reported.",
        body!(asker_is_told),
    ),
    Rule::must(
        "PANIC-02",
        Topic::Panic,
        &[(Topic::Panic, State::Handling), (Topic::Panic, State::Failed)],
        "An actor that was spawned from a value ends as failed when it panics; `on_stop` does not run, and queued messages become dead letters.",
        "Without a factory there is no new instance, and the old one may be inconsistent.",
        body!(value_stops),
    ),
    Rule::must(
        "PANIC-03",
        Topic::Panic,
        &[(Topic::Panic, State::Handling), (Topic::Panic, State::Failed)],
        "The supervision strategy decides after a panic: `Resume` keeps the state, `Stop` ends the actor even if it could be restarted.",
        "Only the author knows what a panic leaves behind.",
        body!(directive),
    ),
    Rule::must(
        "PANIC-04",
        Topic::Panic,
        &[(Topic::Panic, State::Handling)],
        "A handler that panics before it returns a future, told or asked, and a panic whose payload is not a text are handled like any other panic.",
        "No panic of a handler escapes.",
        body!(odd_panics),
    ),
    Rule::must(
        "PANIC-05",
        Topic::Panic,
        &[(Topic::Panic, State::Stopping)],
        "An actor whose instance panics when it is dropped still ends with its original reason, `wait` returns, and restarts continue.",
        "A panic in a destructor must not unwind a thread of the runtime.",
        body!(drop_panics),
    ),
    Rule::must(
        "PANIC-06",
        Topic::Panic,
        &[(Topic::Panic, State::Stopping), (Topic::Order, State::Stopping)],
        "A queued message whose destructor panics does not keep the other queued messages from being refused.",
        "One faulty message must not strand the askers behind it.",
        body!(message_panics),
    ),
    Rule::must(
        "PANIC-07",
        Topic::Panic,
        &[(Topic::Panic, State::Handling)],
        "An observer that panics affects neither actors nor other observers.",
        "Observers are user code that runs in the task of the actor or of the sender.",
        body!(observer_panics),
    ),
];

async fn asker_is_told(rule: RuleContext) {
    let (system, events) = rule.system_with_events();
    let actor = system.spawn(|| Worker::new(&Journal::new())).name("a").await.unwrap();
    let error = rule.soon("the asker gets the error", actor.ask(PanicWith("bang"))).await.unwrap_err();
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Panicked, Some("pekko://test/user/a")));
    assert_eq!(error.get("message"), Some(type_name::<PanicWith>()));
    assert!(format!("{error:#}").contains("bang"), "{error}");
    actor.tell(PanicWith("boom")).unwrap();
    rule.soon("the actor continues", actor.ask(Count())).await.unwrap();
    assert_eq!(
        events.journal().entries(),
        ["failed PanicWith", "restarted", "failed PanicWith", "restarted"]
    );
    assert!(events.errors().iter().all(|error| error.kind() == ErrorKind::Panicked));
    assert_eq!(
        events.actors(),
        ["pekko://test/user/a", "pekko://test/user/a", "pekko://test/user/a", "pekko://test/user/a"]
    );
}

async fn value_stops(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let actor = system.spawn(Worker::new(&journal)).await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    actor.tell(PanicWith("bang")).unwrap();
    let after = actor.ask(Note(2)).enqueue().unwrap();
    gate.open();
    assert_eq!(rule.soon("the next ask is refused", after).await.unwrap_err().kind(), ErrorKind::Stopped);
    let StopReason::Failed(error) = rule.soon("the actor ends", actor.wait()).await.unwrap() else {
        panic!("not failed")
    };
    assert_eq!((error.kind(), error.get("message")), (ErrorKind::Panicked, Some(type_name::<PanicWith>())));
    assert!(format!("{error:#}").contains("bang"), "{error}");
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "drop"]);
    assert_eq!(system.dead_letter_count(), 1);
}

async fn directive(rule: RuleContext) {
    let system = rule.system();
    let journal = Journal::new();
    let actor = system
        .spawn(Worker::new(&journal))
        .supervision(Supervision::one_for_one().always(Directive::Resume))
        .await
        .unwrap();
    rule.soon("the actor answers", actor.ask(Note(1))).await.unwrap();
    actor.tell(PanicWith("bang")).unwrap();
    assert_eq!(rule.soon("the actor continues", actor.ask(Count())).await.unwrap(), 1, "the state is kept");
    assert_eq!(journal.entries(), ["start", "1"]);

    let journal = Journal::new();
    let actor = system
        .spawn(Worker::factory(&journal, Hooks::default()))
        .supervision(Supervision::one_for_one().always(Directive::Stop))
        .await
        .unwrap();
    actor.tell(PanicWith("bang")).unwrap();
    let reason = rule.soon("the actor ends", actor.wait()).await.unwrap();
    assert_eq!(reason.failure().expect("a failure").kind(), ErrorKind::Panicked);
    assert_eq!(journal.entries(), ["make", "start", "drop"]);
}

async fn odd_panics(rule: RuleContext) {
    let (system, events) = rule.system_with_events();
    let actor = system
        .spawn(Worker::new(&Journal::new()))
        .supervision(Supervision::one_for_one().always(Directive::Resume))
        .await
        .unwrap();
    let error =
        rule.soon("the asker gets the error", actor.ask(PanicBeforeFuture("early"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panicked);
    assert!(format!("{error:#}").contains("early"), "{error}");
    actor.tell(PanicBeforeFuture("early")).unwrap();
    let error = rule.soon("the asker gets the error", actor.ask(PanicWithNumber)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panicked);
    assert_eq!(rule.soon("the actor continues", actor.ask(PanicBeforeFuture(""))).await.unwrap(), 0);
    assert_eq!(
        events.journal().entries(),
        ["failed PanicBeforeFuture", "failed PanicBeforeFuture", "failed PanicWithNumber"]
    );
}

async fn drop_panics(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let hooks = Hooks { drop_panics: true, ..Hooks::default() };
    let actor = system.spawn(Worker::factory(&journal, hooks)).name("a").await.unwrap();
    actor.tell(PanicWith("bang")).unwrap();
    assert_eq!(rule.soon("the actor is restarted", actor.ask(Note(1))).await.unwrap(), 1);
    actor.stop();
    assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Stopped));
    assert_eq!(
        journal.entries(),
        ["make", "start", "drop", "make", "restart: Panicked", "1", "stop: stopped", "drop"]
    );
    assert_eq!(system.actor_count(), 0);
}

async fn message_panics(rule: RuleContext) {
    let (gate, system) = (Gate::new(), rule.system());
    let actor = system.spawn(Worker::new(&Journal::new())).await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    actor.tell(PanicsOnDrop).unwrap();
    let asked = actor.ask(Note(2)).enqueue().unwrap();
    actor.tell(Note(3)).unwrap();
    actor.stop();
    gate.open();
    assert_eq!(rule.soon("the ask is answered", asked).await.unwrap_err().kind(), ErrorKind::Stopped);
    assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Stopped));
    assert_eq!(system.dead_letter_count(), 3);
    assert_eq!(system.actor_count(), 0);
}

async fn observer_panics(rule: RuleContext) {
    let (before, after) = (Journal::new(), Journal::new());
    let (first, last) = (before.clone(), after.clone());
    let system = rule
        .builder()
        .observe(move |_| first.note("event"))
        .observe(|_| panic!("the observer"))
        .observe(move |_| last.note("event"))
        .build()
        .unwrap();
    let actor = system.spawn(Worker::new(&Journal::new())).await.unwrap();
    actor.tell(crate::fixtures::worker::Fail("no")).unwrap();
    assert_eq!(rule.soon("the actor continues", actor.ask(Note(1))).await.unwrap(), 1);
    actor.stop();
    rule.soon("the actor ends", actor.wait()).await.unwrap();
    assert_eq!(actor.tell(Note(2)).unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!((before.len(), after.len()), (4, 4), "spawned, failed, stopped, dead letter");
    assert_eq!(system.dead_letter_count(), 1);
}

/// Panics with a payload that is not a text.
struct PanicWithNumber;

impl Message for PanicWithNumber {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

impl Handler<PanicWithNumber> for Worker {
    async fn handle(&mut self, PanicWithNumber: PanicWithNumber, _ctx: &mut Context<Self>) -> Outcome<()> {
        std::panic::panic_any(7_u64)
    }
}

/// Panics when it is dropped unhandled.
struct PanicsOnDrop;

impl Message for PanicsOnDrop {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("fragile");
        }
    }
}

impl Handler<PanicsOnDrop> for Worker {
    async fn handle(&mut self, message: PanicsOnDrop, _ctx: &mut Context<Self>) -> Outcome<()> {
        std::mem::forget(message);
        Ok(())
    }
}
