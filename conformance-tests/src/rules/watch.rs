//! Death watch: however an actor ends, those who watch it are told once.

use std::future::IntoFuture;
use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Directive, Supervision, System};

use super::body;
use super::family::child;
use super::member::{Member, Plan, Watch};
use crate::actors::{Act, Boom, Fail, Hold, Note};
use crate::{Capability, Lab, Rule, State, Topic};

const INTENT: &str =
    "Whoever depends on another actor must hear of its end, and must not have to know how it died.";

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "WATCH-01",
        Topic::Watch,
        &[(Topic::Watch, State::Stopped), (Topic::Watch, State::Idle), (Topic::Watch, State::Dead)],
        "After a stop every watcher gets one `Terminated`, with actor and reason; one that watches afterwards gets it at once.",
        INTENT,
        body!(stopped),
    ),
    Rule::must(
        "WATCH-02",
        Topic::Watch,
        &[(Topic::Watch, State::Drained), (Topic::Watch, State::Dead)],
        "After a drain the same holds, and after a shutdown of the other's system.",
        INTENT,
        body!(drained),
    ),
    Rule::must(
        "WATCH-03",
        Topic::Watch,
        &[(Topic::Watch, State::Killed), (Topic::Watch, State::Handling), (Topic::Watch, State::Dead)],
        "After a kill the same holds, wherever the killed one was.",
        INTENT,
        body!(killed),
    ),
    Rule::must(
        "WATCH-04",
        Topic::Watch,
        &[(Topic::Watch, State::Failed), (Topic::Watch, State::Dead)],
        "After a failure the same holds: a panic, an `Err`, an `on_stop` or a restart that failed, a failed child. A restart is no end.",
        INTENT,
        body!(failed),
    ),
    Rule::must(
        "WATCH-05",
        Topic::Watch,
        &[(Topic::Watch, State::Starting)],
        "The same holds for an actor that never started, whose ref came out of its `on_start`: failed, killed or abandoned.",
        INTENT,
        body!(never_started),
    ),
    Rule::must(
        "WATCH-06",
        Topic::Watch,
        &[(Topic::Watch, State::NativeStop)],
        "A native stop from outside is told as a stop or drain.",
        INTENT,
        body!(native_stopped),
    )
    .needs(Capability::NativeStop)
    .spi(&["ignores-stop"]),
    Rule::must(
        "WATCH-07",
        Topic::Watch,
        &[(Topic::Watch, State::NativeKill)],
        "A native kill from outside is told as a kill, of an idle actor and of one in a handler.",
        INTENT,
        body!(native_killed),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "keeps-cell-after-kill"]),
    Rule::must(
        "WATCH-08",
        Topic::Watch,
        &[(Topic::Watch, State::RuntimeDropped)],
        "When the runtime of the other actor is dropped, watchers on another runtime are told of a kill.",
        INTENT,
        body!(runtime_dropped),
    )
    .spi(&["foreign-runtime"]),
];

/// Two who watch, and one who is watched.
struct Scene {
    journal: Journal,
    system: System,
    watchers: [ActorRef<Member>; 2],
    target: ActorRef<Member>,
}

async fn scene(lab: &Lab, plan: Plan) -> Scene {
    let (journal, system) = (Journal::new(), lab.system());
    // The watchers are in a system of their own, which lives on when the other is shut down.
    let other = lab.builder_named("watchers").build().unwrap();
    let watchers =
        [Plan::new("one").spawn(&other, &journal).await, Plan::new("two").spawn(&other, &journal).await];
    let target = plan.spawn(&system, &journal).await;
    for watcher in &watchers {
        assert_eq!(lab.soon("it is watched", watcher.ask(Watch(target.clone()))).await.unwrap(), None);
    }
    Scene { journal, system, watchers, target }
}

/// Both have been told once, and a third who comes late is told at once.
async fn assert_told(lab: &Lab, scene: &Scene, reason: &str) {
    let Scene { journal, watchers, target, .. } = scene;
    let late = Plan::new("late").spawn(watchers[0].system(), journal).await;
    lab.soon("it ends", target.wait()).await.unwrap();
    lab.soon("it is watched too late", late.ask(Watch(target.clone()))).await.unwrap();
    for (watcher, name) in [(&watchers[0], "one"), (&watchers[1], "two"), (&late, "late")] {
        let note = format!("{name} terminated t: {reason}");
        lab.soon(&note, journal.wait_for(&note)).await;
        // Whatever else may be on its way comes before this.
        lab.soon("the watcher goes on", watcher.ask(Note(9))).await.unwrap();
        let told = format!("{name} terminated");
        let count = journal.entries().iter().filter(|entry| entry.starts_with(&told)).count();
        assert_eq!(count, 1, "{journal:?}");
    }
    late.stop();
    lab.soon("the late one ends", late.wait()).await.unwrap();
}

async fn stopped(lab: Lab) {
    let scene = scene(&lab, Plan::new("t")).await;
    scene.target.stop();
    assert_told(&lab, &scene, "stopped").await;
}

async fn drained(lab: Lab) {
    for shutdown in [false, true] {
        let scene = scene(&lab, Plan::new("t")).await;
        if shutdown {
            lab.soon("the shutdown is done", scene.system.shutdown()).await.unwrap();
        } else {
            scene.target.drain();
        }
        assert_told(&lab, &scene, "drained").await;
    }
}

async fn killed(lab: Lab) {
    for place in ["idle", "handling", "on_stop", "by its parent"] {
        let gate = Gate::new();
        let mut plan = Plan::new("t");
        if place == "on_stop" {
            plan = plan.stop(Act::Hold(gate.clone()));
        }
        let mut scene = scene(&lab, plan).await;
        match place {
            "handling" => scene.target.tell(Hold(1, gate.clone())).unwrap(),
            "on_stop" => scene.target.stop(),
            _ => {}
        }
        if place == "by its parent" {
            let parent =
                Plan::new("parent").child(Plan::new("t")).spawn(scene.watchers[0].system(), &scene.journal);
            let parent = parent.await;
            scene.target = child(&lab, &parent, "t").await;
            for watcher in &scene.watchers {
                lab.soon("it is watched", watcher.ask(Watch(scene.target.clone()))).await.unwrap();
            }
            parent.kill();
        } else {
            if place != "idle" {
                lab.soon("there", gate.reached()).await;
            }
            scene.target.kill();
        }
        assert_told(&lab, &scene, "killed").await;
    }
}

async fn failed(lab: Lab) {
    let stop = Supervision::one_for_one().always(Directive::Stop);
    let once = Supervision::one_for_one().budget(1, Duration::from_secs(600));
    let escalates = Plan::new("c").supervision(Supervision::one_for_one().always(Directive::Escalate));
    for (plan, cause, reason) in [
        (Plan::new("t").supervision(stop.clone()), "panic", "Panicked"),
        (Plan::new("t").on_error(Directive::Stop), "err", "Failed"),
        (Plan::new("t").restart(Act::Fail("still bad")).supervision(once.clone()), "panic", "Failed"),
        (Plan::new("t").supervision(once), "twice", "Panicked"),
        (Plan::new("t").stop(Act::Fail("no flush")), "stop", "Failed"),
        (Plan::new("t").supervision(stop).child(escalates), "child", "ChildFailed"),
    ] {
        let scene = scene(&lab, plan).await;
        let target = &scene.target;
        match cause {
            "panic" => target.tell(Boom("no")).unwrap(),
            "twice" => {
                target.tell(Boom("no")).unwrap();
                lab.soon("it is restarted", target.ask(Note(1))).await.unwrap();
                for watcher in &scene.watchers {
                    lab.soon("the watcher goes on", watcher.ask(Note(2))).await.unwrap();
                }
                assert!(!scene.journal.entries().iter().any(|entry| entry.contains("terminated")));
                target.tell(Boom("no")).unwrap();
            }
            "err" => target.tell(Fail("no")).unwrap(),
            "child" => child(&lab, target, "c").await.tell(Boom("no")).unwrap(),
            _ => target.stop(),
        }
        assert_told(&lab, &scene, reason).await;
    }
}

async fn never_started(lab: Lab) {
    for (end, reason) in [("fails", "Failed"), ("killed", "killed"), ("abandoned", "killed")] {
        let (journal, system, gate) = (Journal::new(), lab.system(), Gate::new());
        let (leak, mut leaked) = tokio::sync::mpsc::unbounded_channel();
        // It waits for its child's start, and fails after that.
        let mut plan =
            Plan::new("t").child(Plan::new("c").start(Act::Hold(gate.clone()))).start(Act::Fail("no"));
        plan.leak = Some(leak);
        let spawning = tokio::spawn(system.spawn(Member::factory(&journal, plan)).name("t").into_future());
        lab.soon("on_start runs", gate.reached()).await;
        let target = leaked.recv().await.unwrap();
        let watchers = [
            Plan::new("one").spawn(&system, &journal).await,
            Plan::new("two").spawn(&system, &journal).await,
        ];
        for watcher in &watchers {
            lab.soon("it is watched", watcher.ask(Watch(target.clone()))).await.unwrap();
        }
        match end {
            "fails" => gate.open(),
            "killed" => target.kill(),
            _ => spawning.abort(),
        }
        let scene = Scene { journal, system, watchers, target };
        assert_told(&lab, &scene, reason).await;
        assert_eq!(scene.system.live(), 2);
    }
}

async fn native_stopped(lab: Lab) {
    let scene = scene(&lab, Plan::new("t")).await;
    lab.native_stop(&scene.target).await;
    let reason = lab.soon("it ends", scene.target.wait()).await.unwrap().to_string();
    assert!(["stopped", "drained"].contains(&&*reason), "{reason}");
    assert_told(&lab, &scene, &reason).await;
}

async fn native_killed(lab: Lab) {
    for handling in [false, true] {
        let (scene, gate) = (scene(&lab, Plan::new("t")).await, Gate::new());
        if handling {
            scene.target.tell(Hold(1, gate.clone())).unwrap();
            lab.soon("it is busy", gate.reached()).await;
        }
        lab.native_kill(&scene.target).await;
        assert_told(&lab, &scene, "killed").await;
    }
}

async fn runtime_dropped(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let watchers =
        [Plan::new("one").spawn(&system, &journal).await, Plan::new("two").spawn(&system, &journal).await];
    let (notes, inside, who) = (journal.clone(), system.clone(), watchers.clone());
    let target = lab
        .elsewhere(move || async move {
            let target = Plan::new("t").spawn(&inside, &notes).await;
            for watcher in &who {
                watcher.ask(Watch(target.clone())).await.unwrap();
            }
            target
        })
        .await;
    assert_told(&lab, &Scene { journal, system, watchers, target }, "killed").await;
}
