//! What native code sees of an actor.

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Directive, StopReason};

use super::body;
use crate::actors::{Act, Boom, Fail, Hold, Hooks, Note, Worker};
use crate::lab::native;
use crate::{Capability, Lab, NativeExit, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "NAT-08",
        Topic::Native,
        &[(Topic::Native, State::Failed)],
        "An actor that fails is seen to fail natively, with the text of its failure; by panic, by `on_error` and in `on_stop`.",
        "Native supervisors act on failures; one that looks like a normal end is never repaired.",
        body!(failure_is_seen),
    )
    .needs(Capability::NativeExit)
    .spi(&["failure-looks-normal", "outlives-cell"]),
    Rule::must(
        "NAT-09",
        Topic::Native,
        &[(Topic::Native, State::Stopped), (Topic::Native, State::Drained)],
        "An actor that is stopped or drained is seen to end normally, and not before it has ended.",
        "A native supervisor must not repair what was meant to end.",
        body!(end_is_seen),
    )
    .needs(Capability::NativeExit)
    .spi(&["outlives-cell"]),
    Rule::must(
        "NAT-10",
        Topic::Native,
        &[(Topic::Native, State::Killed), (Topic::Native, State::NativeKill)],
        "An actor that is killed, by us or natively, is seen to be killed.",
        "It is neither a normal end nor a failure of its own.",
        body!(kill_is_seen),
    )
    .needs(Capability::NativeExit)
    .spi(&["kill-looks-normal", "outlives-cell"]),
    Rule::must(
        "NAT-14",
        Topic::Native,
        &[(Topic::Native, State::Stopping), (Topic::Native, State::Killed)],
        "An actor that is killed in `on_stop` is seen to be killed, whether it was idle or handling when it was stopped.",
        "A last hook that had to be killed did not end normally.",
        body!(kill_in_stop_is_seen),
    )
    .needs(Capability::NativeExit)
    .spi(&["kill-looks-normal"]),
    Rule::must(
        "NAT-11",
        Topic::Native,
        &[(Topic::Native, State::Idle)],
        "The failure of a linked native peer or child does not end the actor.",
        "The default of many runtimes is to die together; here supervision is decided in the core.",
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
        "Native stops, drains and kills of an actor that has ended do nothing.",
        "Native code cannot know that it comes late.",
        body!(too_late),
    )
    .needs(Capability::NativeKill),
    Rule::must(
        "NAT-13",
        Topic::Native,
        &[(Topic::Native, State::Handling)],
        "A restart is not seen natively: the native actor stays the same and lives on.",
        "Links, monitors and groups of the native actor survive with it.",
        body!(restart_is_not_seen),
    )
    .should()
    .needs(Capability::NativeExit),
];

async fn failure_is_seen(lab: Lab) {
    let system = lab.system();
    let stop = Hooks { directive: Directive::Stop, ..Hooks::default() };
    let flush = Hooks { stop: Act::Fail("no flush"), ..Hooks::default() };
    for (hooks, text) in [(Hooks::default(), "bang"), (stop, "no money"), (flush, "no flush")] {
        let actor = system.spawn(Worker::with(&Journal::new(), hooks)).await.unwrap();
        let mut watch = lab.native_watch(&actor).await;
        match text {
            "bang" => actor.tell(Boom("bang")).unwrap(),
            "no money" => actor.tell(Fail("no money")).unwrap(),
            _ => actor.stop(),
        }
        assert!(lab.soon("the actor ends", actor.wait()).await.unwrap().failure().is_some());
        match lab.soon("the end is seen natively", watch.exit()).await {
            NativeExit::Failed(seen) => {
                assert!(
                    seen.contains(text),
                    "expected the text of the error to contain {text:?}, found {seen:?}"
                );
            }
            other => panic!(
                "expected the native exit Failed({text:?}), found {other:?}: hand the error of `Exit::Failed` to the \
                 native runtime as the actor's failure"
            ),
        }
    }
}

async fn end_is_seen(lab: Lab) {
    let (system, gate) = (lab.system(), Gate::new());
    for drain in [false, true] {
        let hooks = Hooks { stop: Act::Hold(gate.clone()), ..Hooks::default() };
        let actor = system.spawn(Worker::with(&Journal::new(), hooks)).await.unwrap();
        let mut watch = lab.native_watch(&actor).await;
        if drain {
            actor.drain();
        } else {
            actor.stop();
            lab.soon("on_stop runs", gate.reached()).await;
            for _ in 0..8 {
                assert!(futures_util::poll!(watch.exit()).is_pending(), "seen before on_stop was done");
                tokio::task::yield_now().await;
            }
            gate.open();
        }
        lab.soon("the actor ends", actor.wait()).await.unwrap();
        assert_eq!(lab.soon("the end is seen natively", watch.exit()).await, NativeExit::Normal);
    }
}

async fn kill_is_seen(lab: Lab) {
    let system = lab.system();
    for natively in [false, true] {
        let gate = Gate::new();
        let actor = system.spawn(Worker::new(&Journal::new())).await.unwrap();
        let mut watch = lab.native_watch(&actor).await;
        actor.tell(Hold(1, gate.clone())).unwrap();
        lab.soon("the handler runs", gate.reached()).await;
        if natively {
            lab.native_kill(&actor).await;
        } else {
            actor.kill();
        }
        assert!(matches!(lab.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed));
        assert_eq!(lab.soon("the end is seen natively", watch.exit()).await, NativeExit::Killed);
    }
}

async fn kill_in_stop_is_seen(lab: Lab) {
    let system = lab.system();
    for handling in [false, true] {
        let (gate, held) = (Gate::new(), Gate::new());
        let hooks = Hooks { stop: Act::Hold(gate.clone()), ..Hooks::default() };
        let actor = system.spawn(Worker::with(&Journal::new(), hooks)).await.unwrap();
        let mut watch = lab.native_watch(&actor).await;
        if handling {
            actor.tell(Hold(1, held.clone())).unwrap();
            lab.soon("the handler runs", held.reached()).await;
        }
        actor.stop();
        held.open();
        lab.soon("on_stop runs", gate.reached()).await;
        actor.kill();
        assert!(matches!(lab.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed));
        let seen = lab.soon("the end is seen natively", watch.exit()).await;
        assert_eq!(seen, NativeExit::Killed, "stopped while handling: {handling}");
    }
}

async fn peer_dies(lab: Lab) {
    let journal = Journal::new();
    let actor = lab.system().spawn(Worker::new(&journal)).await.unwrap();
    lab.soon("the actor answers", actor.ask(Note(0))).await.unwrap();
    lab.soon("the peer fails", lab.probe().peer_dies(native(&actor))).await;
    for number in 1..=32 {
        assert_eq!(lab.soon("the actor lives on", actor.ask(Note(number))).await.unwrap(), number);
        tokio::task::yield_now().await;
    }
    lab.never("the actor ended", actor.wait()).await;
    assert_eq!(journal.count("drop"), 0);
}

async fn too_late(lab: Lab) {
    let system = lab.system();
    for end in 0..3 {
        let journal = Journal::new();
        let actor = system.spawn(Worker::new(&journal)).await.unwrap();
        match end {
            0 => actor.stop(),
            1 => actor.drain(),
            _ => actor.kill(),
        }
        let reason = lab.soon("the actor ends", actor.wait()).await.unwrap().to_string();
        let before = journal.entries();
        lab.native_stop(&actor).await;
        lab.native_drain(&actor).await;
        lab.native_kill(&actor).await;
        assert_eq!(lab.soon("a late waiter is told", actor.wait()).await.unwrap().to_string(), reason);
        assert_eq!(journal.entries(), before);
    }
}

async fn restart_is_not_seen(lab: Lab) {
    let journal = Journal::new();
    let actor = lab.system().spawn(Worker::factory(&journal, Hooks::default())).await.unwrap();
    let mut watch = lab.native_watch(&actor).await;
    for _ in 0..3 {
        lab.soon("the asker is told", actor.ask(Boom("bang"))).await.unwrap_err();
    }
    lab.soon("the actor is restarted", actor.ask(Note(1))).await.unwrap();
    assert_eq!(journal.count("restart: Panicked"), 3);
    assert!(futures_util::poll!(watch.exit()).is_pending(), "the restart was seen as an end");
    actor.stop();
    assert_eq!(lab.soon("the end is seen natively", watch.exit()).await, NativeExit::Normal);
}
