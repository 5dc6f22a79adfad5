//! A handler that returns `Err`.

use std::any::type_name;
use std::error::Error as _;
use std::num::ParseIntError;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Actor, Context, Directive, ErrorKind, Handler, Message, Outcome, StopReason};

use crate::fixtures::hooks::{HookAction, Hooks};
use crate::fixtures::worker::{Count, Fail, Hold, Note, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "FAIL-01",
        Topic::Failure,
        &[(Topic::Failure, State::Handling)],
        "The asker of a handler that returns `Err` gets `Failed` with the actor, the message and the handler's error; the actor continues with its state.",
        "An error is a reply, not a broken actor.",
        body!(asker_is_told),
    ),
    Rule::must(
        "FAIL-02",
        Topic::Failure,
        &[(Topic::Failure, State::Handling)],
        "A told message whose handler returns `Err` causes one event; an asked one causes none, because its asker gets the error.",
        "Each error is reported exactly once.",
        body!(tell_becomes_event),
    ),
    Rule::must(
        "FAIL-03",
        Topic::Failure,
        &[(Topic::Failure, State::Handling), (Topic::Failure, State::Failed)],
        "`Stop` from `on_error` ends the actor as failed after `on_stop`, which gets that reason; queued messages become dead letters.",
        "The instance is consistent after an `Err`, so it may clean up.",
        body!(stops),
    ),
    Rule::must(
        "FAIL-04",
        Topic::Failure,
        &[(Topic::Failure, State::Handling)],
        "`Restart` from `on_error` replaces the instance; the failed message is not repeated, and the queue is kept.",
        "A restart with fresh state is the usual remedy.",
        body!(restarts),
    ),
    Rule::must(
        "FAIL-05",
        Topic::Failure,
        &[(Topic::Failure, State::Handling), (Topic::Failure, State::Failed)],
        "A panic in `on_error` is handled like a panic in a handler: without a factory the actor ends as failed with that panic, and `on_stop` does not run.",
        "The instance may be inconsistent after a panic.",
        body!(on_error_panics),
    ),
    Rule::must(
        "FAIL-06",
        Topic::Failure,
        &[(Topic::Failure, State::Handling)],
        "The asker is answered before `on_error` finishes; further messages wait for `on_error`.",
        "The asker does not wait for the actor's error handling.",
        body!(answered_first),
    ),
    Rule::must(
        "FAIL-07",
        Topic::Failure,
        &[(Topic::Failure, State::Handling)],
        "An error that `?` converted into a `Failure` is the typed source of the asker's error.",
        "Programs branch on error types, not on texts.",
        body!(source_is_kept),
    ),
];

async fn asker_is_told(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let actor = system.spawn(Worker::new(&journal)).name("a").await.unwrap();
    rule.soon("the actor answers", actor.ask(Note(1))).await.unwrap();
    let error = rule.soon("the asker gets the error", actor.ask(Fail("no money"))).await.unwrap_err();
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Failed, Some("pekko://test/user/a")));
    assert_eq!(error.get("message"), Some(type_name::<Fail>()));
    assert_eq!(error.source().unwrap().to_string(), "no money");
    assert!(format!("{error:#}").contains("no money"), "{error}");
    assert_eq!(rule.soon("the actor continues", actor.ask(Count())).await.unwrap(), 1);
    assert_eq!(journal.entries(), ["start", "1", "error: no money"]);
}

async fn tell_becomes_event(rule: RuleContext) {
    let (system, events) = rule.system_with_events();
    let actor = system.spawn(Worker::new(&Journal::new())).name("a").await.unwrap();
    actor.tell(Fail("told")).unwrap();
    rule.soon("the asker gets the error", actor.ask(Fail("asked"))).await.unwrap_err();
    assert_eq!(rule.soon("the actor continues", actor.ask(Count())).await.unwrap(), 0);
    assert_eq!(events.journal().entries(), ["failed Fail"]);
    assert_eq!(events.actors(), ["pekko://test/user/a"]);
    let error = &events.errors()[0];
    assert_eq!((error.kind(), error.source().unwrap().to_string().as_str()), (ErrorKind::Failed, "told"));
    assert_eq!(system.dead_letter_count(), 0);
}

async fn stops(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let hooks = Hooks { directive: Directive::Stop, ..Hooks::default() };
    let actor = system.spawn(Worker::factory(&journal, hooks)).await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    let failing = actor.ask(Fail("enough")).enqueue().unwrap();
    let after = actor.ask(Note(2)).enqueue().unwrap();
    gate.open();
    assert_eq!(rule.soon("the asker gets the error", failing).await.unwrap_err().kind(), ErrorKind::Failed);
    assert_eq!(rule.soon("the next ask is refused", after).await.unwrap_err().kind(), ErrorKind::Stopped);
    let StopReason::Failed(error) = rule.soon("the actor ends", actor.wait()).await.unwrap() else {
        panic!("not failed")
    };
    assert_eq!((error.kind(), error.source().unwrap().to_string().as_str()), (ErrorKind::Failed, "enough"));
    assert_eq!(error.get("message"), Some(type_name::<Fail>()));
    let expected = ["make", "start", "hold 1", "held 1", "error: enough", "stop: Failed", "drop"];
    assert_eq!(journal.entries(), expected);
    assert_eq!(system.dead_letter_count(), 1);
}

async fn restarts(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let hooks = Hooks { directive: Directive::Restart, ..Hooks::default() };
    let actor = system.spawn(Worker::factory(&journal, hooks)).await.unwrap();
    actor.tell(Note(1)).unwrap();
    actor.tell(Hold(2, gate.clone())).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    actor.tell(Fail("again")).unwrap();
    let count = actor.ask(Count()).enqueue().unwrap();
    gate.open();
    assert_eq!(rule.soon("the queue is kept", count).await.unwrap(), 0, "the state is fresh");
    let expected =
        ["make", "start", "1", "hold 2", "held 2", "error: again", "drop", "make", "restart: Failed"];
    assert_eq!(journal.entries(), expected);
    assert!(actor.is_alive() == Some(true));
    assert_eq!(system.dead_letter_count(), 0);
}

async fn on_error_panics(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let hooks = Hooks { error: HookAction::Panic("worse"), ..Hooks::default() };
    let actor = system.spawn(Worker::with(&journal, hooks)).await.unwrap();
    assert_eq!(
        rule.soon("the asker gets the error", actor.ask(Fail("bad"))).await.unwrap_err().kind(),
        ErrorKind::Failed
    );
    let StopReason::Failed(error) = rule.soon("the actor ends", actor.wait()).await.unwrap() else {
        panic!("not failed")
    };
    assert_eq!((error.kind(), error.get("hook")), (ErrorKind::Panicked, Some("on_error")));
    assert!(format!("{error:#}").contains("worse"), "{error}");
    assert_eq!(journal.entries(), ["start", "error: bad", "drop"]);
    assert_eq!(system.actor_count(), 0);

    let journal = Journal::new();
    let hooks = Hooks { error: HookAction::Panic("worse"), ..Hooks::default() };
    let actor = system.spawn(Worker::factory(&journal, hooks)).await.unwrap();
    actor.tell(Fail("bad")).unwrap();
    rule.soon("the actor continues", actor.ask(Note(1))).await.unwrap();
    let expected = ["make", "start", "error: bad", "drop", "make", "restart: Panicked", "1"];
    assert_eq!(journal.entries(), expected);
}

async fn answered_first(rule: RuleContext) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let hooks = Hooks { error: HookAction::Hold(gate.clone()), ..Hooks::default() };
    let actor = rule.system().spawn(Worker::with(&journal, hooks)).await.unwrap();
    let error = rule.soon("the asker gets the error", actor.ask(Fail("slow"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Failed);
    rule.soon("on_error runs", gate.reached()).await;
    let next = actor.ask(Note(1)).enqueue().unwrap();
    assert_eq!(actor.queued(), Some(1));
    assert_eq!(journal.entries(), ["start", "error: slow"]);
    gate.open();
    assert_eq!(rule.soon("the next message is handled", next).await.unwrap(), 1);
}

async fn source_is_kept(rule: RuleContext) {
    let actor = rule.system().spawn(Parser).await.unwrap();
    assert_eq!(rule.soon("a number is parsed", actor.ask(Parse("7"))).await.unwrap(), 7);
    let error = rule.soon("the asker gets the error", actor.ask(Parse("seven"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Failed);
    assert!(error.source().unwrap().is::<ParseIntError>(), "{error:?}");
}

/// Fails with a standard error.
struct Parser;

impl Actor for Parser {}

struct Parse(&'static str);

impl Message for Parse {
    type Reply = u32;
    type Access = dactor_core::Exclusive;
}

impl Handler<Parse> for Parser {
    async fn handle(&mut self, Parse(text): Parse, _ctx: &mut Context<Self>) -> Outcome<u32> {
        Ok(text.parse()?)
    }
}
