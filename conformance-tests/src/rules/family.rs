//! Parents and children.

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Actor, Context, ErrorKind, Handler, Message, Outcome, StopReason};

use super::body;
use crate::actors::{Boom, Hold, Hooks, Note, Worker};
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "TREE-01",
        Topic::Tree,
        &[(Topic::Tree, State::Idle), (Topic::Tree, State::Stopped)],
        "An actor that stops stops its children first, with their hooks: they have ended when its `on_stop` runs.",
        "A parent may rely on its children to the end, and must not leave them behind.",
        body!(children_first),
    ),
    Rule::must(
        "TREE-02",
        Topic::Tree,
        &[(Topic::Tree, State::Killed)],
        "A kill kills the descendants: none of them runs its `on_stop`, and none lives when the killed one has ended.",
        "No orphan is left.",
        body!(kill_kills_descendants),
    ),
];

/// Has children.
pub(super) struct Parent {
    pub(super) journal: Journal,
    pub(super) name: &'static str,
}

impl Parent {
    pub(super) fn new(journal: &Journal, name: &'static str) -> Self {
        journal.note(format!("{name} made"));
        Self { journal: journal.clone(), name }
    }
}

impl Actor for Parent {
    async fn on_stop(&mut self, reason: &StopReason, ctx: &mut Context<Self>) -> Outcome<()> {
        self.journal.note(format!("{} stop: {reason}, {} children", self.name, ctx.children()));
        Ok(())
    }
}

/// Have a child of this name, and give its ref.
pub(super) struct Bear(pub(super) &'static str, pub(super) Hooks);

impl Message for Bear {
    type Reply = dactor_core::ActorRef<Worker>;
}

impl Handler<Bear> for Parent {
    async fn handle(
        &mut self,
        Bear(name, hooks): Bear,
        ctx: &mut Context<Self>,
    ) -> Outcome<dactor_core::ActorRef<Worker>> {
        Ok(ctx.spawn(Worker::factory(&self.journal, hooks)).name(name).await?)
    }
}

async fn children_first(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let parent = system.spawn(Parent::new(&journal, "parent")).await.unwrap();
    let child = lab.soon("a child", parent.ask(Bear("a", Hooks::default()))).await.unwrap();
    let gate = Gate::new();
    child.tell(Hold(1, gate.clone())).unwrap();
    lab.soon("the child is busy", gate.reached()).await;
    parent.stop();
    gate.open();
    lab.soon("the parent ends", parent.wait()).await;
    assert!(!child.is_alive());
    assert_eq!(
        journal.entries(),
        [
            "parent made",
            "make",
            "start",
            "hold 1",
            "held 1",
            "stop: stopped",
            "drop",
            "parent stop: stopped, 0 children"
        ]
    );
    assert_eq!(system.live(), 0);
    let _ = (Boom("x"), Note(1), ErrorKind::Stopped);
}

async fn kill_kills_descendants(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let parent = system.spawn(Parent::new(&journal, "parent")).await.unwrap();
    let child = lab.soon("a child", parent.ask(Bear("a", Hooks::default()))).await.unwrap();
    parent.kill();
    assert!(matches!(lab.soon("the parent ends", parent.wait()).await, StopReason::Killed));
    assert!(matches!(child.stop_reason(), Some(StopReason::Killed)));
    assert_eq!(journal.entries(), ["parent made", "make", "start", "drop"]);
    assert_eq!(system.live(), 0);
}
