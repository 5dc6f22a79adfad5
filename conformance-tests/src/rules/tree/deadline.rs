//! Children that do not end in time.

use std::time::Duration;

use dactor_core::StopReason;
use dactor_core::testkit::{Gate, Journal};

use crate::fixtures::hooks::HookAction;
use crate::fixtures::tree::{HoldAndAsk, TreeSpec, child};
use crate::fixtures::worker::{Note, PanicWith};
use crate::rules::body;
use crate::{Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "TREE-13",
        Topic::Tree,
        &[(Topic::Tree, State::Handling)],
        "A child that waits for the reply of its restarting parent is killed after three quarters of the system's grace period, and the restart continues.",
        "A deadlock between parent and child must end.",
        body!(waits_for_restarting),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "TREE-14",
        Topic::Tree,
        &[(Topic::Tree, State::Stopping)],
        "A child that asks its stopping parent is refused at once and runs its `on_stop`.",
        "The parent handles no more messages, and the child learns that.",
        body!(asks_stopping),
    ),
    Rule::must(
        "TREE-15",
        Topic::Tree,
        &[(Topic::Tree, State::Stopping)],
        "A child whose `on_stop` hangs is killed after three quarters of the system's grace period; then the parent's `on_stop` runs.",
        "A hanging actor must not block the rest of the tree.",
        body!(child_hangs),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "TREE-18",
        Topic::Tree,
        &[(Topic::Tree, State::Stopping)],
        "Where several levels wait for a hanging actor, only the hanging actor is killed; its ancestors run `on_stop`.",
        "A hanging actor must not cost other actors their hooks.",
        body!(hangs_deep),
    )
    .runtime(RuntimeMode::DrivenClock),
];

const GRACE: Duration = Duration::from_secs(4);
const TICK: Duration = Duration::from_millis(1);

async fn waits_for_restarting(mut rule: RuleContext) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let system = rule.builder().grace(GRACE).build().unwrap();
    let parent = TreeSpec::new("parent").child(TreeSpec::new("a")).spawn(&system, &journal).await;
    let child = child(&rule, &parent, "a").await;
    child.tell(HoldAndAsk(gate.clone(), parent.clone())).unwrap();
    gate.reached().await;
    parent.tell(PanicWith("no")).unwrap();
    gate.open();
    rule.clock().advance(GRACE / 4 * 3 - TICK).await;
    assert!(
        child.is_alive() == Some(true) && journal.count("parent restart: Panicked") == 0,
        "too early: {journal:?}"
    );
    rule.clock().advance(TICK).await;
    assert!(matches!(child.stop_reason(), Some(StopReason::Killed)));
    assert_eq!(parent.ask(Note(1)).await.unwrap(), 1);
    assert_eq!(journal.count("a stop: stopped, 0 children"), 0);
    assert_eq!(journal.count("parent restart: Panicked"), 1);
    assert_eq!(system.actor_count(), 2);
}

async fn asks_stopping(rule: RuleContext) {
    let (journal, system, gate) = (Journal::new(), rule.system(), Gate::new());
    let parent = TreeSpec::new("parent").child(TreeSpec::new("a")).spawn(&system, &journal).await;
    let child = child(&rule, &parent, "a").await;
    child.tell(HoldAndAsk(gate.clone(), parent.clone())).unwrap();
    rule.soon("the child is busy", gate.reached()).await;
    parent.stop();
    gate.open();
    rule.soon("the parent ends", parent.wait()).await.unwrap();
    let expected = [
        "a asked: Stopped",
        "a stop: stopped, 0 children",
        "a drop",
        "parent stop: stopped, 0 children",
        "parent drop",
    ];
    assert_eq!(journal.entries()[2..], expected);
}

async fn child_hangs(mut rule: RuleContext) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let system = rule.builder().grace(GRACE).build().unwrap();
    let spec = TreeSpec::new("parent")
        .child(TreeSpec::new("a").stop(HookAction::Hold(gate.clone())))
        .child(TreeSpec::new("b"));
    let parent = spec.spawn(&system, &journal).await;
    let child = child(&rule, &parent, "a").await;
    parent.stop();
    gate.reached().await;
    rule.clock().advance(GRACE / 4 * 3 - TICK).await;
    assert!(child.is_alive() == Some(true), "killed too early");
    rule.clock().advance(TICK).await;
    assert!(matches!(child.stop_reason(), Some(StopReason::Killed)));
    assert!(matches!(parent.stop_reason(), Some(StopReason::Stopped)), "a hanging child is not a failure");
    assert_eq!(journal.count("b stop: stopped, 0 children"), 1);
    assert_eq!(journal.entries()[journal.len() - 2..], ["parent stop: stopped, 0 children", "parent drop"]);
    assert_eq!(system.actor_count(), 0);
}

async fn hangs_deep(mut rule: RuleContext) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let system = rule.builder().grace(GRACE).build().unwrap();
    let leaf = TreeSpec::new("leaf").stop(HookAction::Hold(gate.clone()));
    let spec = TreeSpec::new("top").child(TreeSpec::new("upper").child(TreeSpec::new("lower").child(leaf)));
    let top = spec.spawn(&system, &journal).await;
    top.stop();
    gate.reached().await;
    // In steps, so that every level observes its own deadline.
    for _ in 0..8 {
        rule.clock().advance(GRACE / 8).await;
    }
    let rest = ["lower", "upper", "top"]
        .map(|name| [format!("{name} stop: stopped, 0 children"), format!("{name} drop")]);
    let expected =
        [vec!["leaf stop: stopped, 0 children".to_owned(), "leaf drop".to_owned()], rest.concat()].concat();
    assert_eq!(journal.entries()[4..], expected);
    assert!(matches!(top.stop_reason(), Some(StopReason::Stopped)));
    assert_eq!(system.actor_count(), 0);
}
