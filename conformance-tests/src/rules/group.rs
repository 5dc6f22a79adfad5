//! Actors that are restarted together, and what else may happen to them at that moment.

use std::future::IntoFuture;
use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Backoff, Directive, StopReason, Supervision};

use super::body;
use super::family::child;
use super::member::{Bear, Children, Delegate, Member, Plan, Watch, ending};
use crate::actors::{Act, Boom, Count, Hold, HoldAndBoom, Note};
use crate::{Lab, Pace, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "SUPER-14",
        Topic::Supervision,
        &[(Topic::Supervision, State::Handling), (Topic::Supervision, State::Idle)],
        "A restart, of the failed one or of one that shares its fate, keeps ref, id, name, queue, waiters and watchers; the message in hand of the latter is finished first; children are stopped with their hooks.",
        "Whoever is restarted with another has lost only its state.",
        body!(kept),
    ),
    Rule::must(
        "SUPER-15",
        Topic::Supervision,
        &[(Topic::Supervision, State::Handling)],
        "Of two that fail at once each is restarted once, and the budget is charged once.",
        "The second failure is repaired by the restart that the first one brought.",
        body!(at_once),
    ),
    Rule::must(
        "SUPER-16",
        Topic::Supervision,
        &[(Topic::Supervision, State::Starting), (Topic::Supervision, State::Stopping)],
        "A sibling that is starting is restarted when it has started; one that is stopping ends as it was asked to.",
        "A restart begins no life that is not wanted, and misses none.",
        body!(starting_and_stopping),
    ),
    Rule::must(
        "SUPER-17",
        Topic::Supervision,
        &[(Topic::Supervision, State::Handling)],
        "A sibling that waits to be restarted anyway is restarted once.",
        "Its next instance begins after the other's failure, whoever caused it.",
        body!(backing_off),
    )
    .pace(Pace::Driven),
    Rule::must(
        "SUPER-18",
        Topic::Supervision,
        &[
            (Topic::Supervision, State::Stopped),
            (Topic::Supervision, State::Drained),
            (Topic::Supervision, State::Killed),
        ],
        "An actor that fails when it has been asked to stop is not restarted; one that drains is, and handles the rest; one that is killed ends as killed.",
        "An end that was asked for comes, with what it promises.",
        body!(asked_to_end),
    ),
    Rule::must(
        "SUPER-19",
        Topic::Supervision,
        &[(Topic::Supervision, State::Stopping)],
        "A parent that is stopping ends as it was asked to, though a child fails meanwhile and escalates.",
        "There is nothing left to repair.",
        body!(escalates_to_stopping),
    ),
    Rule::must(
        "SUPER-20",
        Topic::Supervision,
        &[(Topic::Supervision, State::Idle)],
        "Two children that escalate at once restart their parent once.",
        "Both are gone with its old instance.",
        body!(two_escalate),
    ),
];

async fn kept(lab: Lab) {
    let (journal, system, gate) = (Journal::new(), lab.system(), Gate::new());
    let together = Supervision::all_for_one();
    let plan = Plan::new("parent")
        .child(Plan::new("a").child(Plan::new("aa")))
        .child(Plan::new("b").supervision(together).child(Plan::new("bb")));
    let parent = plan.spawn(&system, &journal).await;
    let watcher = Plan::new("watcher").spawn(&system, &journal).await;
    let (a, b) = (child(&lab, &parent, "a").await, child(&lab, &parent, "b").await);
    for target in [&a, &b] {
        lab.soon("it is watched", watcher.ask(Watch(target.clone()))).await.unwrap();
    }
    let ids = (a.id(), b.id());
    let waiting = (a.clone(), b.clone());
    let waiters =
        tokio::spawn(async move { (waiting.0.wait().await.unwrap(), waiting.1.wait().await.unwrap()) });
    let held = a.ask(Hold(1, gate.clone())).enqueue().unwrap();
    lab.soon("a is busy", gate.reached()).await;
    a.tell(Note(2)).unwrap();
    let (hold, open) = (Gate::new(), a.ask(Count()).enqueue().unwrap());
    b.tell(Hold(3, hold.clone())).unwrap();
    lab.soon("b is busy", hold.reached()).await;
    b.tell(Boom("no")).unwrap();
    b.tell(Note(4)).unwrap();
    let last = b.ask(Count()).enqueue().unwrap();
    hold.open();
    assert_eq!(lab.soon("b keeps its queue", last).await.unwrap(), 1);
    assert_eq!(journal.count("a restart: Panicked"), 0, "its handler is not finished");
    gate.open();
    assert_eq!(lab.soon("the message in hand is finished", held).await.unwrap(), 1);
    assert_eq!(lab.soon("a keeps its queue", open).await.unwrap(), 1, "a new instance that has handled 2");
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
    assert_eq!((child(&lab, &parent, "a").await, child(&lab, &parent, "b").await), (a.clone(), b.clone()));
    assert_eq!((a.id(), b.id()), ids);
    assert!(!waiters.is_finished());
    a.stop();
    b.kill();
    let (of_a, of_b) = lab.soon("the waiters are told", waiters).await.unwrap();
    assert_eq!((ending(&of_a), ending(&of_b)), ("stopped".into(), "killed".into()));
    lab.soon("the watcher is told", journal.wait_for("watcher terminated a: stopped")).await;
    lab.soon("the watcher is told", journal.wait_for("watcher terminated b: killed")).await;
    assert_eq!(system.dead_letters(), 0);
}

async fn at_once(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let (one, two) = (Gate::new(), Gate::new());
    let once = Supervision::all_for_one().budget(1, Duration::from_secs(600));
    let plan = ["a", "b", "c"]
        .into_iter()
        .fold(Plan::new("parent"), |plan, name| plan.child(Plan::new(name).supervision(once.clone())));
    let parent = plan.spawn(&system, &journal).await;
    let (a, b, c) =
        (child(&lab, &parent, "a").await, child(&lab, &parent, "b").await, child(&lab, &parent, "c").await);
    a.tell(HoldAndBoom(one.clone(), "first")).unwrap();
    b.tell(HoldAndBoom(two.clone(), "second")).unwrap();
    lab.soon("a is busy", one.reached()).await;
    lab.soon("b is busy", two.reached()).await;
    one.open();
    assert_eq!(lab.soon("a is restarted", a.ask(Note(1))).await.unwrap(), 1);
    two.open();
    for member in [&b, &c, &a] {
        lab.soon("all go on", member.ask(Note(2))).await.unwrap();
    }
    for name in ["a", "b", "c"] {
        assert_eq!(journal.count(&format!("{name} restart: Panicked")), 1, "{name}: {journal:?}");
    }
    assert!(parent.is_alive());
}

async fn starting_and_stopping(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let (slow, last) = (Gate::new(), Gate::new());
    let plan = Plan::new("parent")
        .child(Plan::new("a").supervision(Supervision::all_for_one()))
        .child(Plan::new("stopping").stop(Act::Hold(last.clone())));
    let parent = plan.spawn(&system, &journal).await;
    let (a, stopping) = (child(&lab, &parent, "a").await, child(&lab, &parent, "stopping").await);
    let spawn = parent.ask(Delegate(Plan::new("starting").start(Act::Hold(slow.clone()))));
    let spawning = tokio::spawn(lab.soon("a spawn", spawn).await.unwrap().into_future());
    lab.soon("on_start runs", slow.reached()).await;
    stopping.stop();
    lab.soon("on_stop runs", last.reached()).await;
    a.tell(Boom("no")).unwrap();
    lab.soon("a is restarted", a.ask(Note(1))).await.unwrap();
    slow.open();
    last.open();
    let starting = lab.soon("it has started", spawning).await.unwrap().unwrap();
    lab.soon("it answers", starting.ask(Note(2))).await.unwrap();
    assert_eq!(ending(&lab.soon("the other ends", stopping.wait()).await.unwrap()), "stopped");
    let of = |name: &str| {
        let own = journal.entries().into_iter().filter(|entry| entry.starts_with(name));
        own.map(|entry| entry[name.len() + 1..].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(of("starting"), ["start", "drop", "restart: Panicked", "2"]);
    assert_eq!(of("stopping"), ["start", "stop: stopped, 0 children", "drop"]);
}

const SECOND: Duration = Duration::from_secs(1);

async fn backing_off(mut lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let slowly = Backoff::exponential(10 * SECOND, 10 * SECOND).jitter(0.0);
    let plan = Plan::new("parent")
        .child(Plan::new("a").supervision(Supervision::one_for_one().backoff(slowly)))
        .child(Plan::new("b").supervision(Supervision::all_for_one()));
    let parent = plan.spawn(&system, &journal).await;
    let (a, b) = (child(&lab, &parent, "a").await, child(&lab, &parent, "b").await);
    a.tell(Boom("no")).unwrap();
    lab.clock().advance(SECOND).await;
    assert_eq!(journal.count("a drop"), 1);
    b.tell(Boom("no")).unwrap();
    assert_eq!(b.ask(Note(1)).await.unwrap(), 1);
    lab.clock().advance(9 * SECOND).await;
    assert_eq!(a.ask(Note(2)).await.unwrap(), 2);
    assert_eq!(journal.count("a restart: Panicked"), 1, "{journal:?}");
}

async fn asked_to_end(lab: Lab) {
    for end in ["stop", "drain", "kill"] {
        let (journal, system, gate) = (Journal::new(), lab.system(), Gate::new());
        let parent = Plan::new("parent").child(Plan::new("a")).spawn(&system, &journal).await;
        let a = child(&lab, &parent, "a").await;
        a.tell(HoldAndBoom(gate.clone(), "no")).unwrap();
        lab.soon("a is busy", gate.reached()).await;
        a.tell(Note(1)).unwrap();
        match end {
            "stop" => a.stop(),
            "drain" => a.drain(),
            _ => a.kill(),
        }
        gate.open();
        let reason = lab.soon("it ends", a.wait()).await.unwrap();
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
        assert_eq!(lab.soon("the parent goes on", parent.ask(Children())).await.unwrap(), 0);
    }
}

async fn escalates_to_stopping(lab: Lab) {
    let (journal, system, gate) = (Journal::new(), lab.system(), Gate::new());
    let plan = Plan::new("a").supervision(Supervision::one_for_one().always(Directive::Escalate));
    let parent = Plan::new("parent").child(plan).child(Plan::new("b")).spawn(&system, &journal).await;
    let a = child(&lab, &parent, "a").await;
    a.tell(HoldAndBoom(gate.clone(), "no")).unwrap();
    lab.soon("a is busy", gate.reached()).await;
    parent.stop();
    lab.soon("the other child ends", journal.wait_for("b drop")).await;
    gate.open();
    assert!(matches!(lab.soon("the parent ends", parent.wait()).await.unwrap(), StopReason::Stopped));
    assert_eq!(ending(&a.stop_reason().unwrap()), "Panicked");
    assert_eq!(journal.count("parent stop: stopped, 0 children"), 1);
    assert_eq!((journal.count("parent restart: ChildFailed"), system.live()), (0, 0));
}

async fn two_escalate(lab: Lab) {
    let (journal, system, gate) = (Journal::new(), lab.system(), Gate::new());
    let parent = Plan::new("parent").spawn(&system, &journal).await;
    let mut children: Vec<ActorRef<Member>> = Vec::new();
    for name in ["a", "b"] {
        let plan = Plan::new(name).supervision(Supervision::one_for_one().always(Directive::Escalate));
        children.push(lab.soon("a child", parent.ask(Bear(plan))).await.unwrap().unwrap());
    }
    parent.tell(Hold(1, gate.clone())).unwrap();
    lab.soon("the parent is busy", gate.reached()).await;
    for child in &children {
        child.tell(Boom("no")).unwrap();
        assert_eq!(ending(&lab.soon("it ends", child.wait()).await.unwrap()), "Panicked");
    }
    gate.open();
    assert_eq!(lab.soon("the parent goes on", parent.ask(Children())).await.unwrap(), 0);
    assert_eq!(journal.count("parent restart: ChildFailed"), 1, "{journal:?}");
}
