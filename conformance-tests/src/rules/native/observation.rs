//! How native code observes an actor.

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Directive, StopReason};

use crate::context::native;
use crate::fixtures::hooks::{HookAction, Hooks};
use crate::fixtures::worker::{Fail, Hold, Note, PanicWith, Worker};
use crate::rules::body;
use crate::{Capability, NativeExit, Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "NAT-08",
        Topic::Native,
        &[(Topic::Native, State::Failed)],
        "Native code sees the failure of an actor, with its text, after a panic, after `Stop` from `on_error` and after a failed `on_stop`.",
        "Native supervisors act on failures; a failure that looks like a normal end is never repaired.",
        body!(failure_is_seen),
    )
    .needs(Capability::NativeExit)
    .spi(&["failure-looks-normal", "outlives-cell"]),
    Rule::must(
        "NAT-09",
        Topic::Native,
        &[(Topic::Native, State::Stopped), (Topic::Native, State::Drained)],
        "Native code sees a stopped or drained actor end normally, and not before it has ended.",
        "A native supervisor must not repair an intended end.",
        body!(end_is_seen),
    )
    .needs(Capability::NativeExit)
    .spi(&["outlives-cell"]),
    Rule::must(
        "NAT-10",
        Topic::Native,
        &[(Topic::Native, State::Killed), (Topic::Native, State::NativeKill)],
        "Native code sees that an actor was killed, by dactor or natively.",
        "A kill is neither a normal end nor a failure of the actor.",
        body!(kill_is_seen),
    )
    .needs(Capability::NativeExit)
    .spi(&["kill-looks-normal", "outlives-cell"]),
    Rule::must(
        "NAT-14",
        Topic::Native,
        &[(Topic::Native, State::Stopping), (Topic::Native, State::Killed)],
        "Native code sees that an actor was killed in `on_stop`, whether it was idle or handling a message when it was stopped.",
        "An `on_stop` that had to be killed did not end normally.",
        body!(kill_in_stop_is_seen),
    )
    .needs(Capability::NativeExit)
    .spi(&["kill-looks-normal"]),
    Rule::must(
        "NAT-11",
        Topic::Native,
        &[(Topic::Native, State::Idle)],
        "The failure of a linked native peer or child does not end the actor.",
        "Many runtimes end linked actors together by default; in dactor the core decides.",
        body!(peer_dies),
    )
    .needs(Capability::NativePeer)
    .spi(&["dies-with-peer"]),
    Rule::must(
        "NAT-12",
        Topic::Native,
        &[
            (Topic::Native, State::Dead),
            (Topic::Native, State::Stopped),
            (Topic::Native, State::Killed),
            (Topic::Native, State::Drained),
        ],
        "Native stops, drains and kills of an ended actor have no effect.",
        "Native code cannot know that the actor has ended.",
        body!(too_late),
    )
    .needs(Capability::NativeKill),
    Rule::must(
        "NAT-13",
        Topic::Native,
        &[(Topic::Native, State::Handling)],
        "Native code does not see a restart: the native actor stays the same and keeps running.",
        "Links, monitors and groups of the native actor survive a restart.",
        body!(restart_is_not_seen),
    )
    .should()
    .needs(Capability::NativeExit),
];

async fn failure_is_seen(rule: RuleContext) {
    let system = rule.system();
    let stop = Hooks { directive: Directive::Stop, ..Hooks::default() };
    let flush = Hooks { stop: HookAction::Fail("no flush"), ..Hooks::default() };
    for (hooks, text) in [(Hooks::default(), "bang"), (stop, "no money"), (flush, "no flush")] {
        let actor = system.spawn(Worker::with(&Journal::new(), hooks)).await.unwrap();
        let mut watch = rule.native_watch(&actor).await;
        match text {
            "bang" => actor.tell(PanicWith("bang")).unwrap(),
            "no money" => actor.tell(Fail("no money")).unwrap(),
            _ => actor.stop(),
        }
        assert!(rule.soon("the actor ends", actor.wait()).await.unwrap().failure().is_some());
        match rule.soon("native code sees the end", watch.exit()).await {
            NativeExit::Failed(seen) => {
                assert!(seen.contains(text), "expected an error text with {text:?}, got {seen:?}");
            }
            other => panic!(
                "expected the native exit Failed({text:?}), got {other:?}: pass the error of `Exit::Failed` to the native \
                 runtime as the actor's failure"
            ),
        }
    }
}

async fn end_is_seen(rule: RuleContext) {
    let (system, gate) = (rule.system(), Gate::new());
    for drain in [false, true] {
        let hooks = Hooks { stop: HookAction::Hold(gate.clone()), ..Hooks::default() };
        let actor = system.spawn(Worker::with(&Journal::new(), hooks)).await.unwrap();
        let mut watch = rule.native_watch(&actor).await;
        if drain {
            actor.drain();
        } else {
            actor.stop();
            rule.soon("on_stop runs", gate.reached()).await;
            for _ in 0..8 {
                assert!(
                    futures_util::poll!(watch.exit()).is_pending(),
                    "native code saw the end before `on_stop` finished"
                );
                tokio::task::yield_now().await;
            }
            gate.open();
        }
        rule.soon("the actor ends", actor.wait()).await.unwrap();
        assert_eq!(rule.soon("native code sees the end", watch.exit()).await, NativeExit::Normal);
    }
}

async fn kill_is_seen(rule: RuleContext) {
    let system = rule.system();
    for natively in [false, true] {
        let gate = Gate::new();
        let actor = system.spawn(Worker::new(&Journal::new())).await.unwrap();
        let mut watch = rule.native_watch(&actor).await;
        actor.tell(Hold(1, gate.clone())).unwrap();
        rule.soon("the handler runs", gate.reached()).await;
        if natively {
            rule.native_kill(&actor).await;
        } else {
            actor.kill();
        }
        assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed));
        assert_eq!(rule.soon("native code sees the end", watch.exit()).await, NativeExit::Killed);
    }
}

async fn kill_in_stop_is_seen(rule: RuleContext) {
    let system = rule.system();
    for handling in [false, true] {
        let (gate, held) = (Gate::new(), Gate::new());
        let hooks = Hooks { stop: HookAction::Hold(gate.clone()), ..Hooks::default() };
        let actor = system.spawn(Worker::with(&Journal::new(), hooks)).await.unwrap();
        let mut watch = rule.native_watch(&actor).await;
        if handling {
            actor.tell(Hold(1, held.clone())).unwrap();
            rule.soon("the handler runs", held.reached()).await;
        }
        actor.stop();
        held.open();
        rule.soon("on_stop runs", gate.reached()).await;
        actor.kill();
        assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed));
        let seen = rule.soon("native code sees the end", watch.exit()).await;
        assert_eq!(seen, NativeExit::Killed, "stopped while handling: {handling}");
    }
}

async fn peer_dies(rule: RuleContext) {
    let journal = Journal::new();
    let actor = rule.system().spawn(Worker::new(&journal)).await.unwrap();
    rule.soon("the actor answers", actor.ask(Note(0))).await.unwrap();
    rule.soon("the peer fails", rule.probe().peer_dies(native(&actor))).await;
    for number in 1..=32 {
        assert_eq!(rule.soon("the actor continues", actor.ask(Note(number))).await.unwrap(), number);
        tokio::task::yield_now().await;
    }
    rule.never("the actor ended", actor.wait()).await;
    assert_eq!(journal.count("drop"), 0);
}

async fn too_late(rule: RuleContext) {
    let system = rule.system();
    for end in 0..3 {
        let journal = Journal::new();
        let actor = system.spawn(Worker::new(&journal)).await.unwrap();
        match end {
            0 => actor.stop(),
            1 => actor.drain(),
            _ => actor.kill(),
        }
        let reason = rule.soon("the actor ends", actor.wait()).await.unwrap().to_string();
        let before = journal.entries();
        rule.native_stop(&actor).await;
        rule.native_drain(&actor).await;
        rule.native_kill(&actor).await;
        assert_eq!(rule.soon("a late `wait` returns", actor.wait()).await.unwrap().to_string(), reason);
        assert_eq!(journal.entries(), before);
    }
}

async fn restart_is_not_seen(rule: RuleContext) {
    let journal = Journal::new();
    let actor = rule.system().spawn(Worker::factory(&journal, Hooks::default())).await.unwrap();
    let mut watch = rule.native_watch(&actor).await;
    for _ in 0..3 {
        rule.soon("the asker gets the error", actor.ask(PanicWith("bang"))).await.unwrap_err();
    }
    rule.soon("the actor is restarted", actor.ask(Note(1))).await.unwrap();
    assert_eq!(journal.count("restart: Panicked"), 3);
    assert!(futures_util::poll!(watch.exit()).is_pending(), "native code saw the restart as an end");
    actor.stop();
    assert_eq!(rule.soon("native code sees the end", watch.exit()).await, NativeExit::Normal);
}
