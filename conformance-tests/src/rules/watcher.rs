//! Death watch, as the one who watches sees it.

use std::future::IntoFuture;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Directive, ErrorKind, Overflow, Shed, StopReason, Supervision, WeakRef};

use super::body;
use super::family::child;
use super::member::{Member, Plan, TellAndQuit, Unwatch, Watch};
use crate::actors::{Act, Boom, Hold, Note};
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "WATCH-09",
        Topic::Watch,
        &[(Topic::Watch, State::Handling), (Topic::Order, State::Handling)],
        "`Terminated` comes behind everything that the other actor sent, also where senders wait in line for room.",
        "The end is the last that is heard of an actor.",
        body!(order),
    ),
    Rule::must(
        "WATCH-10",
        Topic::Watch,
        &[(Topic::Watch, State::Handling), (Topic::Bound, State::Handling)],
        "`Terminated` finds room in every mailbox and takes none, whatever its overflow policy; it is never dropped to make room, and never shed.",
        "An end that is lost because of load is never heard of again.",
        body!(capacity),
    ),
    Rule::must(
        "WATCH-11",
        Topic::Watch,
        &[(Topic::Watch, State::Idle), (Topic::Watch, State::Handling)],
        "Unwatching is final, also for a `Terminated` that is queued already; it says whether there was a watch.",
        "A program that has lost interest must not have to check.",
        body!(unwatch),
    ),
    Rule::must(
        "WATCH-12",
        Topic::Watch,
        &[(Topic::Watch, State::Idle), (Topic::Watch, State::Dead)],
        "Watching twice is watching once; after the `Terminated`, or after an unwatch, one can watch anew.",
        "There is one `Terminated` for a watch, and one watch at a time.",
        body!(again),
    ),
    Rule::must(
        "WATCH-13",
        Topic::Watch,
        &[(Topic::Watch, State::Idle)],
        "An actor that watches itself is told that this is an error.",
        "It would never hear of its end.",
        body!(itself),
    ),
    Rule::must(
        "WATCH-14",
        Topic::Watch,
        &[(Topic::Watch, State::Idle), (Topic::Watch, State::Killed)],
        "Actors may watch each other in a cycle: each end is told to those that live, and nothing is left in memory.",
        "Peers watch each other all the time.",
        body!(cycle),
    ),
    Rule::must(
        "WATCH-15",
        Topic::Watch,
        &[(Topic::Watch, State::Stopped), (Topic::Watch, State::Killed), (Topic::Watch, State::Failed)],
        "A watcher that ends, in whatever way, leaves nothing behind at the actors it watched.",
        "Long-lived actors are watched by many that come and go.",
        body!(watcher_ends),
    ),
    Rule::must(
        "WATCH-16",
        Topic::Watch,
        &[(Topic::Watch, State::Handling)],
        "A restart keeps what the actor watches, except its own children, which the restart stops: of them the new instance hears nothing, whether they ended before or by it.",
        "A new instance does not know the children of the old one.",
        body!(watcher_restarts),
    ),
    Rule::must(
        "WATCH-17",
        Topic::Watch,
        &[(Topic::Watch, State::Starting), (Topic::Watch, State::Stopping)],
        "A `Terminated` that comes during `on_start` is handled after it; one that comes to an actor that is stopping or draining is dropped, and is no dead letter.",
        "It is a message, and its sender is nobody who could be told.",
        body!(starting_and_stopping),
    ),
];

fn of_watcher(journal: &Journal) -> Vec<String> {
    journal.entries().into_iter().filter_map(|entry| entry.strip_prefix("w ").map(str::to_owned)).collect()
}

/// Waits until this many are queued.
async fn queued(lab: &Lab, what: &str, actor: &ActorRef<Member>, count: usize) {
    lab.soon(what, async {
        while actor.queued() < count {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

async fn order(lab: Lab) {
    let (journal, system, gate) = (Journal::new(), lab.system(), Gate::new());
    let watcher = Plan::new("w").spawn(&system, &journal).await;
    let target = Plan::new("t").spawn(&system, &journal).await;
    lab.soon("it is watched", watcher.ask(Watch(target.clone()))).await.unwrap();
    watcher.tell(Hold(0, gate.clone())).unwrap();
    lab.soon("the watcher is busy", gate.reached()).await;
    target.tell(TellAndQuit(watcher.clone(), vec![1, 2, 3])).unwrap();
    lab.soon("the target ends", target.wait()).await.unwrap();
    watcher.tell(Note(4)).unwrap();
    gate.open();
    lab.soon("it is told", journal.wait_for("w terminated t: stopped")).await;
    let entries = of_watcher(&journal);
    let told = entries.iter().position(|entry| entry == "terminated t: stopped").expect("it was told");
    assert_eq!(entries[..5], ["start", "held 0", "1", "2", "3"]);
    assert!(told >= 5, "{entries:?}");

    // With senders in line: it waits behind them, and others behind it.
    let (journal, gate) = (Journal::new(), Gate::new());
    let watcher =
        system.spawn(Member::new(&journal, Plan::new("w"))).bounded(2, Overflow::Block).await.unwrap();
    let target = Plan::new("t").spawn(&system, &journal).await;
    lab.soon("it is watched", watcher.ask(Watch(target.clone()))).await.unwrap();
    watcher.tell(Hold(0, gate.clone())).unwrap();
    lab.soon("the watcher is busy", gate.reached()).await;
    watcher.tell(Note(1)).unwrap();
    watcher.tell(Note(2)).unwrap();
    let mut third = Box::pin(watcher.send(Note(3)));
    assert!(futures_util::poll!(&mut third).is_pending(), "there is no room");
    target.stop();
    lab.soon("the target ends", target.wait()).await.unwrap();
    // Where the notice is in line by then, the next sender comes behind it.
    lab.rest().await;
    let mut fourth = Box::pin(watcher.send(Note(4)));
    assert!(futures_util::poll!(&mut fourth).is_pending(), "there is no room");
    gate.open();
    lab.soon("the third gets in", third).await.unwrap();
    lab.soon("the fourth gets in", fourth).await.unwrap();
    lab.soon("the watcher goes on", watcher.ask(Note(5))).await.unwrap();
    lab.soon("it is told", journal.wait_for("w terminated t: stopped")).await;
    let entries = of_watcher(&journal);
    let told = entries.iter().position(|entry| entry == "terminated t: stopped");
    assert!(
        told > entries.iter().position(|entry| entry == "3"),
        "it waits in line like others: {entries:?}"
    );
    let notes: Vec<_> = entries.iter().filter(|entry| !entry.starts_with("terminated")).collect();
    assert_eq!(notes, ["start", "held 0", "1", "2", "3", "4", "5"]);
}

async fn capacity(lab: Lab) {
    let system = lab.system();
    for overflow in [Overflow::Reject, Overflow::Block, Overflow::DropNewest, Overflow::DropOldest] {
        let (journal, gate) = (Journal::new(), Gate::new());
        let shed = Shed::default().length(2);
        let spawn = system.spawn(Member::new(&journal, Plan::new("w"))).bounded(1, overflow);
        let watcher = spawn.shed(shed).await.unwrap();
        let mut doomed = Vec::new();
        for _ in 0..4 {
            let target = system.spawn(Member::new(&Journal::new(), Plan::new("t"))).await.unwrap();
            lab.soon("it is watched", watcher.ask(Watch(target.clone()))).await.unwrap();
            doomed.push(target);
        }
        watcher.tell(Hold(0, gate.clone())).unwrap();
        lab.soon("the watcher is busy", gate.reached()).await;
        for target in &doomed[..2] {
            target.kill();
            lab.soon("the target ends", target.wait()).await.unwrap();
        }
        queued(&lab, "two wait", &watcher, 2).await;
        watcher.tell(Note(1)).expect("they take no room");
        let second = watcher.tell(Note(2)).map_err(|error| error.kind());
        for target in &doomed[2..] {
            target.kill();
            lab.soon("the target ends", target.wait()).await.unwrap();
        }
        queued(&lab, "four wait", &watcher, 5).await;
        let kept = match overflow {
            Overflow::DropOldest => {
                assert_eq!(second, Ok(()), "{overflow:?}");
                "2"
            }
            Overflow::DropNewest => {
                assert_eq!(second, Ok(()), "{overflow:?}");
                "1"
            }
            _ => {
                assert_eq!(second, Err(ErrorKind::MailboxFull), "{overflow:?}");
                "1"
            }
        };
        gate.open();
        lab.soon("all is handled", async {
            while of_watcher(&journal).len() < 7 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        let entries = of_watcher(&journal);
        let notes: Vec<_> = entries.iter().filter(|entry| !entry.starts_with("terminated")).collect();
        assert_eq!(notes, ["start", "held 0", kept], "{overflow:?}");
        let told = entries.iter().filter(|entry| entry.starts_with("terminated")).count();
        assert_eq!(told, 4, "{overflow:?}: {entries:?}");
    }
}

async fn unwatch(lab: Lab) {
    let (journal, system, gate) = (Journal::new(), lab.system(), Gate::new());
    let watcher = Plan::new("w").spawn(&system, &journal).await;
    let target = Plan::new("t").spawn(&system, &journal).await;
    assert!(!lab.soon("there is no watch", watcher.ask(Unwatch(target.clone()))).await.unwrap());
    lab.soon("it is watched", watcher.ask(Watch(target.clone()))).await.unwrap();
    watcher.tell(Hold(0, gate.clone())).unwrap();
    lab.soon("the watcher is busy", gate.reached()).await;
    let unwatch = watcher.ask(Unwatch(target.clone())).enqueue().unwrap();
    target.stop();
    lab.soon("the target ends", target.wait()).await.unwrap();
    queued(&lab, "the notice is there", &watcher, 2).await;
    gate.open();
    assert!(lab.soon("there was a watch", unwatch).await.unwrap());
    assert!(!lab.soon("there is none", watcher.ask(Unwatch(target.clone()))).await.unwrap());
    lab.soon("the watcher goes on", watcher.ask(Note(1))).await.unwrap();
    assert_eq!(of_watcher(&journal), ["start", "held 0", "1"]);
    assert_eq!(system.dead_letters(), 0);
}

async fn again(lab: Lab) {
    let (journal, system, gate) = (Journal::new(), lab.system(), Gate::new());
    let watcher = Plan::new("w").spawn(&system, &journal).await;
    let target = Plan::new("t").spawn(&system, &journal).await;
    let told = || of_watcher(&journal).iter().filter(|entry| *entry == "terminated t: stopped").count();
    for _ in 0..2 {
        lab.soon("it is watched", watcher.ask(Watch(target.clone()))).await.unwrap();
    }
    watcher.tell(Hold(0, gate.clone())).unwrap();
    lab.soon("the watcher is busy", gate.reached()).await;
    target.stop();
    lab.soon("the target ends", target.wait()).await.unwrap();
    queued(&lab, "the notice is there", &watcher, 1).await;
    gate.open();
    lab.soon("the watcher goes on", watcher.ask(Note(1))).await.unwrap();
    assert_eq!(told(), 1);

    for count in 2..4 {
        lab.soon("it is watched anew", watcher.ask(Watch(target.clone()))).await.unwrap();
        lab.soon("the watcher goes on", watcher.ask(Note(1))).await.unwrap();
        assert_eq!(told(), count, "at once");
    }

    // A watch that was given up and begun anew is one watch, whatever is queued.
    let gate = Gate::new();
    watcher.tell(Hold(2, gate.clone())).unwrap();
    lab.soon("the watcher is busy", gate.reached()).await;
    for _ in 0..3 {
        watcher.tell(Watch(target.clone())).unwrap();
        watcher.tell(Unwatch(target.clone())).unwrap();
    }
    watcher.tell(Watch(target.clone())).unwrap();
    watcher.tell(Watch(target.clone())).unwrap();
    gate.open();
    lab.soon("the watcher goes on", watcher.ask(Note(1))).await.unwrap();
    lab.soon("the watcher goes on", watcher.ask(Note(1))).await.unwrap();
    assert_eq!(told(), 4, "{journal:?}");
}

async fn itself(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let actor = Plan::new("w").spawn(&system, &journal).await;
    let answer = lab.soon("it is told", actor.ask(Watch(actor.clone()))).await.unwrap();
    assert_eq!(answer, Some(ErrorKind::InvalidWatch));
    assert!(!lab.soon("there is no watch", actor.ask(Unwatch(actor.clone()))).await.unwrap());
    actor.stop();
    assert!(matches!(lab.soon("it ends", actor.wait()).await.unwrap(), StopReason::Stopped));
}

/// Waits until nothing holds the actor any more: its native actor may take a moment to go.
async fn gone(lab: &Lab, weak: &WeakRef<Member>) {
    lab.soon("nothing holds the dead actor", async {
        while weak.upgrade().is_some() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

async fn cycle(lab: Lab) {
    for at_once in [false, true] {
        let (journal, system) = (Journal::new(), lab.system());
        let mut ring = Vec::new();
        for name in ["x", "y", "z"] {
            ring.push(Plan::new(name).spawn(&system, &journal).await);
        }
        for (at, actor) in ring.iter().enumerate() {
            for other in [1, 2] {
                let watched = ring[(at + other) % 3].clone();
                assert_eq!(lab.soon("it is watched", actor.ask(Watch(watched))).await.unwrap(), None);
            }
        }
        if at_once {
            ring.iter().for_each(|actor| actor.kill());
        } else {
            ring[0].stop();
            lab.soon("it is told", journal.wait_for("y terminated x: stopped")).await;
            lab.soon("it is told", journal.wait_for("z terminated x: stopped")).await;
            ring[1].kill();
            lab.soon("it is told", journal.wait_for("z terminated y: killed")).await;
            ring[2].stop();
        }
        for actor in &ring {
            lab.soon("all end", actor.wait()).await.unwrap();
        }
        assert_eq!(system.live(), 0);
        if !at_once {
            let told = journal.entries().iter().filter(|entry| entry.contains("terminated")).count();
            assert_eq!(told, 3, "{journal:?}");
        }
        let weak: Vec<_> = ring.drain(..).map(|actor| actor.downgrade()).collect();
        for actor in &weak {
            gone(&lab, actor).await;
        }
    }
}

async fn watcher_ends(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let target = Plan::new("t").spawn(&system, &journal).await;
    for end in ["stop", "drain", "kill", "panic", "start"] {
        let fail = Supervision::one_for_one().always(Directive::Stop);
        let watcher = if end == "start" {
            // Its child is the watcher of this round: it never starts.
            let (leak, mut leaked) = tokio::sync::mpsc::unbounded_channel();
            let mut plan = Plan::new("w").watching().child(Plan::new("c")).start(Act::Fail("no"));
            plan.leak = Some(leak);
            let spawned = lab.soon("the spawn fails", system.spawn(Member::factory(&journal, plan))).await;
            assert!(spawned.is_err());
            leaked.recv().await.unwrap()
        } else {
            let watcher = Plan::new("w").supervision(fail).spawn(&system, &journal).await;
            lab.soon("it watches", watcher.ask(Watch(target.clone()))).await.unwrap();
            watcher
        };
        match end {
            "stop" => watcher.stop(),
            "drain" => watcher.drain(),
            "kill" => watcher.kill(),
            "panic" => watcher.tell(Boom("no")).unwrap(),
            _ => {}
        }
        lab.soon("the watcher ends", watcher.wait()).await.unwrap();
        let weak = watcher.downgrade();
        drop(watcher);
        gone(&lab, &weak).await;
    }
    assert_eq!(lab.soon("the target goes on", target.ask(Note(1))).await.unwrap(), 1);
    target.stop();
    lab.soon("the target ends", target.wait()).await.unwrap();
    assert_eq!(system.dead_letters(), 0);
}

async fn watcher_restarts(lab: Lab) {
    let (journal, system, gate) = (Journal::new(), lab.system(), Gate::new());
    let plan = Plan::new("w").watching().child(Plan::new("c")).child(Plan::new("d"));
    let watcher = plan.spawn(&system, &journal).await;
    let target = Plan::new("t").spawn(&system, &journal).await;
    let c = child(&lab, &watcher, "c").await;
    lab.soon("it is watched", watcher.ask(Watch(target.clone()))).await.unwrap();
    watcher.tell(Hold(0, gate.clone())).unwrap();
    lab.soon("the watcher is busy", gate.reached()).await;
    watcher.tell(Boom("no")).unwrap();
    // Ended before the restart, and the notice is queued.
    c.kill();
    lab.soon("the child ends", c.wait()).await.unwrap();
    queued(&lab, "the notice is there", &watcher, 2).await;
    gate.open();
    lab.soon("the watcher is restarted", watcher.ask(Note(1))).await.unwrap();
    assert_eq!(of_watcher(&journal), ["start", "held 0", "drop", "restart: Panicked", "1"]);
    let fresh = child(&lab, &watcher, "c").await;
    assert_ne!(fresh, c);
    fresh.stop();
    lab.soon("the new child is watched", journal.wait_for("w terminated c: stopped")).await;
    target.stop();
    lab.soon("the old watch is kept", journal.wait_for("w terminated t: stopped")).await;
    lab.soon("the watcher goes on", watcher.ask(Note(2))).await.unwrap();
    let told = of_watcher(&journal).iter().filter(|entry| entry.starts_with("terminated")).count();
    assert_eq!(told, 2, "{journal:?}");
}

async fn starting_and_stopping(lab: Lab) {
    let (journal, system, gate) = (Journal::new(), lab.system(), Gate::new());
    let (leak, mut leaked) = tokio::sync::mpsc::unbounded_channel();
    let mut c = Plan::new("c");
    c.leak = Some(leak);
    let plan = Plan::new("w").watching().child(c).start(Act::Hold(gate.clone()));
    let spawning = tokio::spawn(system.spawn(Member::factory(&journal, plan)).into_future());
    lab.soon("on_start runs", gate.reached()).await;
    let c = leaked.recv().await.unwrap();
    c.stop();
    lab.soon("the child ends", c.wait()).await.unwrap();
    assert_eq!(of_watcher(&journal), ["start"]);
    gate.open();
    let watcher = lab.soon("it has started", spawning).await.unwrap().unwrap();
    lab.soon("it is told", journal.wait_for("w terminated c: stopped")).await;
    watcher.stop();
    lab.soon("it ends", watcher.wait()).await.unwrap();

    for drain in [false, true] {
        let (journal, gate) = (Journal::new(), Gate::new());
        let plan = if drain { Plan::new("w") } else { Plan::new("w").stop(Act::Hold(gate.clone())) };
        let watcher = plan.spawn(&system, &journal).await;
        let target = Plan::new("t").spawn(&system, &journal).await;
        lab.soon("it is watched", watcher.ask(Watch(target.clone()))).await.unwrap();
        if drain {
            watcher.tell(Hold(0, gate.clone())).unwrap();
        } else {
            watcher.stop();
        }
        lab.soon("there", gate.reached()).await;
        watcher.drain();
        target.stop();
        lab.soon("the target ends", target.wait()).await.unwrap();
        gate.open();
        lab.soon("the watcher ends", watcher.wait()).await.unwrap();
        assert!(!of_watcher(&journal).iter().any(|entry| entry.starts_with("terminated")), "{journal:?}");
    }
    assert_eq!((system.live(), system.dead_letters()), (0, 0));
}
