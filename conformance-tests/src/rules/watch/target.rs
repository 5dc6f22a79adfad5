//! However an actor ends, its watchers are notified once.

use std::future::IntoFuture;
use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Directive, Supervision, System};

use crate::fixtures::hooks::HookAction;
use crate::fixtures::tree::{TreeActor, TreeSpec, Watch, child};
use crate::fixtures::worker::{Fail, Hold, Note, PanicWith};
use crate::rules::body;
use crate::{Capability, Rule, RuleContext, State, Topic};

const INTENT: &str = "A watcher learns of the end of an actor, however it ended.";

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "WATCH-01",
        Topic::Watch,
        &[(Topic::Watch, State::Stopped), (Topic::Watch, State::Idle), (Topic::Watch, State::Dead)],
        "After a stop, every watcher gets one `Terminated` with the actor and the reason; a watch that begins afterwards gets it at once.",
        INTENT,
        body!(stopped),
    ),
    Rule::must(
        "WATCH-02",
        Topic::Watch,
        &[(Topic::Watch, State::Drained), (Topic::Watch, State::Dead)],
        "After a drain, and after a shutdown of the watched actor's system, every watcher gets one `Terminated` (WATCH-01).",
        INTENT,
        body!(drained),
    ),
    Rule::must(
        "WATCH-03",
        Topic::Watch,
        &[(Topic::Watch, State::Killed), (Topic::Watch, State::Handling), (Topic::Watch, State::Dead)],
        "After a kill in any state of the watched actor, every watcher gets one `Terminated` (WATCH-01).",
        INTENT,
        body!(killed),
    ),
    Rule::must(
        "WATCH-04",
        Topic::Watch,
        &[(Topic::Watch, State::Failed), (Topic::Watch, State::Dead)],
        "After a failure (a panic, an `Err`, a failed `on_stop`, a failed restart, a failed child), every watcher gets one `Terminated` (WATCH-01). A restart sends none.",
        INTENT,
        body!(failed),
    ),
    Rule::must(
        "WATCH-05",
        Topic::Watch,
        &[(Topic::Watch, State::Starting)],
        "Every watcher of an actor that never started, and whose reference came from its `on_start`, gets one `Terminated` (WATCH-01): the start failed, was killed or was abandoned.",
        INTENT,
        body!(never_started),
    ),
    Rule::must(
        "WATCH-06",
        Topic::Watch,
        &[(Topic::Watch, State::NativeStop)],
        "A native stop is reported to watchers as a stop or a drain.",
        INTENT,
        body!(native_stopped),
    )
    .needs(Capability::NativeStop)
    .spi(&["ignores-stop"]),
    Rule::must(
        "WATCH-07",
        Topic::Watch,
        &[(Topic::Watch, State::NativeKill)],
        "A native kill, of an idle actor or during a handler, is reported to watchers as a kill.",
        INTENT,
        body!(native_killed),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "keeps-cell-after-kill"]),
    Rule::must(
        "WATCH-08",
        Topic::Watch,
        &[(Topic::Watch, State::RuntimeDropped)],
        "When the runtime of the watched actor is dropped, watchers on another runtime are notified of a kill.",
        INTENT,
        body!(runtime_dropped),
    )
    .spi(&["foreign-runtime"]),
];

/// Two watchers and the watched actor.
struct WatchSetup {
    journal: Journal,
    system: System,
    watchers: [ActorRef<TreeActor>; 2],
    target: ActorRef<TreeActor>,
}

async fn setup(rule: &RuleContext, spec: TreeSpec) -> WatchSetup {
    let (journal, system) = (Journal::new(), rule.system());
    // The watchers are in a system of their own, which continues when the other one is shut down.
    let other = rule.builder_named("watchers").build().unwrap();
    let watchers = [
        TreeSpec::new("one").spawn(&other, &journal).await,
        TreeSpec::new("two").spawn(&other, &journal).await,
    ];
    let target = spec.spawn(&system, &journal).await;
    for watcher in &watchers {
        assert_eq!(rule.soon("the watch begins", watcher.ask(Watch(target.clone()))).await.unwrap(), None);
    }
    WatchSetup { journal, system, watchers, target }
}

/// Both watchers were notified once, and a third one, which watches afterwards, is notified at once.
async fn assert_notified(rule: &RuleContext, setup: &WatchSetup, reason: &str) {
    let WatchSetup { journal, watchers, target, .. } = setup;
    let late = TreeSpec::new("late").spawn(watchers[0].system(), journal).await;
    rule.soon("the actor ends", target.wait()).await.unwrap();
    rule.soon("the late watch begins", late.ask(Watch(target.clone()))).await.unwrap();
    for (watcher, name) in [(&watchers[0], "one"), (&watchers[1], "two"), (&late, "late")] {
        let note = format!("{name} terminated t: {reason}");
        rule.soon(&note, journal.wait_for(&note)).await;
        // Any further notice would be handled before this note.
        rule.soon("the watcher continues", watcher.ask(Note(9))).await.unwrap();
        let told = format!("{name} terminated");
        let count = journal.entries().iter().filter(|entry| entry.starts_with(&told)).count();
        assert_eq!(count, 1, "{journal:?}");
    }
    late.stop();
    rule.soon("the late watcher ends", late.wait()).await.unwrap();
}

async fn stopped(rule: RuleContext) {
    let setup = setup(&rule, TreeSpec::new("t")).await;
    setup.target.stop();
    assert_notified(&rule, &setup, "stopped").await;
}

async fn drained(rule: RuleContext) {
    for shutdown in [false, true] {
        let setup = setup(&rule, TreeSpec::new("t")).await;
        if shutdown {
            rule.soon("the shutdown returns", setup.system.shutdown()).await.unwrap();
        } else {
            setup.target.drain();
        }
        assert_notified(&rule, &setup, "drained").await;
    }
}

async fn killed(rule: RuleContext) {
    for place in ["idle", "handling", "on_stop", "by its parent"] {
        let gate = Gate::new();
        let mut spec = TreeSpec::new("t");
        if place == "on_stop" {
            spec = spec.stop(HookAction::Hold(gate.clone()));
        }
        let mut setup = setup(&rule, spec).await;
        match place {
            "handling" => setup.target.tell(Hold(1, gate.clone())).unwrap(),
            "on_stop" => setup.target.stop(),
            _ => {}
        }
        if place == "by its parent" {
            let parent = TreeSpec::new("parent")
                .child(TreeSpec::new("t"))
                .spawn(setup.watchers[0].system(), &setup.journal);
            let parent = parent.await;
            setup.target = child(&rule, &parent, "t").await;
            for watcher in &setup.watchers {
                rule.soon("the watch begins", watcher.ask(Watch(setup.target.clone()))).await.unwrap();
            }
            parent.kill();
        } else {
            if place != "idle" {
                rule.soon("the actor reaches the gate", gate.reached()).await;
            }
            setup.target.kill();
        }
        assert_notified(&rule, &setup, "killed").await;
    }
}

async fn failed(rule: RuleContext) {
    let stop = Supervision::one_for_one().always(Directive::Stop);
    let once = Supervision::one_for_one().budget(1, Duration::from_secs(600));
    let escalates = TreeSpec::new("c").supervision(Supervision::one_for_one().always(Directive::Escalate));
    for (spec, cause, reason) in [
        (TreeSpec::new("t").supervision(stop.clone()), "panic", "Panicked"),
        (TreeSpec::new("t").on_error(Directive::Stop), "err", "Failed"),
        (
            TreeSpec::new("t").restart(HookAction::Fail("still bad")).supervision(once.clone()),
            "panic",
            "Failed",
        ),
        (TreeSpec::new("t").supervision(once), "twice", "Panicked"),
        (TreeSpec::new("t").stop(HookAction::Fail("no flush")), "stop", "Failed"),
        (TreeSpec::new("t").supervision(stop).child(escalates), "child", "ChildFailed"),
    ] {
        let setup = setup(&rule, spec).await;
        let target = &setup.target;
        match cause {
            "panic" => target.tell(PanicWith("no")).unwrap(),
            "twice" => {
                target.tell(PanicWith("no")).unwrap();
                rule.soon("the actor is restarted", target.ask(Note(1))).await.unwrap();
                for watcher in &setup.watchers {
                    rule.soon("the watcher continues", watcher.ask(Note(2))).await.unwrap();
                }
                assert!(!setup.journal.entries().iter().any(|entry| entry.contains("terminated")));
                target.tell(PanicWith("no")).unwrap();
            }
            "err" => target.tell(Fail("no")).unwrap(),
            "child" => child(&rule, target, "c").await.tell(PanicWith("no")).unwrap(),
            _ => target.stop(),
        }
        assert_notified(&rule, &setup, reason).await;
    }
}

async fn never_started(rule: RuleContext) {
    for (end, reason) in [("fails", "Failed"), ("killed", "killed"), ("abandoned", "killed")] {
        let (journal, system, gate) = (Journal::new(), rule.system(), Gate::new());
        let (ref_sender, mut refs) = tokio::sync::mpsc::unbounded_channel();
        // It waits for the start of its child, then fails.
        let mut spec = TreeSpec::new("t")
            .child(TreeSpec::new("c").start(HookAction::Hold(gate.clone())))
            .start(HookAction::Fail("no"));
        spec.ref_sender = Some(ref_sender);
        let spawning = tokio::spawn(system.spawn(TreeActor::factory(&journal, spec)).name("t").into_future());
        rule.soon("on_start runs", gate.reached()).await;
        let target = refs.recv().await.unwrap();
        let watchers = [
            TreeSpec::new("one").spawn(&system, &journal).await,
            TreeSpec::new("two").spawn(&system, &journal).await,
        ];
        for watcher in &watchers {
            rule.soon("the watch begins", watcher.ask(Watch(target.clone()))).await.unwrap();
        }
        match end {
            "fails" => gate.open(),
            "killed" => target.kill(),
            _ => spawning.abort(),
        }
        let setup = WatchSetup { journal, system, watchers, target };
        assert_notified(&rule, &setup, reason).await;
        assert_eq!(setup.system.actor_count(), 2);
    }
}

async fn native_stopped(rule: RuleContext) {
    let setup = setup(&rule, TreeSpec::new("t")).await;
    rule.native_stop(&setup.target).await;
    let reason = rule.soon("the actor ends", setup.target.wait()).await.unwrap().to_string();
    assert!(["stopped", "drained"].contains(&&*reason), "{reason}");
    assert_notified(&rule, &setup, &reason).await;
}

async fn native_killed(rule: RuleContext) {
    for handling in [false, true] {
        let (setup, gate) = (setup(&rule, TreeSpec::new("t")).await, Gate::new());
        if handling {
            setup.target.tell(Hold(1, gate.clone())).unwrap();
            rule.soon("the actor is busy", gate.reached()).await;
        }
        rule.native_kill(&setup.target).await;
        assert_notified(&rule, &setup, "killed").await;
    }
}

async fn runtime_dropped(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let watchers = [
        TreeSpec::new("one").spawn(&system, &journal).await,
        TreeSpec::new("two").spawn(&system, &journal).await,
    ];
    let (notes, inside, who) = (journal.clone(), system.clone(), watchers.clone());
    let target = rule
        .on_dropped_runtime(move || async move {
            let target = TreeSpec::new("t").spawn(&inside, &notes).await;
            for watcher in &who {
                watcher.ask(Watch(target.clone())).await.unwrap();
            }
            target
        })
        .await;
    assert_notified(&rule, &WatchSetup { journal, system, watchers, target }, "killed").await;
}
