//! Native stops, drains and kills of an actor.

use dactor_core::spi::TURN;
use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ErrorKind, StopReason};

use crate::fixtures::hooks::{HookAction, Hooks};
use crate::fixtures::worker::{Count, Hold, Note, Worker};
use crate::rules::body;
use crate::{Capability, Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "NAT-01",
        Topic::Native,
        &[(Topic::Native, State::Idle)],
        "A native stop of an idle actor runs `on_stop` and ends it as stopped or drained.",
        "Native supervisors and consoles may end actors; hooks run all the same.",
        body!(stop_idle),
    )
    .needs(Capability::NativeStop)
    .spi(&["ignores-stop", "stop-drops-cell"]),
    Rule::must(
        "NAT-02",
        Topic::Native,
        &[(Topic::Native, State::Handling)],
        "A native stop during a handler lets it finish and reply, then runs `on_stop`.",
        "The current message is handled completely, no matter how the actor is stopped.",
        body!(stop_handling),
    )
    .needs(Capability::NativeStop)
    .spi(&["stop-drops-cell", "ignores-stop"]),
    Rule::must(
        "NAT-03",
        Topic::Native,
        &[(Topic::Native, State::Handling), (Topic::Native, State::NativeStop)],
        "A native stop takes effect within one further turn of messages; the remaining messages become dead letters.",
        "A long queue must not delay a native stop.",
        body!(stop_within_a_turn),
    )
    .needs(Capability::NativeStopNow)
    .spi(&["stop-drains"]),
    Rule::must(
        "NAT-04",
        Topic::Native,
        &[(Topic::Native, State::Handling), (Topic::Native, State::NativeStop)],
        "A native drain handles all accepted messages, more than fit into one turn, then runs `on_stop`.",
        "A draining runtime accepts no more wake-ups, so the turns must continue without them.",
        body!(drain),
    )
    .needs(Capability::NativeDrain)
    .spi(&["drains-one-turn", "drain-stops"]),
    Rule::must(
        "NAT-05",
        Topic::Native,
        &[(Topic::Native, State::Idle), (Topic::Native, State::NativeKill)],
        "A native kill of an idle actor ends it as killed; no hook runs, and `wait` returns.",
        "A cell that is kept or forgotten would leave callers of `wait` pending.",
        body!(kill_idle),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "kill-runs-hooks", "keeps-cell-after-kill"]),
    Rule::must(
        "NAT-06",
        Topic::Native,
        &[(Topic::Native, State::Handling), (Topic::Native, State::NativeKill)],
        "A native kill drops a pending handler: its asker gets `Interrupted`, and queued askers get `Stopped`.",
        "The native runtime drops the task; the cell answers the pending asks.",
        body!(kill_handling),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "kill-runs-hooks", "keeps-cell-after-kill"]),
    Rule::must(
        "NAT-07",
        Topic::Native,
        &[(Topic::Native, State::Stopping)],
        "A native kill drops a pending `on_stop`; the actor ends as killed.",
        "An `on_stop` that hangs must be killable by native code, too.",
        body!(kill_stopping),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "kill-runs-hooks"]),
];

async fn stop_idle(rule: RuleContext) {
    let journal = Journal::new();
    let actor = rule.system().spawn(Worker::new(&journal)).await.unwrap();
    rule.soon("the actor answers", actor.ask(Note(1))).await.unwrap();
    rule.native_stop(&actor).await;
    let reason = rule.soon("the actor ends", actor.wait()).await.unwrap();
    assert!(
        matches!(reason, StopReason::Stopped | StopReason::Drained),
        "expected the reason stopped or drained, got {reason}: on a native stop call `Cell::end` and run the cell to its end"
    );
    assert_eq!(
        journal.entries(),
        ["start".to_owned(), "1".to_owned(), format!("stop: {reason}"), "drop".to_owned()],
        "expected `on_stop` to run once, and then the instance to be dropped"
    );
}

async fn stop_handling(rule: RuleContext) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let actor = rule.system().spawn(Worker::new(&journal)).await.unwrap();
    let held = actor.ask(Hold(1, gate.clone())).enqueue().unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    rule.native_stop(&actor).await;
    rule.let_idle().await;
    assert_eq!(journal.entries(), ["start", "hold 1"], "the handler is not dropped");
    gate.open();
    assert_eq!(rule.soon("the running ask is answered", held).await.unwrap(), 1);
    let reason = rule.soon("the actor ends", actor.wait()).await.unwrap();
    assert!(
        matches!(reason, StopReason::Stopped | StopReason::Drained),
        "expected the reason stopped or drained, got {reason}: on a native stop call `Cell::end` and run the cell to its end"
    );
    assert_eq!(journal.entries()[..3], ["start", "hold 1", "held 1"]);
    assert_eq!(journal.entries()[3..], [format!("stop: {reason}"), "drop".to_owned()]);
}

async fn stop_within_a_turn(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let actor = system.spawn(Worker::new(&journal)).await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    let count = 4 * TURN;
    for number in 0..count {
        actor.tell(Note(number as u32)).unwrap();
    }
    rule.native_stop(&actor).await;
    gate.open();
    assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Stopped));
    let entries = journal.entries();
    let handled = entries.len() - 5;
    assert!(handled <= TURN, "{handled} further messages were handled");
    let expected: Vec<String> = (0..handled).map(|number| number.to_string()).collect();
    assert_eq!(entries[3..3 + handled], expected);
    assert_eq!(entries[3 + handled..], ["stop: stopped", "drop"]);
    assert_eq!(system.dead_letter_count(), (count - handled) as u64);
}

async fn drain(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let actor = system.spawn(Worker::new(&journal)).await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    let count = 4 * TURN + 1;
    for number in 0..count {
        actor.tell(Note(number as u32)).unwrap();
    }
    let asked = actor.ask(Count()).enqueue().unwrap();
    rule.native_drain(&actor).await;
    gate.open();
    assert_eq!(rule.soon("the last ask is answered", asked).await.unwrap(), count as u32);
    let reason = rule.soon("the actor ends", actor.wait()).await.unwrap();
    assert!(
        matches!(reason, StopReason::Stopped | StopReason::Drained),
        "expected the reason stopped or drained, got {reason}: on a native stop call `Cell::end` and run the cell to its end"
    );
    let entries = journal.entries();
    let expected: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    assert_eq!(entries[3..3 + count], expected);
    assert_eq!(entries[3 + count..], [format!("stop: {reason}"), "drop".to_owned()]);
    assert_eq!(system.dead_letter_count(), 0);
}

async fn kill_idle(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let actor = system.spawn(Worker::new(&journal)).name("a").await.unwrap();
    rule.soon("the actor answers", actor.ask(Note(1))).await.unwrap();
    rule.native_kill(&actor).await;
    assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed));
    assert_eq!(journal.entries(), ["start", "1", "drop"]);
    assert_eq!(system.actor_count(), 0);
    assert!(system.get::<Worker>("a").is_none());
}

async fn kill_handling(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let actor = system.spawn(Worker::new(&journal)).await.unwrap();
    let held = actor.ask(Hold(1, gate.clone())).enqueue().unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    let queued = actor.ask(Note(2)).enqueue().unwrap();
    actor.tell(Note(3)).unwrap();
    rule.native_kill(&actor).await;
    assert_eq!(rule.soon("its asker is answered", held).await.unwrap_err().kind(), ErrorKind::Interrupted);
    assert_eq!(
        rule.soon("the queued asker is answered", queued).await.unwrap_err().kind(),
        ErrorKind::Stopped
    );
    assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed));
    assert_eq!(journal.entries(), ["start", "hold 1", "drop"]);
    assert_eq!(system.dead_letter_count(), 2);
}

async fn kill_stopping(rule: RuleContext) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let hooks = Hooks { stop: HookAction::Hold(gate.clone()), ..Hooks::default() };
    let actor = rule.system().spawn(Worker::with(&journal, hooks)).await.unwrap();
    actor.stop();
    rule.soon("on_stop runs", gate.reached()).await;
    rule.native_kill(&actor).await;
    assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed));
    assert_eq!(journal.entries(), ["start", "stop: stopped", "drop"]);
}
