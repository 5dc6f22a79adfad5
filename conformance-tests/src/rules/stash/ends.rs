//! The stash of an actor that ends.

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, ErrorKind, PendingReply, StopReason};

use crate::fixtures::stashing::{HoldThenPanic, SetReady, StashingActor, Work, tell_all};
use crate::rules::body;
use crate::{Capability, Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "STASH-06",
        Topic::Inflow,
        &[
            (Topic::Inflow, State::Dead),
            (Topic::Inflow, State::Stopped),
            (Topic::Inflow, State::Drained),
            (Topic::Inflow, State::Killed),
            (Topic::Inflow, State::Failed),
        ],
        "When the actor ends, stashed messages become dead letters, in order and before the queued ones; their askers get `Stopped`.",
        "Every asker is answered, and no message is lost silently.",
        body!(ended),
    ),
    Rule::must(
        "STASH-08",
        Topic::Inflow,
        &[(Topic::Inflow, State::NativeStop)],
        "After a native stop, stashed messages are dead letters, and their askers get `Stopped`.",
        "A native stop is an ordinary end of an actor.",
        body!(native_stop),
    )
    .needs(Capability::NativeStop),
    Rule::must(
        "STASH-09",
        Topic::Inflow,
        &[(Topic::Inflow, State::NativeKill)],
        "After a native kill, stashed messages are dead letters, and their askers get `Stopped`.",
        "A native kill is an ordinary end of an actor.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill),
    Rule::must(
        "STASH-10",
        Topic::Inflow,
        &[(Topic::Inflow, State::RuntimeDropped)],
        "When the runtime of an actor is dropped, stashed messages become dead letters, and their askers get `Stopped`.",
        "An asker on another runtime must be answered.",
        body!(runtime_dropped),
    ),
];

async fn ended(rule: RuleContext) {
    for end in ["stop", "drain", "kill", "fail"] {
        let (journal, gate) = (Journal::new(), Gate::new());
        let (system, events) = rule.system_with_events();
        let mut letters = system.dead_letter_feed();
        let actor = system.spawn(StashingActor::new(&journal)).await.unwrap();
        actor.tell(Work(0)).unwrap();
        let asked = actor.ask(Work(1)).enqueue().unwrap();
        actor.tell(HoldThenPanic(gate.clone())).unwrap();
        rule.soon("the actor is busy", gate.reached()).await;
        actor.tell(Work(2)).unwrap();
        match end {
            "stop" => actor.stop(),
            "drain" => actor.drain(),
            "kill" => actor.kill(),
            _ => {}
        }
        gate.open();
        assert_eq!(
            rule.soon("the asker gets the error", asked).await.unwrap_err().kind(),
            ErrorKind::Stopped,
            "{end}"
        );
        rule.soon("the actor ends", actor.wait()).await.unwrap();
        for expected in ["work 0", "work 1", "work 2"] {
            let letter = rule.soon("a dead letter", letters.next()).await.unwrap();
            assert_eq!(letter.text.as_deref(), Some(expected), "{end}");
            assert_eq!(letter.error.kind(), ErrorKind::Stopped);
        }
        assert_eq!((system.dead_letter_count(), events.journal().count("dead Work")), (3, 3), "{end}");
        assert_eq!(journal.len(), 0);
    }
    // A draining actor that becomes ready handles its stash.
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let actor = system.spawn(StashingActor::new(&journal)).await.unwrap();
    tell_all(&actor, 0..2);
    actor.tell(SetReady(Some(gate.clone()), true)).unwrap();
    rule.soon("the actor is busy", gate.reached()).await;
    actor.drain();
    gate.open();
    assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Drained));
    assert_eq!((journal.entries(), system.dead_letter_count()), (vec!["0".to_owned(), "1".to_owned()], 0));
}

/// An actor with an ask in its stash.
async fn shut(rule: &RuleContext) -> (ActorRef<StashingActor>, PendingReply<Work>) {
    let actor = rule.system().spawn(StashingActor::new(&Journal::new())).await.unwrap();
    let asked = actor.ask(Work(1)).enqueue().unwrap();
    rule.soon("the message is stashed", actor.ask(SetReady(None, false))).await.unwrap();
    (actor, asked)
}

async fn assert_refused(rule: &RuleContext, actor: &ActorRef<StashingActor>, asked: PendingReply<Work>) {
    let error = rule.soon("the asker gets the error", asked).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stopped);
    rule.soon("the actor ends", actor.wait()).await.unwrap();
    assert_eq!(actor.system().dead_letter_count(), 1);
}

async fn native_stop(rule: RuleContext) {
    let (actor, asked) = shut(&rule).await;
    rule.native_stop(&actor).await;
    assert_refused(&rule, &actor, asked).await;
}

async fn native_kill(rule: RuleContext) {
    let (actor, asked) = shut(&rule).await;
    rule.native_kill(&actor).await;
    assert_refused(&rule, &actor, asked).await;
}

async fn runtime_dropped(rule: RuleContext) {
    let system = rule.system();
    let spawned = rule.on_dropped_runtime(move || async move {
        let actor = system.spawn(StashingActor::new(&Journal::new())).await.unwrap();
        let asked = actor.ask(Work(1)).enqueue().unwrap();
        actor.ask(SetReady(None, false)).await.unwrap();
        (actor, asked)
    });
    let (actor, asked) = rule.soon("the runtime is dropped", spawned).await;
    assert_refused(&rule, &actor, asked).await;
}
