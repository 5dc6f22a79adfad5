//! Panics, wherever user code runs: contained, told, and never the end of anything else.

use std::any::type_name;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Context, Directive, ErrorKind, Handler, Message, Outcome, StopReason, Supervision};

use super::body;
use crate::actors::{Boom, BoomAtOnce, Count, Hold, Hooks, Note, Worker};
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "PANIC-01",
        Topic::Panic,
        &[(Topic::Panic, State::Handling)],
        "An asker whose handler panics gets `Panicked` with actor, message and the panic's text, and one event is emitted.",
        "The asker must not wait for ever, and a panic is always worth a line in the log.",
        body!(asker_is_told),
    ),
    Rule::must(
        "PANIC-02",
        Topic::Panic,
        &[(Topic::Panic, State::Handling), (Topic::Panic, State::Failed)],
        "An actor spawned from a value stops as failed when it panics; `on_stop` does not run, the queue goes to dead letters.",
        "There is nothing to restart it from, and its state cannot be trusted.",
        body!(value_stops),
    ),
    Rule::must(
        "PANIC-03",
        Topic::Panic,
        &[(Topic::Panic, State::Handling), (Topic::Panic, State::Failed)],
        "The supervision decides: `Resume` keeps the state, `Stop` ends an actor that could be restarted.",
        "Only the author knows what a panic leaves behind.",
        body!(directive),
    ),
    Rule::must(
        "PANIC-04",
        Topic::Panic,
        &[(Topic::Panic, State::Handling)],
        "A handler that panics before it gives a future, told or asked, and one whose payload is no text, are treated like any other.",
        "There is no corner of a handler from which a panic may escape.",
        body!(odd_panics),
    ),
    Rule::must(
        "PANIC-05",
        Topic::Panic,
        &[(Topic::Panic, State::Stopping)],
        "An instance whose destructor panics still ends for the reason it had; waiters are told, restarts go on.",
        "A panic in a destructor must not take the runtime's thread with it.",
        body!(drop_panics),
    ),
    Rule::must(
        "PANIC-06",
        Topic::Panic,
        &[(Topic::Panic, State::Stopping), (Topic::Order, State::Stopping)],
        "A queued message whose destructor panics does not keep the others from being settled.",
        "One bad message must not strand every asker behind it.",
        body!(message_panics),
    ),
    Rule::must(
        "PANIC-07",
        Topic::Panic,
        &[(Topic::Panic, State::Handling)],
        "An observer that panics disturbs neither actors nor other observers.",
        "Observers are user code in somebody else's task.",
        body!(observer_panics),
    ),
];

async fn asker_is_told(lab: Lab) {
    let (system, events) = lab.observed();
    let actor = system.spawn(|| Worker::new(&Journal::new())).name("a").await.unwrap();
    let error = lab.soon("the asker is told", actor.ask(Boom("bang"))).await.unwrap_err();
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Panicked, Some("pekko://lab/user/a")));
    assert_eq!(error.get("message"), Some(type_name::<Boom>()));
    assert!(format!("{error:#}").contains("bang"), "{error}");
    actor.tell(Boom("boom")).unwrap();
    lab.soon("the actor goes on", actor.ask(Count())).await.unwrap();
    assert_eq!(events.journal().entries(), ["failed Boom", "restarted", "failed Boom", "restarted"]);
    assert!(events.errors().iter().all(|error| error.kind() == ErrorKind::Panicked));
    assert_eq!(
        events.actors(),
        ["pekko://lab/user/a", "pekko://lab/user/a", "pekko://lab/user/a", "pekko://lab/user/a"]
    );
}

async fn value_stops(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let actor = system.spawn(Worker::new(&journal)).await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    actor.tell(Boom("bang")).unwrap();
    let after = actor.ask(Note(2)).enqueue().unwrap();
    gate.open();
    assert_eq!(lab.soon("the next is told", after).await.unwrap_err().kind(), ErrorKind::Stopped);
    let StopReason::Failed(error) = lab.soon("the actor ends", actor.wait()).await.unwrap() else {
        panic!("not failed")
    };
    assert_eq!((error.kind(), error.get("message")), (ErrorKind::Panicked, Some(type_name::<Boom>())));
    assert!(format!("{error:#}").contains("bang"), "{error}");
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "drop"]);
    assert_eq!(system.dead_letters(), 1);
}

async fn directive(lab: Lab) {
    let system = lab.system();
    let journal = Journal::new();
    let actor = system
        .spawn(Worker::new(&journal))
        .supervision(Supervision::one_for_one().always(Directive::Resume))
        .await
        .unwrap();
    lab.soon("the actor answers", actor.ask(Note(1))).await.unwrap();
    actor.tell(Boom("bang")).unwrap();
    assert_eq!(lab.soon("the actor goes on", actor.ask(Count())).await.unwrap(), 1, "the state is kept");
    assert_eq!(journal.entries(), ["start", "1"]);

    let journal = Journal::new();
    let actor = system
        .spawn(Worker::factory(&journal, Hooks::default()))
        .supervision(Supervision::one_for_one().always(Directive::Stop))
        .await
        .unwrap();
    actor.tell(Boom("bang")).unwrap();
    let reason = lab.soon("the actor ends", actor.wait()).await.unwrap();
    assert_eq!(reason.failure().expect("a failure").kind(), ErrorKind::Panicked);
    assert_eq!(journal.entries(), ["make", "start", "drop"]);
}

async fn odd_panics(lab: Lab) {
    let (system, events) = lab.observed();
    let actor = system
        .spawn(Worker::new(&Journal::new()))
        .supervision(Supervision::one_for_one().always(Directive::Resume))
        .await
        .unwrap();
    let error = lab.soon("the asker is told", actor.ask(BoomAtOnce("early"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panicked);
    assert!(format!("{error:#}").contains("early"), "{error}");
    actor.tell(BoomAtOnce("early")).unwrap();
    let error = lab.soon("the asker is told", actor.ask(Odd)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panicked);
    assert_eq!(lab.soon("the actor goes on", actor.ask(BoomAtOnce(""))).await.unwrap(), 0);
    assert_eq!(events.journal().entries(), ["failed BoomAtOnce", "failed BoomAtOnce", "failed Odd"]);
}

async fn drop_panics(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let hooks = Hooks { drop_panics: true, ..Hooks::default() };
    let actor = system.spawn(Worker::factory(&journal, hooks)).name("a").await.unwrap();
    actor.tell(Boom("bang")).unwrap();
    assert_eq!(lab.soon("the actor is restarted", actor.ask(Note(1))).await.unwrap(), 1);
    actor.stop();
    assert!(matches!(lab.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Stopped));
    assert_eq!(
        journal.entries(),
        ["make", "start", "drop", "make", "restart: Panicked", "1", "stop: stopped", "drop"]
    );
    assert_eq!(system.live(), 0);
}

async fn message_panics(lab: Lab) {
    let (gate, system) = (Gate::new(), lab.system());
    let actor = system.spawn(Worker::new(&Journal::new())).await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    actor.tell(Fragile).unwrap();
    let asked = actor.ask(Note(2)).enqueue().unwrap();
    actor.tell(Note(3)).unwrap();
    actor.stop();
    gate.open();
    assert_eq!(lab.soon("the ask is answered", asked).await.unwrap_err().kind(), ErrorKind::Stopped);
    assert!(matches!(lab.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Stopped));
    assert_eq!(system.dead_letters(), 3);
    assert_eq!(system.live(), 0);
}

async fn observer_panics(lab: Lab) {
    let (before, after) = (Journal::new(), Journal::new());
    let (first, last) = (before.clone(), after.clone());
    let system = lab
        .builder()
        .observe(move |_| first.note("event"))
        .observe(|_| panic!("the observer"))
        .observe(move |_| last.note("event"))
        .build()
        .unwrap();
    let actor = system.spawn(Worker::new(&Journal::new())).await.unwrap();
    actor.tell(crate::actors::Fail("no")).unwrap();
    assert_eq!(lab.soon("the actor goes on", actor.ask(Note(1))).await.unwrap(), 1);
    actor.stop();
    lab.soon("the actor ends", actor.wait()).await.unwrap();
    assert_eq!(actor.tell(Note(2)).unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!((before.len(), after.len()), (4, 4), "spawned, failed, stopped, dead letter");
    assert_eq!(system.dead_letters(), 1);
}

/// Panics with a payload that is no text.
struct Odd;
impl Message for Odd {
    type Reply = ();
}

impl Handler<Odd> for Worker {
    async fn handle(&mut self, Odd: Odd, _ctx: &mut Context<Self>) -> Outcome<()> {
        std::panic::panic_any(7_u64)
    }
}

/// Panics when it is dropped unhandled.
struct Fragile;
impl Message for Fragile {
    type Reply = ();
}
impl Drop for Fragile {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("fragile");
        }
    }
}

impl Handler<Fragile> for Worker {
    async fn handle(&mut self, message: Fragile, _ctx: &mut Context<Self>) -> Outcome<()> {
        std::mem::forget(message);
        Ok(())
    }
}
