//! Draining: all that was accepted, and nothing more.

use dactor_core::spi::TURN;
use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ErrorKind, StopReason};

use super::body;
use crate::actors::{Hold, Note, TellMyself, Worker};
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "DRAIN-01",
        Topic::Drain,
        &[(Topic::Drain, State::Idle)],
        "An idle actor that is drained runs `on_stop` with the reason `drained`, and ends.",
        "A drain must wake the actor like a message does.",
        body!(idle),
    )
    .spi(&["loses-wakes"]),
    Rule::must(
        "DRAIN-02",
        Topic::Drain,
        &[(Topic::Drain, State::Handling)],
        "A drain during a handler lets all that was accepted before be handled, in order, and refuses what comes after.",
        "It is the orderly end: no accepted message is lost, no new one prolongs it.",
        body!(handling),
    ),
    Rule::must(
        "DRAIN-03",
        Topic::Drain,
        &[(Topic::Drain, State::Handling), (Topic::Order, State::Handling)],
        "A drain handles more messages than a turn holds.",
        "The last turns are as long as they need to be.",
        body!(long_queue),
    )
    .spi(&["ignores-more"]),
    Rule::must(
        "DRAIN-04",
        Topic::Drain,
        &[(Topic::Drain, State::Handling), (Topic::Stop, State::Handling)],
        "A stop is stronger than a drain, in either order; a drain does not weaken a stop.",
        "Whoever asks for the quicker end gets it.",
        body!(stop_wins),
    ),
    Rule::must(
        "DRAIN-05",
        Topic::Drain,
        &[(Topic::Drain, State::Handling), (Topic::Tell, State::Handling)],
        "A draining actor refuses its own messages, too; draining twice is draining once.",
        "An actor that feeds itself would never end.",
        body!(refuses_itself),
    ),
];

async fn idle(lab: Lab) {
    for exposed in [false, true] {
        let journal = Journal::new();
        let actor = lab.system().spawn(Worker::new(&journal)).await.unwrap();
        lab.soon("the actor answers", actor.ask(Note(1))).await.unwrap();
        if exposed {
            lab.expose(&actor);
        }
        lab.rest().await;
        actor.drain();
        assert!(matches!(lab.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Drained));
        assert_eq!(journal.entries(), ["start", "1", "stop: drained", "drop"]);
    }
}

async fn handling(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let actor = system.spawn(Worker::new(&journal)).await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    actor.tell(Note(2)).unwrap();
    let asked = actor.ask(Note(3)).enqueue().unwrap();
    actor.drain();
    assert_eq!(actor.try_tell(Note(4)).unwrap_err().message.0, 4);
    assert_eq!(
        lab.soon("an ask is refused", actor.ask(Note(5))).await.unwrap_err().kind(),
        ErrorKind::Stopped
    );
    assert!(actor.is_alive());
    gate.open();
    assert_eq!(lab.soon("the accepted ask is answered", asked).await.unwrap(), 3);
    assert!(matches!(lab.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Drained));
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "2", "3", "stop: drained", "drop"]);
    assert_eq!(system.dead_letters(), 1, "the refused ask");
}

async fn long_queue(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let actor = system.spawn(Worker::new(&journal)).await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    let count = 3 * TURN + 1;
    for number in 0..count {
        actor.tell(Note(number as u32)).unwrap();
    }
    actor.drain();
    gate.open();
    assert!(matches!(lab.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Drained));
    let entries = journal.entries();
    let expected: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    assert_eq!(entries[3..3 + count], expected);
    assert_eq!(entries[3 + count..], ["stop: drained", "drop"]);
    assert_eq!(system.dead_letters(), 0);
}

async fn stop_wins(lab: Lab) {
    for drain_first in [true, false] {
        let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
        let actor = system.spawn(Worker::new(&journal)).await.unwrap();
        actor.tell(Hold(1, gate.clone())).unwrap();
        lab.soon("the handler runs", gate.reached()).await;
        actor.tell(Note(2)).unwrap();
        if drain_first {
            actor.drain();
            actor.stop();
        } else {
            actor.stop();
            actor.drain();
        }
        gate.open();
        assert!(matches!(lab.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Stopped));
        assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "stop: stopped", "drop"]);
        assert_eq!(system.dead_letters(), 1);
    }
}

async fn refuses_itself(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let actor = system.spawn(Worker::new(&journal)).await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    let fed = actor.ask(TellMyself(vec![2])).enqueue().unwrap();
    actor.tell(Note(3)).unwrap();
    actor.drain();
    actor.drain();
    gate.open();
    let error = lab.soon("the handler answers", fed).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Failed, "the handler passes the refusal on");
    assert!(matches!(lab.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Drained));
    let entries: Vec<_> = journal.entries().into_iter().filter(|entry| !entry.starts_with("error")).collect();
    assert_eq!(entries, ["start", "hold 1", "held 1", "3", "stop: drained", "drop"]);
    assert_eq!(system.dead_letters(), 1);
}
