//! Death watch from the watcher's side.

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Directive, ErrorKind, StopReason, Supervision, WeakRef};

use super::{of_watcher, queued};
use crate::fixtures::hooks::HookAction;
use crate::fixtures::tree::{TreeActor, TreeSpec, Unwatch, Watch, child};
use crate::fixtures::worker::{Hold, Note, PanicWith};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "WATCH-11",
        Topic::Watch,
        &[(Topic::Watch, State::Idle), (Topic::Watch, State::Handling)],
        "After `unwatch` no `Terminated` arrives, even if one is already queued; `unwatch` returns whether there was a watch.",
        "A watcher need not check for outdated notices.",
        body!(unwatch),
    ),
    Rule::must(
        "WATCH-12",
        Topic::Watch,
        &[(Topic::Watch, State::Idle), (Topic::Watch, State::Dead)],
        "A second `watch` of the same actor has no effect; after a `Terminated` or an `unwatch` the actor can be watched again.",
        "Each watch gets one `Terminated`, and there is one watch at a time.",
        body!(again),
    ),
    Rule::must(
        "WATCH-13",
        Topic::Watch,
        &[(Topic::Watch, State::Idle)],
        "An actor that watches itself gets an error.",
        "It would never receive the notice.",
        body!(itself),
    ),
    Rule::must(
        "WATCH-14",
        Topic::Watch,
        &[(Topic::Watch, State::Idle), (Topic::Watch, State::Killed)],
        "Actors may watch each other in a cycle: every end is reported to the live watchers, and no actor is leaked.",
        "Peers commonly watch each other.",
        body!(cycle),
    ),
    Rule::must(
        "WATCH-15",
        Topic::Watch,
        &[(Topic::Watch, State::Stopped), (Topic::Watch, State::Killed), (Topic::Watch, State::Failed)],
        "A watcher that ends, in any way, leaves no entry at the actors that it watched.",
        "A long-lived actor is watched by many short-lived ones.",
        body!(watcher_ends),
    ),
    Rule::must(
        "WATCH-16",
        Topic::Watch,
        &[(Topic::Watch, State::Handling)],
        "A restart keeps the watches of the actor, except those of its own children, which the restart stops: the new instance gets no `Terminated` for them, whether they ended before or through the restart.",
        "A new instance does not know the children of the old one.",
        body!(watcher_restarts),
    ),
];

async fn unwatch(rule: RuleContext) {
    let (journal, system, gate) = (Journal::new(), rule.system(), Gate::new());
    let watcher = TreeSpec::new("w").spawn(&system, &journal).await;
    let target = TreeSpec::new("t").spawn(&system, &journal).await;
    assert!(!rule.soon("`unwatch` returns", watcher.ask(Unwatch(target.clone()))).await.unwrap());
    rule.soon("the watch begins", watcher.ask(Watch(target.clone()))).await.unwrap();
    watcher.tell(Hold(0, gate.clone())).unwrap();
    rule.soon("the watcher is busy", gate.reached()).await;
    let unwatch = watcher.ask(Unwatch(target.clone())).enqueue().unwrap();
    target.stop();
    rule.soon("the watched actor ends", target.wait()).await.unwrap();
    queued(&rule, "the notice is queued", &watcher, 2).await;
    gate.open();
    assert!(rule.soon("`unwatch` returns", unwatch).await.unwrap());
    assert!(!rule.soon("`unwatch` returns", watcher.ask(Unwatch(target.clone()))).await.unwrap());
    rule.soon("the watcher continues", watcher.ask(Note(1))).await.unwrap();
    assert_eq!(of_watcher(&journal), ["start", "held 0", "1"]);
    assert_eq!(system.dead_letter_count(), 0);
}

async fn again(rule: RuleContext) {
    let (journal, system, gate) = (Journal::new(), rule.system(), Gate::new());
    let watcher = TreeSpec::new("w").spawn(&system, &journal).await;
    let target = TreeSpec::new("t").spawn(&system, &journal).await;
    let told = || of_watcher(&journal).iter().filter(|entry| *entry == "terminated t: stopped").count();
    for _ in 0..2 {
        rule.soon("the watch begins", watcher.ask(Watch(target.clone()))).await.unwrap();
    }
    watcher.tell(Hold(0, gate.clone())).unwrap();
    rule.soon("the watcher is busy", gate.reached()).await;
    target.stop();
    rule.soon("the watched actor ends", target.wait()).await.unwrap();
    queued(&rule, "the notice is queued", &watcher, 1).await;
    gate.open();
    rule.soon("the watcher continues", watcher.ask(Note(1))).await.unwrap();
    assert_eq!(told(), 1);

    for count in 2..4 {
        rule.soon("the watch begins again", watcher.ask(Watch(target.clone()))).await.unwrap();
        rule.soon("the watcher continues", watcher.ask(Note(1))).await.unwrap();
        assert_eq!(told(), count, "at once");
    }

    // Repeated `watch` and `unwatch` leave one watch, whatever is queued.
    let gate = Gate::new();
    watcher.tell(Hold(2, gate.clone())).unwrap();
    rule.soon("the watcher is busy", gate.reached()).await;
    for _ in 0..3 {
        watcher.tell(Watch(target.clone())).unwrap();
        watcher.tell(Unwatch(target.clone())).unwrap();
    }
    watcher.tell(Watch(target.clone())).unwrap();
    watcher.tell(Watch(target.clone())).unwrap();
    gate.open();
    rule.soon("the watcher continues", watcher.ask(Note(1))).await.unwrap();
    rule.soon("the watcher continues", watcher.ask(Note(1))).await.unwrap();
    assert_eq!(told(), 4, "{journal:?}");
}

async fn itself(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let actor = TreeSpec::new("w").spawn(&system, &journal).await;
    let answer = rule.soon("the watcher is notified", actor.ask(Watch(actor.clone()))).await.unwrap();
    assert_eq!(answer, Some(ErrorKind::InvalidWatch));
    assert!(!rule.soon("`unwatch` returns", actor.ask(Unwatch(actor.clone()))).await.unwrap());
    actor.stop();
    assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Stopped));
}

/// Waits until no reference to the actor is left: its native actor may take a moment to end.
async fn gone(rule: &RuleContext, weak: &WeakRef<TreeActor>) {
    rule.soon("no reference to the ended actor is left", async {
        while weak.upgrade().is_some() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

async fn cycle(rule: RuleContext) {
    for at_once in [false, true] {
        let (journal, system) = (Journal::new(), rule.system());
        let mut ring = Vec::new();
        for name in ["x", "y", "z"] {
            ring.push(TreeSpec::new(name).spawn(&system, &journal).await);
        }
        for (at, actor) in ring.iter().enumerate() {
            for other in [1, 2] {
                let watched = ring[(at + other) % 3].clone();
                assert_eq!(rule.soon("the watch begins", actor.ask(Watch(watched))).await.unwrap(), None);
            }
        }
        if at_once {
            ring.iter().for_each(|actor| actor.kill());
        } else {
            ring[0].stop();
            rule.soon("the watcher is notified", journal.wait_for("y terminated x: stopped")).await;
            rule.soon("the watcher is notified", journal.wait_for("z terminated x: stopped")).await;
            ring[1].kill();
            rule.soon("the watcher is notified", journal.wait_for("z terminated y: killed")).await;
            ring[2].stop();
        }
        for actor in &ring {
            rule.soon("all actors end", actor.wait()).await.unwrap();
        }
        assert_eq!(system.actor_count(), 0);
        if !at_once {
            let told = journal.entries().iter().filter(|entry| entry.contains("terminated")).count();
            assert_eq!(told, 3, "{journal:?}");
        }
        let weak: Vec<_> = ring.drain(..).map(|actor| actor.downgrade()).collect();
        for actor in &weak {
            gone(&rule, actor).await;
        }
    }
}

async fn watcher_ends(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let target = TreeSpec::new("t").spawn(&system, &journal).await;
    for end in ["stop", "drain", "kill", "panic", "start"] {
        let fail = Supervision::one_for_one().always(Directive::Stop);
        let watcher = if end == "start" {
            // This watcher watches its own child and fails to start.
            let (ref_sender, mut refs) = tokio::sync::mpsc::unbounded_channel();
            let mut spec =
                TreeSpec::new("w").watching().child(TreeSpec::new("c")).start(HookAction::Fail("no"));
            spec.ref_sender = Some(ref_sender);
            let spawned =
                rule.soon("the spawn fails", system.spawn(TreeActor::factory(&journal, spec))).await;
            assert!(spawned.is_err());
            refs.recv().await.unwrap()
        } else {
            let watcher = TreeSpec::new("w").supervision(fail).spawn(&system, &journal).await;
            rule.soon("the watch begins", watcher.ask(Watch(target.clone()))).await.unwrap();
            watcher
        };
        match end {
            "stop" => watcher.stop(),
            "drain" => watcher.drain(),
            "kill" => watcher.kill(),
            "panic" => watcher.tell(PanicWith("no")).unwrap(),
            _ => {}
        }
        rule.soon("the watcher ends", watcher.wait()).await.unwrap();
        let weak = watcher.downgrade();
        drop(watcher);
        gone(&rule, &weak).await;
    }
    assert_eq!(rule.soon("the watched actor continues", target.ask(Note(1))).await.unwrap(), 1);
    target.stop();
    rule.soon("the watched actor ends", target.wait()).await.unwrap();
    assert_eq!(system.dead_letter_count(), 0);
}

async fn watcher_restarts(rule: RuleContext) {
    let (journal, system, gate) = (Journal::new(), rule.system(), Gate::new());
    let spec = TreeSpec::new("w").watching().child(TreeSpec::new("c")).child(TreeSpec::new("d"));
    let watcher = spec.spawn(&system, &journal).await;
    let target = TreeSpec::new("t").spawn(&system, &journal).await;
    let c = child(&rule, &watcher, "c").await;
    rule.soon("the watch begins", watcher.ask(Watch(target.clone()))).await.unwrap();
    watcher.tell(Hold(0, gate.clone())).unwrap();
    rule.soon("the watcher is busy", gate.reached()).await;
    watcher.tell(PanicWith("no")).unwrap();
    // The child ended before the restart, and its notice is queued.
    c.kill();
    rule.soon("the child ends", c.wait()).await.unwrap();
    queued(&rule, "the notice is queued", &watcher, 2).await;
    gate.open();
    rule.soon("the watcher is restarted", watcher.ask(Note(1))).await.unwrap();
    assert_eq!(of_watcher(&journal), ["start", "held 0", "drop", "restart: Panicked", "1"]);
    let fresh = child(&rule, &watcher, "c").await;
    assert_ne!(fresh, c);
    fresh.stop();
    rule.soon("the new child is watched", journal.wait_for("w terminated c: stopped")).await;
    target.stop();
    rule.soon("the old watch is kept", journal.wait_for("w terminated t: stopped")).await;
    rule.soon("the watcher continues", watcher.ask(Note(2))).await.unwrap();
    let told = of_watcher(&journal).iter().filter(|entry| entry.starts_with("terminated")).count();
    assert_eq!(told, 2, "{journal:?}");
}
