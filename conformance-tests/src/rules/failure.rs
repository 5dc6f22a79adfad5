//! A handler that returns `Err`.

use std::any::type_name;
use std::error::Error as _;
use std::num::ParseIntError;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Actor, Context, Directive, ErrorKind, Handler, Message, Outcome, StopReason};

use super::body;
use crate::actors::{Act, Count, Fail, Hold, Hooks, Note, Worker};
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "FAIL-01",
        Topic::Failure,
        &[(Topic::Failure, State::Handling)],
        "An asker whose handler fails gets `Failed` with actor, message and the handler's error; the actor carries on with its state.",
        "An error is an answer, not a broken actor.",
        body!(asker_is_told),
    ),
    Rule::must(
        "FAIL-02",
        Topic::Failure,
        &[(Topic::Failure, State::Handling)],
        "A told message whose handler fails becomes one event; an asked one becomes none, for its asker knows.",
        "No error is lost in silence, and none is reported twice.",
        body!(tell_becomes_event),
    ),
    Rule::must(
        "FAIL-03",
        Topic::Failure,
        &[(Topic::Failure, State::Handling), (Topic::Failure, State::Failed)],
        "`Stop` from `on_error` ends the actor as failed, after `on_stop` with that reason; the queue goes to dead letters.",
        "The instance is sound, so it may clean up.",
        body!(stops),
    ),
    Rule::must(
        "FAIL-04",
        Topic::Failure,
        &[(Topic::Failure, State::Handling)],
        "`Restart` from `on_error` replaces the instance; the failed message is not repeated, the queue is kept.",
        "A fresh state is the usual cure.",
        body!(restarts),
    ),
    Rule::must(
        "FAIL-05",
        Topic::Failure,
        &[(Topic::Failure, State::Handling), (Topic::Failure, State::Failed)],
        "A panic in `on_error` is met like one in a handler: without a factory it ends the actor as failed with that panic; `on_stop` does not run.",
        "The instance cannot be trusted.",
        body!(on_error_panics),
    ),
    Rule::must(
        "FAIL-06",
        Topic::Failure,
        &[(Topic::Failure, State::Handling)],
        "The asker is answered before `on_error` runs to its end, and messages wait for it.",
        "The asker must not wait for the actor's housekeeping.",
        body!(answered_first),
    ),
    Rule::must(
        "FAIL-07",
        Topic::Failure,
        &[(Topic::Failure, State::Handling)],
        "The error that `?` turned into a failure is found, with its type, as the source of the asker's error.",
        "Programs branch on types, not on texts.",
        body!(source_is_kept),
    ),
];

async fn asker_is_told(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let actor = system.spawn(Worker::new(&journal)).name("a").await.unwrap();
    lab.soon("the actor answers", actor.ask(Note(1))).await.unwrap();
    let error = lab.soon("the asker is told", actor.ask(Fail("no money"))).await.unwrap_err();
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Failed, Some("pekko://lab/user/a")));
    assert_eq!(error.get("message"), Some(type_name::<Fail>()));
    assert_eq!(error.source().unwrap().to_string(), "no money");
    assert!(format!("{error:#}").contains("no money"), "{error}");
    assert_eq!(lab.soon("the actor carries on", actor.ask(Count())).await.unwrap(), 1);
    assert_eq!(journal.entries(), ["start", "1", "error: no money"]);
}

async fn tell_becomes_event(lab: Lab) {
    let (system, events) = lab.observed();
    let actor = system.spawn(Worker::new(&Journal::new())).name("a").await.unwrap();
    actor.tell(Fail("told")).unwrap();
    lab.soon("the asker is told", actor.ask(Fail("asked"))).await.unwrap_err();
    assert_eq!(lab.soon("the actor carries on", actor.ask(Count())).await.unwrap(), 0);
    assert_eq!(events.journal().entries(), ["failed Fail"]);
    assert_eq!(events.actors(), ["pekko://lab/user/a"]);
    let error = &events.errors()[0];
    assert_eq!((error.kind(), error.source().unwrap().to_string().as_str()), (ErrorKind::Failed, "told"));
    assert_eq!(system.dead_letters(), 0);
}

async fn stops(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let hooks = Hooks { directive: Directive::Stop, ..Hooks::default() };
    let actor = system.spawn(Worker::factory(&journal, hooks)).await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    let failing = actor.ask(Fail("enough")).enqueue().unwrap();
    let after = actor.ask(Note(2)).enqueue().unwrap();
    gate.open();
    assert_eq!(lab.soon("the asker is told", failing).await.unwrap_err().kind(), ErrorKind::Failed);
    assert_eq!(lab.soon("the next is told", after).await.unwrap_err().kind(), ErrorKind::Stopped);
    let StopReason::Failed(error) = lab.soon("the actor ends", actor.wait()).await.unwrap() else {
        panic!("not failed")
    };
    assert_eq!((error.kind(), error.source().unwrap().to_string().as_str()), (ErrorKind::Failed, "enough"));
    assert_eq!(error.get("message"), Some(type_name::<Fail>()));
    let expected = ["make", "start", "hold 1", "held 1", "error: enough", "stop: Failed", "drop"];
    assert_eq!(journal.entries(), expected);
    assert_eq!(system.dead_letters(), 1);
}

async fn restarts(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let hooks = Hooks { directive: Directive::Restart, ..Hooks::default() };
    let actor = system.spawn(Worker::factory(&journal, hooks)).await.unwrap();
    actor.tell(Note(1)).unwrap();
    actor.tell(Hold(2, gate.clone())).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    actor.tell(Fail("again")).unwrap();
    let count = actor.ask(Count()).enqueue().unwrap();
    gate.open();
    assert_eq!(lab.soon("the queue is kept", count).await.unwrap(), 0, "the state is fresh");
    let expected =
        ["make", "start", "1", "hold 2", "held 2", "error: again", "drop", "make", "restart: Failed"];
    assert_eq!(journal.entries(), expected);
    assert!(actor.is_alive());
    assert_eq!(system.dead_letters(), 0);
}

async fn on_error_panics(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let hooks = Hooks { error: Act::Panic("worse"), ..Hooks::default() };
    let actor = system.spawn(Worker::with(&journal, hooks)).await.unwrap();
    assert_eq!(
        lab.soon("the asker is told", actor.ask(Fail("bad"))).await.unwrap_err().kind(),
        ErrorKind::Failed
    );
    let StopReason::Failed(error) = lab.soon("the actor ends", actor.wait()).await.unwrap() else {
        panic!("not failed")
    };
    assert_eq!((error.kind(), error.get("hook")), (ErrorKind::Panicked, Some("on_error")));
    assert!(format!("{error:#}").contains("worse"), "{error}");
    assert_eq!(journal.entries(), ["start", "error: bad", "drop"]);
    assert_eq!(system.live(), 0);

    let journal = Journal::new();
    let hooks = Hooks { error: Act::Panic("worse"), ..Hooks::default() };
    let actor = system.spawn(Worker::factory(&journal, hooks)).await.unwrap();
    actor.tell(Fail("bad")).unwrap();
    lab.soon("it goes on", actor.ask(Note(1))).await.unwrap();
    let expected = ["make", "start", "error: bad", "drop", "make", "restart: Panicked", "1"];
    assert_eq!(journal.entries(), expected);
}

async fn answered_first(lab: Lab) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let hooks = Hooks { error: Act::Hold(gate.clone()), ..Hooks::default() };
    let actor = lab.system().spawn(Worker::with(&journal, hooks)).await.unwrap();
    let error = lab.soon("the asker is told", actor.ask(Fail("slow"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Failed);
    lab.soon("on_error runs", gate.reached()).await;
    let next = actor.ask(Note(1)).enqueue().unwrap();
    assert_eq!(actor.queued(), 1);
    assert_eq!(journal.entries(), ["start", "error: slow"]);
    gate.open();
    assert_eq!(lab.soon("the next is handled", next).await.unwrap(), 1);
}

async fn source_is_kept(lab: Lab) {
    let actor = lab.system().spawn(Parser).await.unwrap();
    assert_eq!(lab.soon("a number is parsed", actor.ask(Parse("7"))).await.unwrap(), 7);
    let error = lab.soon("the asker is told", actor.ask(Parse("seven"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Failed);
    assert!(error.source().unwrap().is::<ParseIntError>(), "{error:?}");
}

/// Fails with a standard error.
struct Parser;
impl Actor for Parser {}

struct Parse(&'static str);
impl Message for Parse {
    type Reply = u32;
}

impl Handler<Parse> for Parser {
    async fn handle(&mut self, Parse(text): Parse, _ctx: &mut Context<Self>) -> Outcome<u32> {
        Ok(text.parse()?)
    }
}
