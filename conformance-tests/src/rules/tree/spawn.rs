//! Spawning children, and what the end of a child means to its parent.

use std::future::IntoFuture;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Actor, Context, Error, ErrorKind, Handler, Message, Outcome, StopReason, Supervision};

use crate::fixtures::hooks::{HookAction, Hooks};
use crate::fixtures::tree::{CountChildren, PrepareSpawn, SpawnChild, TreeActor, TreeSpec, child};
use crate::fixtures::worker::Worker;
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "TREE-09",
        Topic::Tree,
        &[(Topic::Tree, State::Idle), (Topic::Name, State::Idle)],
        "A name is unique among the children of one parent; the `NameTaken` error names both the child and the parent. The name is free as soon as the child has ended, and other parents and the top level have names of their own.",
        "A replacement can take the name of the actor that it replaces.",
        body!(names),
    ),
    Rule::must(
        "TREE-10",
        Topic::Tree,
        &[(Topic::Tree, State::Stopping), (Topic::Tree, State::Dead)],
        "Spawning a child of an actor that is stopping or has ended fails with `Stopped`, which names the parent.",
        "No actor would stop that child.",
        body!(too_late),
    ),
    Rule::must(
        "TREE-11",
        Topic::Tree,
        &[(Topic::Tree, State::Starting)],
        "A child that fails to start leaves nothing behind; its parent gets the error of the spawn and does not fail.",
        "The parent decides what a failed start means.",
        body!(start_fails),
    ),
    Rule::must(
        "TREE-12",
        Topic::Tree,
        &[(Topic::Tree, State::Starting)],
        "A child that is still starting when its parent ends is killed; the parent does not wait for it.",
        "The task that starts the child may never continue.",
        body!(unfinished),
    ),
    Rule::must(
        "TREE-17",
        Topic::Tree,
        &[(Topic::Tree, State::Idle)],
        "A child that ends by a stop, a drain or a kill is not a failure: its parent and its siblings continue.",
        "A child may end when its work is done.",
        body!(child_ends),
    ),
    Rule::must(
        "TREE-21",
        Topic::Tree,
        &[(Topic::Tree, State::Handling)],
        "A spawn that the failed instance created and that is awaited after the restart has begun fails with `Stopped`. A child that is still starting is killed, and its name is free for the new instance.",
        "A fresh instance begins without the children of the old one.",
        body!(late_child),
    ),
];

async fn names(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let one = TreeSpec::new("one").spawn(&system, &journal).await;
    let two = TreeSpec::new("two").spawn(&system, &journal).await;
    let first =
        rule.soon("the child is spawned", one.ask(SpawnChild(TreeSpec::new("a")))).await.unwrap().unwrap();
    rule.soon("the child of another parent is spawned", two.ask(SpawnChild(TreeSpec::new("a"))))
        .await
        .unwrap()
        .unwrap();
    let top = TreeSpec::new("a").spawn(&system, &journal).await;
    let error = rule
        .soon("the second spawn fails", one.ask(SpawnChild(TreeSpec::new("a"))))
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.get("actor"), error.get("parent")),
        (ErrorKind::NameTaken, Some("pekko://test/user/one/a"), Some("pekko://test/user/one"))
    );
    assert_eq!(rule.soon("the parent answers", one.ask(CountChildren())).await.unwrap(), 1);
    assert_eq!(system.get::<TreeActor>("a"), Some(top), "children are not found at the top level");
    for end in 0..3 {
        let child = child(&rule, &one, "a").await;
        match end {
            0 => child.stop(),
            1 => child.drain(),
            _ => child.kill(),
        }
        rule.soon("the child ends", child.wait()).await.unwrap();
        assert_ne!(
            rule.soon("the name is free", one.ask(SpawnChild(TreeSpec::new("a")))).await.unwrap().unwrap(),
            child
        );
    }
    assert!(first.is_alive() == Some(false));
}

async fn too_late(rule: RuleContext) {
    let (journal, system, gate) = (Journal::new(), rule.system(), Gate::new());
    let parent = TreeSpec::new("parent").stop(HookAction::Hold(gate.clone())).spawn(&system, &journal).await;
    let spawn = async || rule.soon("the spawn", parent.ask(PrepareSpawn(TreeSpec::new("a")))).await.unwrap();
    let (first, second) = (spawn().await, spawn().await);
    parent.stop();
    rule.soon("on_stop runs", gate.reached()).await;
    let refused = |error: dactor_core::Error| {
        assert_eq!(
            (error.kind(), error.get("parent")),
            (ErrorKind::Stopped, Some("pekko://test/user/parent")),
            "{error}"
        );
    };
    refused(first.await.unwrap_err());
    gate.open();
    rule.soon("the parent ends", parent.wait()).await.unwrap();
    refused(second.await.unwrap_err());
    assert_eq!((system.actor_count(), journal.count("a start")), (0, 0));
}

async fn start_fails(rule: RuleContext) {
    for action in [HookAction::Fail("no"), HookAction::Panic("no")] {
        let (journal, system) = (Journal::new(), rule.system());
        let parent = TreeSpec::new("parent").spawn(&system, &journal).await;
        let spec = TreeSpec::new("a").child(TreeSpec::new("aa")).start(action);
        let error = rule.soon("the spawn fails", parent.ask(SpawnChild(spec))).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StartFailed);
        assert_eq!(rule.soon("the parent answers", parent.ask(CountChildren())).await.unwrap(), 0);
        assert_eq!(system.actor_count(), 1);
        rule.soon("the name is free", parent.ask(SpawnChild(TreeSpec::new("a")))).await.unwrap().unwrap();
        assert_eq!(journal.count("parent restart: Panicked"), 0);
        assert_eq!(journal.entries()[3..6], ["aa stop: stopped, 0 children", "aa drop", "a drop"]);
    }
}

async fn unfinished(rule: RuleContext) {
    let (journal, system, gate) = (Journal::new(), rule.system(), Gate::new());
    let parent = TreeSpec::new("parent").spawn(&system, &journal).await;
    let spec = TreeSpec::new("a").start(HookAction::Hold(gate.clone()));
    let spawn = rule.soon("the spawn is prepared", parent.ask(PrepareSpawn(spec.clone()))).await.unwrap();
    let spawning = tokio::spawn(spawn.into_future());
    rule.soon("the child starts", gate.reached()).await;
    parent.stop();
    assert!(matches!(rule.soon("the parent ends", parent.wait()).await.unwrap(), StopReason::Stopped));
    let error = rule.soon("the spawn fails", spawning).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StartFailed);
    assert_eq!((system.actor_count(), journal.count("a drop")), (0, 1));

    // A spawn that is no longer polled.
    let parent = TreeSpec::new("parent").spawn(&system, &journal).await;
    let spawn = rule
        .soon(
            "the spawn is prepared",
            parent.ask(PrepareSpawn(TreeSpec::new("b").start(HookAction::Hold(Gate::new())))),
        )
        .await
        .unwrap();
    let mut spawning = spawn.into_future();
    assert!(futures_util::poll!(&mut spawning).is_pending());
    parent.stop();
    rule.soon("the parent ends", parent.wait()).await.unwrap();
    drop(spawning);
    assert_eq!(system.actor_count(), 0);
}

async fn child_ends(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let spec =
        TreeSpec::new("parent").child(TreeSpec::new("a")).child(TreeSpec::new("b")).child(TreeSpec::new("c"));
    let spec = spec.child(TreeSpec::new("d").supervision(Supervision::all_for_one()));
    let parent = spec.spawn(&system, &journal).await;
    for (count, name) in [(3, "a"), (2, "b"), (1, "c")] {
        let child = child(&rule, &parent, name).await;
        match name {
            "a" => child.stop(),
            "b" => child.drain(),
            _ => child.kill(),
        }
        rule.soon("the child ends", child.wait()).await.unwrap();
        assert_eq!(rule.soon("the parent answers", parent.ask(CountChildren())).await.unwrap(), count);
    }
    assert_eq!(system.actor_count(), 2);
    assert!(!journal.entries().iter().any(|entry| entry.contains("restart")), "{journal:?}");
}

/// Spawns children in tasks that outlive the instance.
struct SlowSpawner {
    first: bool,
    journal: Journal,
    gate: Gate,
    held: Gate,
}

impl Actor for SlowSpawner {
    async fn on_restart(&mut self, _: &Error, ctx: &mut Context<Self>) -> Outcome<()> {
        self.first = false;
        // The names are free, whatever the old instance has begun.
        ctx.spawn(Worker::new(&Journal::new())).name("starting").await?;
        ctx.spawn(Worker::new(&Journal::new())).name("late").await?;
        self.journal.note(format!("{} children", ctx.child_count()));
        Ok(())
    }
}

struct SpawnAndFail;

impl Message for SpawnAndFail {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

impl Handler<SpawnAndFail> for SlowSpawner {
    async fn handle(&mut self, _: SpawnAndFail, ctx: &mut Context<Self>) -> Outcome<()> {
        let hooks = Hooks { start: HookAction::Hold(self.held.clone()), ..Hooks::default() };
        let starting = ctx.spawn(Worker::with(&Journal::new(), hooks)).name("starting");
        let journal = self.journal.clone();
        tokio::spawn(async move {
            journal.note(format!("starting {:?}", starting.await.map_err(|e| e.kind()).err()))
        });
        self.held.reached().await;
        let (late, gate, journal) =
            (ctx.spawn(Worker::new(&Journal::new())).name("other"), self.gate.clone(), self.journal.clone());
        tokio::spawn(async move {
            gate.pass().await;
            let error = late.await.expect_err("its parent was restarted");
            journal.note(format!("late {:?} {}", error.kind(), error.get("parent").is_some()));
        });
        panic!("restart me");
    }
}

async fn late_child(rule: RuleContext) {
    let (system, journal, gate, held) = (rule.system(), Journal::new(), Gate::new(), Gate::new());
    let made = (journal.clone(), gate.clone(), held.clone());
    let factory = move || SlowSpawner {
        first: true,
        journal: made.0.clone(),
        gate: made.1.clone(),
        held: made.2.clone(),
    };
    let parent = system.spawn(factory).await.unwrap();
    parent.tell(SpawnAndFail).unwrap();
    rule.soon("the actor is restarted", journal.wait_for("2 children")).await;
    gate.open();
    rule.soon("the late spawn is refused", journal.wait_for("late Stopped true")).await;
    held.open();
    rule.soon("the starting child is killed", journal.wait_for("starting Some(StartFailed)")).await;
    assert_eq!(system.actor_count(), 3);
}
