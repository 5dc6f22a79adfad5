//! Draining: all accepted messages are handled, and no others.

use dactor_core::spi::TURN;
use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ErrorKind, StopReason};

use crate::fixtures::worker::{Hold, Note, TellSelf, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "DRAIN-01",
        Topic::Drain,
        &[(Topic::Drain, State::Idle)],
        "An idle actor that is drained runs `on_stop` with the reason `drained` and ends.",
        "A drain wakes the actor like a message does.",
        body!(idle),
    )
    .spi(&["loses-wakes"]),
    Rule::must(
        "DRAIN-02",
        Topic::Drain,
        &[(Topic::Drain, State::Handling)],
        "A drain during a handler lets the actor handle all messages accepted before, in order; later messages are refused.",
        "A drain loses no accepted message, and no new message prolongs it.",
        body!(handling),
    ),
    Rule::must(
        "DRAIN-03",
        Topic::Drain,
        &[(Topic::Drain, State::Handling), (Topic::Order, State::Handling)],
        "A drain handles more messages than fit into one turn.",
        "The backend keeps running turns until the queue is empty.",
        body!(long_queue),
    )
    .spi(&["ignores-more"]),
    Rule::must(
        "DRAIN-04",
        Topic::Drain,
        &[(Topic::Drain, State::Handling), (Topic::Stop, State::Handling)],
        "A stop takes precedence over a drain, in either order.",
        "The faster end wins.",
        body!(stop_wins),
    ),
    Rule::must(
        "DRAIN-05",
        Topic::Drain,
        &[(Topic::Drain, State::Handling), (Topic::Tell, State::Handling)],
        "A draining actor also refuses messages from itself; a second drain has no effect.",
        "An actor that keeps sending to itself would never end.",
        body!(refuses_itself),
    ),
];

async fn idle(rule: RuleContext) {
    for native_handle_taken in [false, true] {
        let journal = Journal::new();
        let actor = rule.system().spawn(Worker::new(&journal)).await.unwrap();
        rule.soon("the actor answers", actor.ask(Note(1))).await.unwrap();
        if native_handle_taken {
            rule.take_native_handle(&actor);
        }
        rule.let_idle().await;
        actor.drain();
        assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Drained));
        assert_eq!(journal.entries(), ["start", "1", "stop: drained", "drop"]);
    }
}

async fn handling(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let actor = system.spawn(Worker::new(&journal)).await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    actor.tell(Note(2)).unwrap();
    let asked = actor.ask(Note(3)).enqueue().unwrap();
    actor.drain();
    assert_eq!(actor.try_tell(Note(4)).unwrap_err().message.0, 4);
    assert_eq!(
        rule.soon("an ask is refused", actor.ask(Note(5))).await.unwrap_err().kind(),
        ErrorKind::Stopped
    );
    assert!(actor.is_alive() == Some(true));
    gate.open();
    assert_eq!(rule.soon("the accepted ask is answered", asked).await.unwrap(), 3);
    assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Drained));
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "2", "3", "stop: drained", "drop"]);
    assert_eq!(system.dead_letter_count(), 1, "the refused ask");
}

async fn long_queue(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let actor = system.spawn(Worker::new(&journal)).await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    let count = 3 * TURN + 1;
    for number in 0..count {
        actor.tell(Note(number as u32)).unwrap();
    }
    actor.drain();
    gate.open();
    assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Drained));
    let entries = journal.entries();
    let expected: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    assert_eq!(entries[3..3 + count], expected);
    assert_eq!(entries[3 + count..], ["stop: drained", "drop"]);
    assert_eq!(system.dead_letter_count(), 0);
}

async fn stop_wins(rule: RuleContext) {
    for drain_first in [true, false] {
        let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
        let actor = system.spawn(Worker::new(&journal)).await.unwrap();
        actor.tell(Hold(1, gate.clone())).unwrap();
        rule.soon("the handler runs", gate.reached()).await;
        actor.tell(Note(2)).unwrap();
        if drain_first {
            actor.drain();
            actor.stop();
        } else {
            actor.stop();
            actor.drain();
        }
        gate.open();
        assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Stopped));
        assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "stop: stopped", "drop"]);
        assert_eq!(system.dead_letter_count(), 1);
    }
}

async fn refuses_itself(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let actor = system.spawn(Worker::new(&journal)).await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    let fed = actor.ask(TellSelf(vec![2])).enqueue().unwrap();
    actor.tell(Note(3)).unwrap();
    actor.drain();
    actor.drain();
    gate.open();
    let error = rule.soon("the handler answers", fed).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Failed, "the handler returns the refusal");
    assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Drained));
    let entries: Vec<_> = journal.entries().into_iter().filter(|entry| !entry.starts_with("error")).collect();
    assert_eq!(entries, ["start", "hold 1", "held 1", "3", "stop: drained", "drop"]);
    assert_eq!(system.dead_letter_count(), 1);
}
