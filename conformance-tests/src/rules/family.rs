//! Parents and children.

use std::future::IntoFuture;
use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Directive, ErrorKind, StopReason, Supervision};

use super::body;
use super::member::{Bear, Child, Children, Delegate, HoldAndAsk, Member, Plan};
use crate::actors::{Act, Boom, Fail, Hold, Note};
use crate::{Capability, Lab, Pace, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "TREE-01",
        Topic::Tree,
        &[(Topic::Tree, State::Idle), (Topic::Tree, State::Handling), (Topic::Tree, State::Stopped)],
        "An actor that stops stops its children first, with their hooks: they have ended when its `on_stop` runs.",
        "A parent may rely on its children to the end, and must not leave them behind.",
        body!(children_first),
    ),
    Rule::must(
        "TREE-02",
        Topic::Tree,
        &[(Topic::Tree, State::Killed), (Topic::Tree, State::Starting), (Topic::Tree, State::Stopping)],
        "A kill kills the descendants, many levels deep, wherever the killed one was: none of them runs its `on_stop`, and none lives when it has ended.",
        "No orphan is left.",
        body!(kill_kills_descendants),
    ),
    Rule::must(
        "TREE-03",
        Topic::Tree,
        &[(Topic::Tree, State::Drained)],
        "An actor that drains handles all it has, with its children there; then they drain, and then its `on_stop` runs.",
        "What is queued may need the children.",
        body!(drains_before_children),
    ),
    Rule::must(
        "TREE-04",
        Topic::Tree,
        &[(Topic::Tree, State::Failed)],
        "An actor that fails stops its children first, with their hooks; that goes for a failed `on_start`, too.",
        "Children have done nothing wrong.",
        body!(failure_stops_children),
    ),
    Rule::must(
        "TREE-05",
        Topic::Tree,
        &[(Topic::Tree, State::Handling), (Topic::Panic, State::Handling)],
        "A restart stops the children, with their hooks, before it drops the failed instance; the new one may bear children of the same names.",
        "A fresh instance begins without children of a life it does not know.",
        body!(restart_stops_children),
    ),
    Rule::must(
        "TREE-06",
        Topic::Tree,
        &[(Topic::Tree, State::NativeKill)],
        "A native kill of an actor kills its descendants.",
        "Whoever kills an actor natively need not know of its children.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "keeps-cell-after-kill"]),
    Rule::must(
        "TREE-07",
        Topic::Tree,
        &[(Topic::Tree, State::NativeStop)],
        "A native stop of an actor stops its children first, with their hooks.",
        "It is a stop like any other.",
        body!(native_stop),
    )
    .needs(Capability::NativeStop)
    .spi(&["ignores-stop", "stop-drops-cell"]),
    Rule::must(
        "TREE-08",
        Topic::Tree,
        &[(Topic::Tree, State::RuntimeDropped)],
        "When the runtime is dropped, parents and children have ended as killed, and none is left.",
        "A tree must not be kept alive by parents and children that hold each other.",
        body!(runtime_dropped),
    )
    .spi(&["foreign-runtime"]),
    Rule::must(
        "TREE-09",
        Topic::Tree,
        &[(Topic::Tree, State::Idle), (Topic::Name, State::Idle)],
        "A name is unique among the children of one parent: the error names both. It is free at once when the child has ended, and other parents and the top have names of their own.",
        "A replacement must be able to take the name of what it replaces.",
        body!(names),
    ),
    Rule::must(
        "TREE-10",
        Topic::Tree,
        &[(Topic::Tree, State::Stopping), (Topic::Tree, State::Dead)],
        "An actor that is stopping or has ended bears no child: the spawn is refused with `Stopped`, and names the parent.",
        "Nobody would stop it.",
        body!(too_late),
    ),
    Rule::must(
        "TREE-11",
        Topic::Tree,
        &[(Topic::Tree, State::Starting)],
        "A child whose start fails leaves nothing behind, and is no failure of its parent beyond the error that the spawn gives.",
        "The parent decides what a child that does not start means.",
        body!(start_fails),
    ),
    Rule::must(
        "TREE-12",
        Topic::Tree,
        &[(Topic::Tree, State::Starting)],
        "A child whose start is not done when its parent ends is killed; the parent does not wait for it.",
        "The task that starts it may never go on.",
        body!(unfinished),
    ),
    Rule::must(
        "TREE-13",
        Topic::Tree,
        &[(Topic::Tree, State::Handling)],
        "A child that waits for its restarting parent's answer is killed after three quarters of the grace of the system, and the restart goes on.",
        "Two that wait for each other must not wait for ever.",
        body!(waits_for_restarting),
    )
    .pace(Pace::Driven),
    Rule::must(
        "TREE-14",
        Topic::Tree,
        &[(Topic::Tree, State::Stopping)],
        "A child that asks its stopping parent is refused at once, and has its `on_stop`.",
        "The parent handles nothing more, and the child can know.",
        body!(asks_stopping),
    ),
    Rule::must(
        "TREE-15",
        Topic::Tree,
        &[(Topic::Tree, State::Stopping)],
        "A child whose `on_stop` does not end is killed after three quarters of the grace of the system; then the parent's runs.",
        "One that hangs must not hold up the rest of the tree.",
        body!(child_hangs),
    )
    .pace(Pace::Driven),
    Rule::must(
        "TREE-18",
        Topic::Tree,
        &[(Topic::Tree, State::Stopping)],
        "Where several levels wait for one that hangs, that one is killed, and those above it have their `on_stop`.",
        "One that hangs must not cost others their hooks.",
        body!(hangs_deep),
    )
    .pace(Pace::Driven),
    Rule::must(
        "TREE-16",
        Topic::Shutdown,
        &[(Topic::Tree, State::Drained), (Topic::Shutdown, State::Handling)],
        "In a shutdown parents drain before their children are told, and services end after all others.",
        "What is queued may need the children, and everybody may need a service.",
        body!(shutdown),
    ),
    Rule::must(
        "TREE-17",
        Topic::Tree,
        &[(Topic::Tree, State::Idle)],
        "The end of a child by a stop, drain or kill is no failure: the parent and the other children go on.",
        "A child may end when its work is done.",
        body!(child_ends),
    ),
];

async fn children_first(lab: Lab) {
    let (journal, system, gate) = (Journal::new(), lab.system(), Gate::new());
    let plan = Plan::new("parent").child(Plan::new("a").child(Plan::new("aa"))).child(Plan::new("b"));
    let parent = plan.spawn(&system, &journal).await;
    let child = child(&lab, &parent, "a").await;
    child.tell(Hold(1, gate.clone())).unwrap();
    lab.soon("the child is busy", gate.reached()).await;
    parent.stop();
    gate.open();
    assert!(matches!(lab.soon("the parent ends", parent.wait()).await.unwrap(), StopReason::Stopped));
    assert_eq!(system.live(), 0);
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

/// A chain of this many, and who is at its end.
async fn chain(lab: &Lab, top: &ActorRef<Member>, levels: usize) -> Vec<ActorRef<Member>> {
    let mut line = vec![top.clone()];
    for _ in 0..levels {
        let last = &line[line.len() - 1];
        line.push(lab.soon("a child", last.ask(Bear(Plan::new("deep")))).await.unwrap().unwrap());
    }
    line
}

async fn kill_kills_descendants(lab: Lab) {
    for place in ["idle", "handling", "children end", "on_stop"] {
        let (journal, system, gate) = (Journal::new(), lab.system(), Gate::new());
        let mut plan = Plan::new("parent");
        if place == "on_stop" {
            plan = plan.stop(Act::Hold(gate.clone()));
        }
        let parent = plan.spawn(&system, &journal).await;
        let line = chain(&lab, &parent, 5).await;
        match place {
            "handling" => parent.tell(Hold(1, gate.clone())).unwrap(),
            "children end" => {
                line[5].tell(Hold(1, gate.clone())).unwrap();
                lab.soon("the last is busy", gate.reached()).await;
                parent.stop();
            }
            "on_stop" => parent.stop(),
            _ => {}
        }
        if place != "idle" {
            lab.soon("there", gate.reached()).await;
        }
        parent.kill();
        let reason = lab.soon("the parent ends", parent.wait()).await.unwrap();
        assert!(matches!(reason, StopReason::Killed), "{place}: {reason}");
        assert_eq!(system.live(), 0, "{place}");
        assert_eq!(journal.entries().iter().filter(|entry| entry.ends_with("drop")).count(), 6, "{place}");
        if place != "on_stop" {
            assert!(!journal.entries().iter().any(|entry| entry.contains("stop:")), "{place}: {journal:?}");
        }
    }
    let (journal, system, gate) = (Journal::new(), lab.system(), Gate::new());
    let (leak, mut leaked) = tokio::sync::mpsc::unbounded_channel();
    let mut plan =
        Plan::new("parent").child(Plan::new("a").child(Plan::new("aa"))).start(Act::Hold(gate.clone()));
    plan.leak = Some(leak);
    let spawn = system.spawn(Member::factory(&journal, plan)).name("parent");
    let spawning = tokio::spawn(spawn.into_future());
    lab.soon("on_start runs", gate.reached()).await;
    leaked.recv().await.unwrap().kill();
    let error = lab.soon("the spawn fails", spawning).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StartFailed);
    assert_eq!(system.live(), 0);
    assert!(!journal.entries().iter().any(|entry| entry.contains("stop:")), "{journal:?}");
}

async fn drains_before_children(lab: Lab) {
    let (journal, system, gate) = (Journal::new(), lab.system(), Gate::new());
    let parent = Plan::new("parent").child(Plan::new("a")).spawn(&system, &journal).await;
    let child = child(&lab, &parent, "a").await;
    parent.tell(Hold(1, gate.clone())).unwrap();
    lab.soon("the parent is busy", gate.reached()).await;
    let (hold, asked) = (Gate::new(), Gate::new());
    asked.open();
    child.tell(Hold(2, hold.clone())).unwrap();
    child.tell(Note(3)).unwrap();
    let found = parent.ask(Child("a")).enqueue().unwrap();
    parent.drain();
    gate.open();
    assert_eq!(lab.soon("the queue is handled", found).await.unwrap(), Some(child.clone()));
    hold.open();
    assert!(matches!(lab.soon("the parent ends", parent.wait()).await.unwrap(), StopReason::Drained));
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
    assert_eq!((system.live(), system.dead_letters()), (0, 0));
}

async fn failure_stops_children(lab: Lab) {
    let stop = Supervision::one_for_one().always(Directive::Stop);
    for panics in [true, false] {
        let (journal, system) = (Journal::new(), lab.system());
        let plan = Plan::new("parent").child(Plan::new("a").child(Plan::new("aa")));
        let plan = plan.on_error(Directive::Escalate).supervision(stop.clone());
        let parent = plan.spawn(&system, &journal).await;
        if panics {
            parent.tell(Boom("no")).unwrap()
        } else {
            parent.tell(Fail("no")).unwrap()
        }
        assert!(lab.soon("the parent ends", parent.wait()).await.unwrap().failure().is_some());
        let ends = ["aa stop: stopped, 0 children", "aa drop", "a stop: stopped, 0 children", "a drop"];
        let last: &[&str] =
            if panics { &["parent drop"] } else { &["parent stop: Failed, 0 children", "parent drop"] };
        let begin = journal.len() - ends.len() - last.len();
        assert_eq!(journal.entries()[begin..], [&ends, last].concat());
        assert_eq!(system.live(), 0);
    }
    let (journal, system) = (Journal::new(), lab.system());
    let plan = Plan::new("parent").child(Plan::new("a")).start(Act::Fail("no"));
    let spawned = system.spawn(Member::new(&journal, plan)).await;
    assert_eq!(spawned.unwrap_err().kind(), ErrorKind::StartFailed);
    let expected = ["parent start", "a start", "a stop: stopped, 0 children", "a drop", "parent drop"];
    assert_eq!(journal.entries(), expected);
    assert_eq!(system.live(), 0);
}

async fn restart_stops_children(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let parent =
        Plan::new("parent").child(Plan::new("a").child(Plan::new("aa"))).spawn(&system, &journal).await;
    let old = child(&lab, &parent, "a").await;
    parent.tell(Boom("no")).unwrap();
    let new = child(&lab, &parent, "a").await;
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
    assert_eq!(system.live(), 3);
}

async fn native_kill(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let parent = Plan::new("parent").spawn(&system, &journal).await;
    let line = chain(&lab, &parent, 3).await;
    lab.native_kill(&parent).await;
    for member in &line {
        assert!(matches!(lab.soon("all end", member.wait()).await.unwrap(), StopReason::Killed));
    }
    assert!(!journal.entries().iter().any(|entry| entry.contains("stop:")), "{journal:?}");
    assert_eq!(system.live(), 0);
}

async fn native_stop(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let parent =
        Plan::new("parent").child(Plan::new("a").child(Plan::new("aa"))).spawn(&system, &journal).await;
    lab.native_stop(&parent).await;
    let reason = lab.soon("the parent ends", parent.wait()).await.unwrap().to_string();
    let stop = |name: &str| [format!("{name} stop: {reason}, 0 children"), format!("{name} drop")];
    assert_eq!(journal.entries()[3..], [stop("aa"), stop("a"), stop("parent")].concat());
    assert_eq!(system.live(), 0);
}

async fn runtime_dropped(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let (notes, inside) = (journal.clone(), system.clone());
    let parent = lab
        .elsewhere(move || async move {
            let plan = Plan::new("parent").child(Plan::new("a").child(Plan::new("aa")));
            plan.spawn(&inside, &notes).await
        })
        .await;
    assert!(matches!(lab.soon("the parent has ended", parent.wait()).await.unwrap(), StopReason::Killed));
    lab.soon("all have ended", system.wait_all()).await.unwrap();
    assert_eq!(system.live(), 0);
    assert_eq!(journal.entries().iter().filter(|entry| entry.ends_with("drop")).count(), 3);
    let weak = parent.downgrade();
    drop(parent);
    assert!(weak.upgrade().is_none(), "something keeps the dead parent");
}

async fn names(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let one = Plan::new("one").spawn(&system, &journal).await;
    let two = Plan::new("two").spawn(&system, &journal).await;
    let first = lab.soon("a child", one.ask(Bear(Plan::new("a")))).await.unwrap().unwrap();
    lab.soon("of another parent", two.ask(Bear(Plan::new("a")))).await.unwrap().unwrap();
    let top = Plan::new("a").spawn(&system, &journal).await;
    let error = lab.soon("a second", one.ask(Bear(Plan::new("a")))).await.unwrap().unwrap_err();
    assert_eq!(
        (error.kind(), error.get("actor"), error.get("parent")),
        (ErrorKind::NameTaken, Some("pekko://lab/user/one/a"), Some("pekko://lab/user/one"))
    );
    assert_eq!(lab.soon("the first is there", one.ask(Children())).await.unwrap(), 1);
    assert_eq!(system.get::<Member>("a"), Some(top), "children are not found at the top");
    for end in 0..3 {
        let child = child(&lab, &one, "a").await;
        match end {
            0 => child.stop(),
            1 => child.drain(),
            _ => child.kill(),
        }
        lab.soon("the child ends", child.wait()).await.unwrap();
        assert_ne!(
            lab.soon("the name is free", one.ask(Bear(Plan::new("a")))).await.unwrap().unwrap(),
            child
        );
    }
    assert!(!first.is_alive());
}

async fn too_late(lab: Lab) {
    let (journal, system, gate) = (Journal::new(), lab.system(), Gate::new());
    let parent = Plan::new("parent").stop(Act::Hold(gate.clone())).spawn(&system, &journal).await;
    let spawn = async || lab.soon("a spawn to come", parent.ask(Delegate(Plan::new("a")))).await.unwrap();
    let (first, second) = (spawn().await, spawn().await);
    parent.stop();
    lab.soon("on_stop runs", gate.reached()).await;
    let refused = |error: dactor_core::Error| {
        assert_eq!(
            (error.kind(), error.get("parent")),
            (ErrorKind::Stopped, Some("pekko://lab/user/parent")),
            "{error}"
        );
    };
    refused(first.await.unwrap_err());
    gate.open();
    lab.soon("the parent ends", parent.wait()).await.unwrap();
    refused(second.await.unwrap_err());
    assert_eq!((system.live(), journal.count("a start")), (0, 0));
}

async fn start_fails(lab: Lab) {
    for act in [Act::Fail("no"), Act::Panic("no")] {
        let (journal, system) = (Journal::new(), lab.system());
        let parent = Plan::new("parent").spawn(&system, &journal).await;
        let plan = Plan::new("a").child(Plan::new("aa")).start(act);
        let error = lab.soon("the spawn fails", parent.ask(Bear(plan))).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StartFailed);
        assert_eq!(lab.soon("the parent lives", parent.ask(Children())).await.unwrap(), 0);
        assert_eq!(system.live(), 1);
        lab.soon("the name is free", parent.ask(Bear(Plan::new("a")))).await.unwrap().unwrap();
        assert_eq!(journal.count("parent restart: Panicked"), 0);
        assert_eq!(journal.entries()[3..6], ["aa stop: stopped, 0 children", "aa drop", "a drop"]);
    }
}

async fn unfinished(lab: Lab) {
    let (journal, system, gate) = (Journal::new(), lab.system(), Gate::new());
    let parent = Plan::new("parent").spawn(&system, &journal).await;
    let plan = Plan::new("a").start(Act::Hold(gate.clone()));
    let spawn = lab.soon("a spawn", parent.ask(Delegate(plan.clone()))).await.unwrap();
    let spawning = tokio::spawn(spawn.into_future());
    lab.soon("the child starts", gate.reached()).await;
    parent.stop();
    assert!(matches!(lab.soon("the parent ends", parent.wait()).await.unwrap(), StopReason::Stopped));
    let error = lab.soon("the spawn fails", spawning).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StartFailed);
    assert_eq!((system.live(), journal.count("a drop")), (0, 1));

    // One that nobody polls any more.
    let parent = Plan::new("parent").spawn(&system, &journal).await;
    let spawn = lab
        .soon("a spawn", parent.ask(Delegate(Plan::new("b").start(Act::Hold(Gate::new())))))
        .await
        .unwrap();
    let mut spawning = spawn.into_future();
    assert!(futures_util::poll!(&mut spawning).is_pending());
    parent.stop();
    lab.soon("the parent ends", parent.wait()).await.unwrap();
    drop(spawning);
    assert_eq!(system.live(), 0);
}

const GRACE: Duration = Duration::from_secs(4);
const TICK: Duration = Duration::from_millis(1);

async fn waits_for_restarting(mut lab: Lab) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let system = lab.builder().grace(GRACE).build().unwrap();
    let parent = Plan::new("parent").child(Plan::new("a")).spawn(&system, &journal).await;
    let child = child(&lab, &parent, "a").await;
    child.tell(HoldAndAsk(gate.clone(), parent.clone())).unwrap();
    gate.reached().await;
    parent.tell(Boom("no")).unwrap();
    gate.open();
    lab.clock().advance(GRACE / 4 * 3 - TICK).await;
    assert!(child.is_alive() && journal.count("parent restart: Panicked") == 0, "too early: {journal:?}");
    lab.clock().advance(TICK).await;
    assert!(matches!(child.stop_reason(), Some(StopReason::Killed)));
    assert_eq!(parent.ask(Note(1)).await.unwrap(), 1);
    assert_eq!(journal.count("a stop: stopped, 0 children"), 0);
    assert_eq!(journal.count("parent restart: Panicked"), 1);
    assert_eq!(system.live(), 2);
}

async fn asks_stopping(lab: Lab) {
    let (journal, system, gate) = (Journal::new(), lab.system(), Gate::new());
    let parent = Plan::new("parent").child(Plan::new("a")).spawn(&system, &journal).await;
    let child = child(&lab, &parent, "a").await;
    child.tell(HoldAndAsk(gate.clone(), parent.clone())).unwrap();
    lab.soon("the child is busy", gate.reached()).await;
    parent.stop();
    gate.open();
    lab.soon("the parent ends", parent.wait()).await.unwrap();
    let expected = [
        "a asked: Stopped",
        "a stop: stopped, 0 children",
        "a drop",
        "parent stop: stopped, 0 children",
        "parent drop",
    ];
    assert_eq!(journal.entries()[2..], expected);
}

async fn child_hangs(mut lab: Lab) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let system = lab.builder().grace(GRACE).build().unwrap();
    let plan = Plan::new("parent").child(Plan::new("a").stop(Act::Hold(gate.clone()))).child(Plan::new("b"));
    let parent = plan.spawn(&system, &journal).await;
    let child = child(&lab, &parent, "a").await;
    parent.stop();
    gate.reached().await;
    lab.clock().advance(GRACE / 4 * 3 - TICK).await;
    assert!(child.is_alive(), "killed too early");
    lab.clock().advance(TICK).await;
    assert!(matches!(child.stop_reason(), Some(StopReason::Killed)));
    assert!(matches!(parent.stop_reason(), Some(StopReason::Stopped)), "a child that hangs is no failure");
    assert_eq!(journal.count("b stop: stopped, 0 children"), 1);
    assert_eq!(journal.entries()[journal.len() - 2..], ["parent stop: stopped, 0 children", "parent drop"]);
    assert_eq!(system.live(), 0);
}

async fn hangs_deep(mut lab: Lab) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let system = lab.builder().grace(GRACE).build().unwrap();
    let leaf = Plan::new("leaf").stop(Act::Hold(gate.clone()));
    let plan = Plan::new("top").child(Plan::new("upper").child(Plan::new("lower").child(leaf)));
    let top = plan.spawn(&system, &journal).await;
    top.stop();
    gate.reached().await;
    // In steps, so that each level gets to see its own moment.
    for _ in 0..8 {
        lab.clock().advance(GRACE / 8).await;
    }
    let rest = ["lower", "upper", "top"]
        .map(|name| [format!("{name} stop: stopped, 0 children"), format!("{name} drop")]);
    let expected =
        [vec!["leaf stop: stopped, 0 children".to_owned(), "leaf drop".to_owned()], rest.concat()].concat();
    assert_eq!(journal.entries()[4..], expected);
    assert!(matches!(top.stop_reason(), Some(StopReason::Stopped)));
    assert_eq!(system.live(), 0);
}

async fn shutdown(lab: Lab) {
    let (journal, system, gate) = (Journal::new(), lab.system(), Gate::new());
    let service =
        system.spawn_service(Member::factory(&journal, Plan::new("service").child(Plan::new("helper"))));
    let service = service.name("service").await.unwrap();
    assert!(system.get::<Member>("service").is_none(), "a service is not among the users' actors");
    let parent = Plan::new("parent").child(Plan::new("a")).spawn(&system, &journal).await;
    let child = child(&lab, &parent, "a").await;
    let open = Gate::new();
    open.open();
    parent.tell(Hold(1, gate.clone())).unwrap();
    lab.soon("the parent is busy", gate.reached()).await;
    parent.tell(HoldAndAsk(open.clone(), child.clone())).unwrap();
    parent.tell(HoldAndAsk(open, service.clone())).unwrap();
    let closing = system.clone();
    let shutdown = tokio::spawn(async move { closing.shutdown().await });
    lab.rest().await;
    gate.open();
    lab.soon("the shutdown is done", shutdown).await.unwrap().unwrap();
    assert_eq!(system.live(), 0);
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

async fn child_ends(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let plan = Plan::new("parent").child(Plan::new("a")).child(Plan::new("b")).child(Plan::new("c"));
    let plan = plan.child(Plan::new("d").supervision(Supervision::all_for_one()));
    let parent = plan.spawn(&system, &journal).await;
    for (count, name) in [(3, "a"), (2, "b"), (1, "c")] {
        let child = child(&lab, &parent, name).await;
        match name {
            "a" => child.stop(),
            "b" => child.drain(),
            _ => child.kill(),
        }
        lab.soon("the child ends", child.wait()).await.unwrap();
        assert_eq!(lab.soon("the parent lives", parent.ask(Children())).await.unwrap(), count);
    }
    assert_eq!(system.live(), 2);
    assert!(!journal.entries().iter().any(|entry| entry.contains("restart")), "{journal:?}");
}

/// The child of this name.
pub(super) async fn child(lab: &Lab, parent: &ActorRef<Member>, name: &'static str) -> ActorRef<Member> {
    lab.soon("the parent answers", parent.ask(Child(name)))
        .await
        .unwrap()
        .unwrap_or_else(|| panic!("no child {name}"))
}
