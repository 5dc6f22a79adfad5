//! How parents and children end.

use std::future::IntoFuture;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Directive, ErrorKind, StopReason, Supervision};

use crate::fixtures::hooks::HookAction;
use crate::fixtures::tree::{GetChild, HoldAndAsk, SpawnChild, TreeActor, TreeSpec, child};
use crate::fixtures::worker::{Fail, Hold, Note, PanicWith};
use crate::rules::body;
use crate::{Capability, Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "TREE-01",
        Topic::Tree,
        &[(Topic::Tree, State::Idle), (Topic::Tree, State::Handling), (Topic::Tree, State::Stopped)],
        "A stopping actor first stops its children, which run their hooks: they have ended when its `on_stop` runs.",
        "A parent can rely on its children while it handles messages, and leaves none behind.",
        body!(children_first),
    ),
    Rule::must(
        "TREE-02",
        Topic::Tree,
        &[(Topic::Tree, State::Killed), (Topic::Tree, State::Starting), (Topic::Tree, State::Stopping)],
        "A kill kills all descendants, many levels deep, in any state of the killed actor: none of them runs `on_stop`, and none is alive when the actor has ended.",
        "No orphan remains.",
        body!(kill_kills_descendants),
    ),
    Rule::must(
        "TREE-03",
        Topic::Tree,
        &[(Topic::Tree, State::Drained)],
        "A draining actor first handles its queue while its children are alive; then the children drain, and then its `on_stop` runs.",
        "Queued messages may need the children.",
        body!(drains_before_children),
    ),
    Rule::must(
        "TREE-04",
        Topic::Tree,
        &[(Topic::Tree, State::Failed)],
        "A failing actor first stops its children, which run their hooks; the same applies to a failed `on_start`.",
        "The children did not fail.",
        body!(failure_stops_children),
    ),
    Rule::must(
        "TREE-05",
        Topic::Tree,
        &[(Topic::Tree, State::Handling), (Topic::Panic, State::Handling)],
        "A restart stops the children, which run their hooks, before it drops the failed instance; the new instance may spawn children with the same names.",
        "A fresh instance begins without the children of the old one.",
        body!(restart_stops_children),
    ),
    Rule::must(
        "TREE-06",
        Topic::Tree,
        &[(Topic::Tree, State::NativeKill)],
        "A native kill of an actor kills its descendants.",
        "Native code does not know the children.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "keeps-cell-after-kill"]),
    Rule::must(
        "TREE-07",
        Topic::Tree,
        &[(Topic::Tree, State::NativeStop)],
        "A native stop of an actor first stops its children, which run their hooks.",
        "A native stop is an ordinary stop.",
        body!(native_stop),
    )
    .needs(Capability::NativeStop)
    .spi(&["ignores-stop", "stop-drops-cell"]),
    Rule::must(
        "TREE-08",
        Topic::Tree,
        &[(Topic::Tree, State::RuntimeDropped)],
        "When the runtime is dropped, parents and children end as killed, and none remains.",
        "References between parents and children must not keep a tree alive.",
        body!(runtime_dropped),
    )
    .spi(&["foreign-runtime"]),
    Rule::must(
        "TREE-16",
        Topic::Shutdown,
        &[(Topic::Tree, State::Drained), (Topic::Shutdown, State::Handling)],
        "In a shutdown, parents drain before their children are told to drain, and services end after all other actors.",
        "Queued messages may need the children, and every actor may need a service.",
        body!(shutdown),
    ),
];

async fn children_first(rule: RuleContext) {
    let (journal, system, gate) = (Journal::new(), rule.system(), Gate::new());
    let spec = TreeSpec::new("parent")
        .child(TreeSpec::new("a").child(TreeSpec::new("aa")))
        .child(TreeSpec::new("b"));
    let parent = spec.spawn(&system, &journal).await;
    let child = child(&rule, &parent, "a").await;
    child.tell(Hold(1, gate.clone())).unwrap();
    rule.soon("the child is busy", gate.reached()).await;
    parent.stop();
    gate.open();
    assert!(matches!(rule.soon("the parent ends", parent.wait()).await.unwrap(), StopReason::Stopped));
    assert_eq!(system.actor_count(), 0);
    assert!(matches!(child.stop_reason(), Some(StopReason::Stopped)));
    let entries = journal.entries();
    let at = |entry: &str| {
        entries.iter().position(|other| other == entry).unwrap_or_else(|| panic!("no {entry}: {entries:?}"))
    };
    assert!(at("a held 1") < at("aa stop: stopped, 0 children"));
    assert!(at("aa drop") < at("a stop: stopped, 0 children"));
    assert!(at("a drop") < at("parent stop: stopped, 0 children"));
    assert!(at("b drop") < at("parent stop: stopped, 0 children"));
}

/// Spawns a chain of this many descendants; returns all actors of the chain.
async fn chain(rule: &RuleContext, top: &ActorRef<TreeActor>, levels: usize) -> Vec<ActorRef<TreeActor>> {
    let mut line = vec![top.clone()];
    for _ in 0..levels {
        let last = &line[line.len() - 1];
        line.push(
            rule.soon("the child is spawned", last.ask(SpawnChild(TreeSpec::new("deep"))))
                .await
                .unwrap()
                .unwrap(),
        );
    }
    line
}

async fn kill_kills_descendants(rule: RuleContext) {
    for place in ["idle", "handling", "children end", "on_stop"] {
        let (journal, system, gate) = (Journal::new(), rule.system(), Gate::new());
        let mut spec = TreeSpec::new("parent");
        if place == "on_stop" {
            spec = spec.stop(HookAction::Hold(gate.clone()));
        }
        let parent = spec.spawn(&system, &journal).await;
        let line = chain(&rule, &parent, 5).await;
        match place {
            "handling" => parent.tell(Hold(1, gate.clone())).unwrap(),
            "children end" => {
                line[5].tell(Hold(1, gate.clone())).unwrap();
                rule.soon("the last actor is busy", gate.reached()).await;
                parent.stop();
            }
            "on_stop" => parent.stop(),
            _ => {}
        }
        if place != "idle" {
            rule.soon("the actor reaches the gate", gate.reached()).await;
        }
        parent.kill();
        let reason = rule.soon("the parent ends", parent.wait()).await.unwrap();
        assert!(matches!(reason, StopReason::Killed), "{place}: {reason}");
        assert_eq!(system.actor_count(), 0, "{place}");
        assert_eq!(journal.entries().iter().filter(|entry| entry.ends_with("drop")).count(), 6, "{place}");
        if place != "on_stop" {
            assert!(!journal.entries().iter().any(|entry| entry.contains("stop:")), "{place}: {journal:?}");
        }
    }
    let (journal, system, gate) = (Journal::new(), rule.system(), Gate::new());
    let (ref_sender, mut refs) = tokio::sync::mpsc::unbounded_channel();
    let mut spec = TreeSpec::new("parent")
        .child(TreeSpec::new("a").child(TreeSpec::new("aa")))
        .start(HookAction::Hold(gate.clone()));
    spec.ref_sender = Some(ref_sender);
    let spawn = system.spawn(TreeActor::factory(&journal, spec)).name("parent");
    let spawning = tokio::spawn(spawn.into_future());
    rule.soon("on_start runs", gate.reached()).await;
    refs.recv().await.unwrap().kill();
    let error = rule.soon("the spawn fails", spawning).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StartFailed);
    assert_eq!(system.actor_count(), 0);
    assert!(!journal.entries().iter().any(|entry| entry.contains("stop:")), "{journal:?}");
}

async fn drains_before_children(rule: RuleContext) {
    let (journal, system, gate) = (Journal::new(), rule.system(), Gate::new());
    let parent = TreeSpec::new("parent").child(TreeSpec::new("a")).spawn(&system, &journal).await;
    let child = child(&rule, &parent, "a").await;
    parent.tell(Hold(1, gate.clone())).unwrap();
    rule.soon("the parent is busy", gate.reached()).await;
    let (hold, asked) = (Gate::new(), Gate::new());
    asked.open();
    child.tell(Hold(2, hold.clone())).unwrap();
    child.tell(Note(3)).unwrap();
    let found = parent.ask(GetChild("a")).enqueue().unwrap();
    parent.drain();
    gate.open();
    assert_eq!(rule.soon("the queue is handled", found).await.unwrap(), Some(child.clone()));
    hold.open();
    assert!(matches!(rule.soon("the parent ends", parent.wait()).await.unwrap(), StopReason::Drained));
    assert!(matches!(child.stop_reason(), Some(StopReason::Drained)));
    let expected = [
        "parent held 1",
        "a held 2",
        "a 3",
        "a stop: drained, 0 children",
        "a drop",
        "parent stop: drained, 0 children",
        "parent drop",
    ];
    assert_eq!(journal.entries()[2..], expected);
    assert_eq!((system.actor_count(), system.dead_letter_count()), (0, 0));
}

async fn failure_stops_children(rule: RuleContext) {
    let stop = Supervision::one_for_one().always(Directive::Stop);
    for panics in [true, false] {
        let (journal, system) = (Journal::new(), rule.system());
        let spec = TreeSpec::new("parent").child(TreeSpec::new("a").child(TreeSpec::new("aa")));
        let spec = spec.on_error(Directive::Escalate).supervision(stop.clone());
        let parent = spec.spawn(&system, &journal).await;
        if panics {
            parent.tell(PanicWith("no")).unwrap()
        } else {
            parent.tell(Fail("no")).unwrap()
        }
        assert!(rule.soon("the parent ends", parent.wait()).await.unwrap().failure().is_some());
        let ends = ["aa stop: stopped, 0 children", "aa drop", "a stop: stopped, 0 children", "a drop"];
        let last: &[&str] =
            if panics { &["parent drop"] } else { &["parent stop: Failed, 0 children", "parent drop"] };
        let begin = journal.len() - ends.len() - last.len();
        assert_eq!(journal.entries()[begin..], [&ends, last].concat());
        assert_eq!(system.actor_count(), 0);
    }
    let (journal, system) = (Journal::new(), rule.system());
    let spec = TreeSpec::new("parent").child(TreeSpec::new("a")).start(HookAction::Fail("no"));
    let spawned = system.spawn(TreeActor::new(&journal, spec)).await;
    assert_eq!(spawned.unwrap_err().kind(), ErrorKind::StartFailed);
    let expected = ["parent start", "a start", "a stop: stopped, 0 children", "a drop", "parent drop"];
    assert_eq!(journal.entries(), expected);
    assert_eq!(system.actor_count(), 0);
}

async fn restart_stops_children(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let parent = TreeSpec::new("parent")
        .child(TreeSpec::new("a").child(TreeSpec::new("aa")))
        .spawn(&system, &journal)
        .await;
    let old = child(&rule, &parent, "a").await;
    parent.tell(PanicWith("no")).unwrap();
    let new = child(&rule, &parent, "a").await;
    assert_ne!(old, new);
    assert!(matches!(old.stop_reason(), Some(StopReason::Stopped)));
    let expected = [
        "aa stop: stopped, 0 children",
        "aa drop",
        "a stop: stopped, 0 children",
        "a drop",
        "parent drop",
        "parent restart: Panicked",
        "a start",
        "aa start",
    ];
    assert_eq!(journal.entries()[3..], expected);
    assert_eq!(system.actor_count(), 3);
}

async fn native_kill(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let parent = TreeSpec::new("parent").spawn(&system, &journal).await;
    let line = chain(&rule, &parent, 3).await;
    rule.native_kill(&parent).await;
    for member in &line {
        assert!(matches!(rule.soon("all actors end", member.wait()).await.unwrap(), StopReason::Killed));
    }
    assert!(!journal.entries().iter().any(|entry| entry.contains("stop:")), "{journal:?}");
    assert_eq!(system.actor_count(), 0);
}

async fn native_stop(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let parent = TreeSpec::new("parent")
        .child(TreeSpec::new("a").child(TreeSpec::new("aa")))
        .spawn(&system, &journal)
        .await;
    rule.native_stop(&parent).await;
    let reason = rule.soon("the parent ends", parent.wait()).await.unwrap().to_string();
    let stop = |name: &str| [format!("{name} stop: {reason}, 0 children"), format!("{name} drop")];
    assert_eq!(journal.entries()[3..], [stop("aa"), stop("a"), stop("parent")].concat());
    assert_eq!(system.actor_count(), 0);
}

async fn runtime_dropped(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let (notes, inside) = (journal.clone(), system.clone());
    let parent = rule
        .on_dropped_runtime(move || async move {
            let spec = TreeSpec::new("parent").child(TreeSpec::new("a").child(TreeSpec::new("aa")));
            spec.spawn(&inside, &notes).await
        })
        .await;
    assert!(matches!(rule.soon("the parent has ended", parent.wait()).await.unwrap(), StopReason::Killed));
    rule.soon("all actors have ended", system.wait_all()).await.unwrap();
    assert_eq!(system.actor_count(), 0);
    assert_eq!(journal.entries().iter().filter(|entry| entry.ends_with("drop")).count(), 3);
    let weak = parent.downgrade();
    drop(parent);
    assert!(weak.upgrade().is_none(), "the ended parent is leaked");
}

async fn shutdown(rule: RuleContext) {
    let (journal, system, gate) = (Journal::new(), rule.system(), Gate::new());
    let service = system
        .spawn_service(TreeActor::factory(&journal, TreeSpec::new("service").child(TreeSpec::new("helper"))));
    let service = service.name("service").await.unwrap();
    assert!(system.get::<TreeActor>("service").is_none(), "a service is not a user actor");
    let parent = TreeSpec::new("parent").child(TreeSpec::new("a")).spawn(&system, &journal).await;
    let child = child(&rule, &parent, "a").await;
    let open = Gate::new();
    open.open();
    parent.tell(Hold(1, gate.clone())).unwrap();
    rule.soon("the parent is busy", gate.reached()).await;
    parent.tell(HoldAndAsk(open.clone(), child.clone())).unwrap();
    parent.tell(HoldAndAsk(open, service.clone())).unwrap();
    let closing = system.clone();
    let shutdown = tokio::spawn(async move { closing.shutdown().await });
    rule.let_idle().await;
    gate.open();
    rule.soon("the shutdown returns", shutdown).await.unwrap().unwrap();
    assert_eq!(system.actor_count(), 0);
    let expected = [
        "parent held 1",
        "a 0",
        "parent asked: 0",
        "service 0",
        "parent asked: 0",
        "a stop: drained, 0 children",
        "a drop",
        "parent stop: drained, 0 children",
        "parent drop",
        "helper stop: drained, 0 children",
        "helper drop",
        "service stop: drained, 0 children",
        "service drop",
    ];
    assert_eq!(journal.entries()[4..], expected);
}
