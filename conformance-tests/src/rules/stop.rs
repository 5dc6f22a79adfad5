//! Stopping: the current message, then `on_stop`; every asker is answered.

use std::error::Error as _;

use dactor_core::spi::TURN;
use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ErrorKind, StopReason};

use crate::fixtures::hooks::{HookAction, Hooks};
use crate::fixtures::worker::{Count, Hold, Note, StopSelf, TellSelf, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "STOP-01",
        Topic::Stop,
        &[(Topic::Stop, State::Idle)],
        "An idle actor that is stopped runs `on_stop` with the reason `stopped` and ends.",
        "A stop wakes the actor like a message does.",
        body!(idle),
    )
    .spi(&["ignores-idle-stop", "ends-when-idle"]),
    Rule::must(
        "STOP-02",
        Topic::Stop,
        &[(Topic::Stop, State::Handling), (Topic::Order, State::Stopping)],
        "A stop during a handler lets it finish and reply; queued messages become dead letters, in order, and their askers get `Stopped`.",
        "The current message is handled completely, and every other sender is informed.",
        body!(handling),
    ),
    Rule::must(
        "STOP-03",
        Topic::Stop,
        &[(Topic::Stop, State::Handling)],
        "A stop overtakes all queued messages, including messages that the current turn has already taken from the mailbox.",
        "System signals precede user messages: a long queue does not delay a stop.",
        body!(overtakes),
    ),
    Rule::must(
        "STOP-04",
        Topic::Stop,
        &[(Topic::Stop, State::Handling)],
        "An actor that stops itself in a handler sends the reply and then stops.",
        "An actor may end when its work is done.",
        body!(from_within),
    ),
    Rule::must(
        "STOP-05",
        Topic::Stop,
        &[
            (Topic::Stop, State::Stopping),
            (Topic::Drain, State::Stopping),
            (Topic::Tell, State::Stopping),
            (Topic::Ask, State::Stopping),
            (Topic::Wait, State::Stopping),
            (Topic::Name, State::Stopping),
        ],
        "During `on_stop` new messages are refused with `Stopped`, queued askers have been answered, further stops and drains have no effect, `wait` is pending, and the name is taken.",
        "A slow `on_stop` delays only the callers of `wait`, and it runs once.",
        body!(stopping),
    ),
    Rule::must(
        "STOP-06",
        Topic::Failure,
        &[(Topic::Failure, State::Stopping)],
        "When `on_stop` fails, the actor ends as failed with that error.",
        "A lost flush is a failure, even in an orderly stop.",
        body!(on_stop_fails),
    ),
    Rule::must(
        "STOP-07",
        Topic::Panic,
        &[(Topic::Panic, State::Stopping)],
        "When `on_stop` panics, the actor ends as failed with that panic.",
        "A panic in the last hook must not keep the actor half alive.",
        body!(on_stop_panics),
    ),
    Rule::must(
        "STOP-08",
        Topic::Stop,
        &[(Topic::Stop, State::Handling), (Topic::Tell, State::Stopping)],
        "Messages are refused from the moment `stop` returns, even if the actor has not seen the stop yet.",
        "A message sent after the stop must not be reported as accepted.",
        body!(refused_at_once),
    ),
];

async fn idle(rule: RuleContext) {
    for native_handle_taken in [false, true] {
        let (journal, system) = (Journal::new(), rule.system());
        let actor = system.spawn(Worker::new(&journal)).await.unwrap();
        rule.soon("the actor answers", actor.ask(Note(1))).await.unwrap();
        if native_handle_taken {
            rule.take_native_handle(&actor);
        }
        rule.let_idle().await;
        assert!(actor.is_alive() == Some(true) && actor.stop_reason().is_none());
        actor.stop();
        assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Stopped));
        assert_eq!(journal.entries(), ["start", "1", "stop: stopped", "drop"]);
        assert!(actor.is_alive() == Some(false));
        assert_eq!(system.actor_count(), 0);
    }
}

async fn handling(rule: RuleContext) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let (system, events) = rule.system_with_events();
    let actor = system.spawn(Worker::new(&journal)).name("a").await.unwrap();
    let held = actor.ask(Hold(1, gate.clone())).enqueue().unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    actor.tell(Note(2)).unwrap();
    let asked = actor.ask(Count()).enqueue().unwrap();
    actor.tell(TellSelf(vec![3])).unwrap();
    actor.stop();
    assert_eq!(journal.entries(), ["start", "hold 1"]);
    gate.open();
    assert_eq!(rule.soon("the running ask is answered", held).await.unwrap(), 1);
    let error = rule.soon("the queued ask is answered", asked).await.unwrap_err();
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Stopped, Some("pekko://test/user/a")));
    assert_eq!(error.get("message"), Some(std::any::type_name::<Count>()));
    assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Stopped));
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "stop: stopped", "drop"]);
    assert_eq!(events.journal().entries(), ["dead Note", "dead Count", "dead TellSelf"]);
    assert_eq!(events.actors(), ["pekko://test/user/a", "pekko://test/user/a", "pekko://test/user/a"]);
    assert_eq!(system.dead_letter_count(), 3);
}

async fn overtakes(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let actor = system.spawn(Worker::new(&journal)).await.unwrap();
    let before = Gate::new();
    // After the first message, the second and all later ones are taken in one batch.
    actor.tell(Hold(1, before.clone())).unwrap();
    rule.soon("the handler runs", before.reached()).await;
    actor.tell(Hold(2, gate.clone())).unwrap();
    for number in 0..2 * TURN {
        actor.tell(Note(number as u32)).unwrap();
    }
    before.open();
    rule.soon("the second handler runs", gate.reached()).await;
    actor.stop();
    gate.open();
    rule.soon("the actor ends", actor.wait()).await.unwrap();
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "hold 2", "held 2", "stop: stopped", "drop"]);
    assert_eq!(system.dead_letter_count(), 2 * TURN as u64);
}

async fn from_within(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let actor = system.spawn(Worker::new(&journal)).await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    let quitting = actor.ask(StopSelf()).enqueue().unwrap();
    let after = actor.ask(Note(2)).enqueue().unwrap();
    gate.open();
    assert_eq!(rule.soon("the reply is sent", quitting).await.unwrap(), 1);
    assert_eq!(rule.soon("the next ask is refused", after).await.unwrap_err().kind(), ErrorKind::Stopped);
    assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Stopped));
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "quit", "stop: stopped", "drop"]);
    assert_eq!(system.dead_letter_count(), 1);
}

async fn stopping(rule: RuleContext) {
    let (journal, gate, held, system) = (Journal::new(), Gate::new(), Gate::new(), rule.system());
    let hooks = Hooks { stop: HookAction::Hold(gate.clone()), ..Hooks::default() };
    let actor = system.spawn(Worker::with(&journal, hooks)).name("a").await.unwrap();
    actor.tell(Hold(1, held.clone())).unwrap();
    rule.soon("the handler runs", held.reached()).await;
    let queued = actor.ask(Note(2)).enqueue().unwrap();
    actor.stop();
    held.open();
    rule.soon("on_stop runs", gate.reached()).await;
    assert_eq!(rule.soon("the queued ask is answered", queued).await.unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(actor.tell(Note(3)).unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(actor.try_tell(Note(4)).unwrap_err().message.0, 4);
    assert_eq!(actor.send(Note(5)).await.unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(
        rule.soon("an ask is refused", actor.ask(Note(6))).await.unwrap_err().kind(),
        ErrorKind::Stopped
    );
    assert_eq!(system.dead_letter_count(), 4, "2, 3, 5 and 6, but not the returned message");
    actor.stop();
    actor.drain();
    let waiting = actor.clone();
    let mut waiter = Box::pin(waiting.wait());
    assert!(futures_util::poll!(&mut waiter).is_pending());
    assert!(actor.is_alive() == Some(true) && system.actor_count() == 1);
    let taken = system.spawn(Worker::new(&journal)).name("a").await.unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::NameTaken);
    assert_eq!(system.get::<Worker>("a"), Some(actor.clone()));
    gate.open();
    assert!(matches!(rule.soon("the actor ends", waiter).await.unwrap(), StopReason::Stopped));
    // The refused spawn dropped its own instance.
    let entries: Vec<_> = journal.entries().into_iter().filter(|entry| entry != "drop").collect();
    assert_eq!(entries, ["start", "hold 1", "held 1", "stop: stopped"]);
    assert_eq!(gate.arrivals(), 1);
}

async fn on_stop_fails(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let hooks = Hooks { stop: HookAction::Fail("no flush"), ..Hooks::default() };
    let actor = system.spawn(Worker::with(&journal, hooks)).name("a").await.unwrap();
    actor.stop();
    let StopReason::Failed(error) = rule.soon("the actor ends", actor.wait()).await.unwrap() else {
        panic!("not failed")
    };
    assert_eq!(
        (error.kind(), error.get("hook"), error.get("actor")),
        (ErrorKind::Failed, Some("on_stop"), Some("pekko://test/user/a"))
    );
    assert_eq!(error.source().unwrap().to_string(), "no flush");
    assert_eq!(journal.entries(), ["start", "stop: stopped", "drop"]);
    assert_eq!(system.actor_count(), 0);
}

async fn on_stop_panics(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let hooks = Hooks { stop: HookAction::Panic("no luck"), ..Hooks::default() };
    let actor = system.spawn(Worker::with(&journal, hooks)).await.unwrap();
    actor.drain();
    let StopReason::Failed(error) = rule.soon("the actor ends", actor.wait()).await.unwrap() else {
        panic!("not failed")
    };
    assert_eq!((error.kind(), error.get("hook")), (ErrorKind::Panicked, Some("on_stop")));
    assert!(format!("{error:#}").contains("no luck"), "{error}");
    assert_eq!(journal.entries(), ["start", "stop: drained", "drop"]);
    assert_eq!(system.actor_count(), 0);
}

async fn refused_at_once(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let actor = system.spawn(Worker::new(&journal)).await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    actor.stop();
    let refused = actor.try_tell(Note(2)).unwrap_err();
    assert_eq!((refused.message.0, refused.reason.kind()), (2, ErrorKind::Stopped));
    assert_eq!(system.dead_letter_count(), 0, "a returned message is no dead letter");
    assert_eq!(actor.tell(Note(3)).unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(actor.ask(Note(4)).enqueue().unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(system.dead_letter_count(), 2);
    gate.open();
    rule.soon("the actor ends", actor.wait()).await.unwrap();
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "stop: stopped", "drop"]);
    assert_eq!(system.dead_letter_count(), 2);
}
