//! Actors that are restarted together, in every state.

use std::future::IntoFuture;
use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Backoff, Directive, StopReason, Supervision};

use crate::fixtures::hooks::HookAction;
use crate::fixtures::tree::{
    CountChildren, PrepareSpawn, SpawnChild, TreeActor, TreeSpec, Watch, child, ending,
};
use crate::fixtures::worker::{Count, Hold, HoldAndPanic, Note, PanicWith};
use crate::rules::body;
use crate::{Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "SUPER-14",
        Topic::Supervision,
        &[(Topic::Supervision, State::Handling), (Topic::Supervision, State::Idle)],
        "A restart, of the failed actor or of a sibling that is restarted with it, keeps reference, id, name, queue, pending `wait` calls and watchers. The sibling finishes its current message first. Children are stopped and run their hooks.",
        "A restart loses only the actor's state.",
        body!(kept),
    ),
    Rule::must(
        "SUPER-15",
        Topic::Supervision,
        &[(Topic::Supervision, State::Handling)],
        "When two actors of a group fail at the same time, each is restarted once, and the restart budget is charged once.",
        "The restart for the first failure also repairs the second one.",
        body!(at_once),
    ),
    Rule::must(
        "SUPER-16",
        Topic::Supervision,
        &[(Topic::Supervision, State::Starting), (Topic::Supervision, State::Stopping)],
        "A sibling that is starting is restarted after it has started; a sibling that is stopping ends as requested.",
        "A group restart neither revives an ending actor nor misses a starting one.",
        body!(starting_and_stopping),
    ),
    Rule::must(
        "SUPER-17",
        Topic::Supervision,
        &[(Topic::Supervision, State::Handling)],
        "A sibling that waits for its restart backoff is restarted once.",
        "Its next instance begins after the other failure anyway.",
        body!(backing_off),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "SUPER-18",
        Topic::Supervision,
        &[
            (Topic::Supervision, State::Stopped),
            (Topic::Supervision, State::Drained),
            (Topic::Supervision, State::Killed),
        ],
        "An actor that fails after it was asked to stop is not restarted. A draining actor is restarted and handles its remaining messages. A killed actor ends as killed.",
        "A requested end takes place, with its guarantees.",
        body!(asked_to_end),
    ),
    Rule::must(
        "SUPER-19",
        Topic::Supervision,
        &[(Topic::Supervision, State::Stopping)],
        "A stopping parent ends as requested, even if a child fails and escalates meanwhile.",
        "A stopping parent needs no repair.",
        body!(escalates_to_stopping),
    ),
    Rule::must(
        "SUPER-20",
        Topic::Supervision,
        &[(Topic::Supervision, State::Idle)],
        "Two children that escalate at the same time restart their parent once.",
        "Both children end with the parent's old instance.",
        body!(two_escalate),
    ),
];

async fn kept(rule: RuleContext) {
    let (journal, system, gate) = (Journal::new(), rule.system(), Gate::new());
    let together = Supervision::all_for_one();
    let spec = TreeSpec::new("parent")
        .child(TreeSpec::new("a").child(TreeSpec::new("aa")))
        .child(TreeSpec::new("b").supervision(together).child(TreeSpec::new("bb")));
    let parent = spec.spawn(&system, &journal).await;
    let watcher = TreeSpec::new("watcher").spawn(&system, &journal).await;
    let (a, b) = (child(&rule, &parent, "a").await, child(&rule, &parent, "b").await);
    for target in [&a, &b] {
        rule.soon("the watch begins", watcher.ask(Watch(target.clone()))).await.unwrap();
    }
    let ids = (a.id(), b.id());
    let waiting = (a.clone(), b.clone());
    let waiters =
        tokio::spawn(async move { (waiting.0.wait().await.unwrap(), waiting.1.wait().await.unwrap()) });
    let held = a.ask(Hold(1, gate.clone())).enqueue().unwrap();
    rule.soon("a is busy", gate.reached()).await;
    a.tell(Note(2)).unwrap();
    let (hold, open) = (Gate::new(), a.ask(Count()).enqueue().unwrap());
    b.tell(Hold(3, hold.clone())).unwrap();
    rule.soon("b is busy", hold.reached()).await;
    b.tell(PanicWith("no")).unwrap();
    b.tell(Note(4)).unwrap();
    let last = b.ask(Count()).enqueue().unwrap();
    hold.open();
    assert_eq!(rule.soon("b keeps its queue", last).await.unwrap(), 1);
    assert_eq!(journal.count("a restart: Panicked"), 0, "its handler has not finished");
    gate.open();
    assert_eq!(rule.soon("the current message is handled", held).await.unwrap(), 1);
    assert_eq!(rule.soon("a keeps its queue", open).await.unwrap(), 1, "a new instance that has handled 2");
    let of_a: Vec<_> = journal
        .entries()
        .into_iter()
        .filter(|entry| entry.starts_with("a ") || entry.starts_with("aa "))
        .collect();
    let expected = [
        "a start",
        "aa start",
        "a held 1",
        "aa stop: stopped, 0 children",
        "aa drop",
        "a drop",
        "a restart: Panicked",
        "aa start",
        "a 2",
    ];
    assert_eq!(of_a, expected);
    assert_eq!((child(&rule, &parent, "a").await, child(&rule, &parent, "b").await), (a.clone(), b.clone()));
    assert_eq!((a.id(), b.id()), ids);
    assert!(!waiters.is_finished());
    a.stop();
    b.kill();
    let (of_a, of_b) = rule.soon("`wait` returns", waiters).await.unwrap();
    assert_eq!((ending(&of_a), ending(&of_b)), ("stopped".into(), "killed".into()));
    rule.soon("the watcher is notified", journal.wait_for("watcher terminated a: stopped")).await;
    rule.soon("the watcher is notified", journal.wait_for("watcher terminated b: killed")).await;
    assert_eq!(system.dead_letter_count(), 0);
}

async fn at_once(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let (one, two) = (Gate::new(), Gate::new());
    let once = Supervision::all_for_one().budget(1, Duration::from_secs(600));
    let spec = ["a", "b", "c"].into_iter().fold(TreeSpec::new("parent"), |spec, name| {
        spec.child(TreeSpec::new(name).supervision(once.clone()))
    });
    let parent = spec.spawn(&system, &journal).await;
    let (a, b, c) = (
        child(&rule, &parent, "a").await,
        child(&rule, &parent, "b").await,
        child(&rule, &parent, "c").await,
    );
    a.tell(HoldAndPanic(one.clone(), "first")).unwrap();
    b.tell(HoldAndPanic(two.clone(), "second")).unwrap();
    rule.soon("a is busy", one.reached()).await;
    rule.soon("b is busy", two.reached()).await;
    one.open();
    assert_eq!(rule.soon("a is restarted", a.ask(Note(1))).await.unwrap(), 1);
    two.open();
    for member in [&b, &c, &a] {
        rule.soon("all actors continue", member.ask(Note(2))).await.unwrap();
    }
    for name in ["a", "b", "c"] {
        assert_eq!(journal.count(&format!("{name} restart: Panicked")), 1, "{name}: {journal:?}");
    }
    assert!(parent.is_alive() == Some(true));
}

async fn starting_and_stopping(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let (slow, last) = (Gate::new(), Gate::new());
    let spec = TreeSpec::new("parent")
        .child(TreeSpec::new("a").supervision(Supervision::all_for_one()))
        .child(TreeSpec::new("stopping").stop(HookAction::Hold(last.clone())));
    let parent = spec.spawn(&system, &journal).await;
    let (a, stopping) = (child(&rule, &parent, "a").await, child(&rule, &parent, "stopping").await);
    let spawn = parent.ask(PrepareSpawn(TreeSpec::new("starting").start(HookAction::Hold(slow.clone()))));
    let spawning = tokio::spawn(rule.soon("the spawn is prepared", spawn).await.unwrap().into_future());
    rule.soon("on_start runs", slow.reached()).await;
    stopping.stop();
    rule.soon("on_stop runs", last.reached()).await;
    a.tell(PanicWith("no")).unwrap();
    rule.soon("a is restarted", a.ask(Note(1))).await.unwrap();
    slow.open();
    last.open();
    let starting = rule.soon("the actor has started", spawning).await.unwrap().unwrap();
    rule.soon("the actor answers", starting.ask(Note(2))).await.unwrap();
    assert_eq!(ending(&rule.soon("the other actor ends", stopping.wait()).await.unwrap()), "stopped");
    let of = |name: &str| {
        let own = journal.entries().into_iter().filter(|entry| entry.starts_with(name));
        own.map(|entry| entry[name.len() + 1..].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(of("starting"), ["start", "drop", "restart: Panicked", "2"]);
    assert_eq!(of("stopping"), ["start", "stop: stopped, 0 children", "drop"]);
}

const SECOND: Duration = Duration::from_secs(1);

async fn backing_off(mut rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let slowly = Backoff::exponential(10 * SECOND, 10 * SECOND).jitter(0.0);
    let spec = TreeSpec::new("parent")
        .child(TreeSpec::new("a").supervision(Supervision::one_for_one().backoff(slowly)))
        .child(TreeSpec::new("b").supervision(Supervision::all_for_one()));
    let parent = spec.spawn(&system, &journal).await;
    let (a, b) = (child(&rule, &parent, "a").await, child(&rule, &parent, "b").await);
    a.tell(PanicWith("no")).unwrap();
    rule.clock().advance(SECOND).await;
    assert_eq!(journal.count("a drop"), 1);
    b.tell(PanicWith("no")).unwrap();
    assert_eq!(b.ask(Note(1)).await.unwrap(), 1);
    rule.clock().advance(9 * SECOND).await;
    assert_eq!(a.ask(Note(2)).await.unwrap(), 2);
    assert_eq!(journal.count("a restart: Panicked"), 1, "{journal:?}");
}

async fn asked_to_end(rule: RuleContext) {
    for end in ["stop", "drain", "kill"] {
        let (journal, system, gate) = (Journal::new(), rule.system(), Gate::new());
        let parent = TreeSpec::new("parent").child(TreeSpec::new("a")).spawn(&system, &journal).await;
        let a = child(&rule, &parent, "a").await;
        a.tell(HoldAndPanic(gate.clone(), "no")).unwrap();
        rule.soon("a is busy", gate.reached()).await;
        a.tell(Note(1)).unwrap();
        match end {
            "stop" => a.stop(),
            "drain" => a.drain(),
            _ => a.kill(),
        }
        gate.open();
        let reason = rule.soon("the actor ends", a.wait()).await.unwrap();
        let (expected, entries): (_, &[&str]) = match end {
            "stop" => ("stopped", &["a drop"]),
            "drain" => (
                "drained",
                &["a drop", "a restart: Panicked", "a 1", "a stop: drained, 0 children", "a drop"],
            ),
            _ => ("killed", &["a drop"]),
        };
        assert_eq!(ending(&reason), expected);
        assert_eq!(journal.entries()[2..], *entries, "{end}");
        assert_eq!(rule.soon("the parent continues", parent.ask(CountChildren())).await.unwrap(), 0);
    }
}

async fn escalates_to_stopping(rule: RuleContext) {
    let (journal, system, gate) = (Journal::new(), rule.system(), Gate::new());
    let spec = TreeSpec::new("a").supervision(Supervision::one_for_one().always(Directive::Escalate));
    let parent = TreeSpec::new("parent").child(spec).child(TreeSpec::new("b")).spawn(&system, &journal).await;
    let a = child(&rule, &parent, "a").await;
    a.tell(HoldAndPanic(gate.clone(), "no")).unwrap();
    rule.soon("a is busy", gate.reached()).await;
    parent.stop();
    rule.soon("the other child ends", journal.wait_for("b drop")).await;
    gate.open();
    assert!(matches!(rule.soon("the parent ends", parent.wait()).await.unwrap(), StopReason::Stopped));
    assert_eq!(ending(&a.stop_reason().unwrap()), "Panicked");
    assert_eq!(journal.count("parent stop: stopped, 0 children"), 1);
    assert_eq!((journal.count("parent restart: ChildFailed"), system.actor_count()), (0, 0));
}

async fn two_escalate(rule: RuleContext) {
    let (journal, system, gate) = (Journal::new(), rule.system(), Gate::new());
    let parent = TreeSpec::new("parent").spawn(&system, &journal).await;
    let mut children: Vec<ActorRef<TreeActor>> = Vec::new();
    for name in ["a", "b"] {
        let spec = TreeSpec::new(name).supervision(Supervision::one_for_one().always(Directive::Escalate));
        children
            .push(rule.soon("the child is spawned", parent.ask(SpawnChild(spec))).await.unwrap().unwrap());
    }
    parent.tell(Hold(1, gate.clone())).unwrap();
    rule.soon("the parent is busy", gate.reached()).await;
    for child in &children {
        child.tell(PanicWith("no")).unwrap();
        assert_eq!(ending(&rule.soon("the actor ends", child.wait()).await.unwrap()), "Panicked");
    }
    gate.open();
    assert_eq!(rule.soon("the parent continues", parent.ask(CountChildren())).await.unwrap(), 0);
    assert_eq!(journal.count("parent restart: ChildFailed"), 1, "{journal:?}");
}
