//! Lanes: what waits in a mailbox is handled by priority, and no lane starves.

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, ErrorKind, Overflow, PendingReply, Priority};

use super::body;
use super::busy::Busy;
use crate::actors::{Act, Boom, Hold, Hooks, Note, Urgent, Worker};
use crate::{Capability, Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "PRIO-01",
        Topic::Priority,
        &[(Topic::Priority, State::Handling), (Topic::Order, State::Handling)],
        "What waits is handled highest priority first, and in the order of sending within one; the priority is the one of the send, or else of the message's type, for tell, try_tell, send and ask alike.",
        "What is urgent does not wait behind what is not.",
        body!(order),
    ),
    Rule::must(
        "PRIO-02",
        Topic::Priority,
        &[(Topic::Priority, State::Handling)],
        "While a lower lane waits, one of every eight messages comes from it.",
        "Strict priority alone would let what is low wait for ever.",
        body!(share),
    ),
    Rule::must(
        "PRIO-03",
        Topic::Priority,
        &[(Topic::Priority, State::Handling)],
        "A high message overtakes all that is not being handled yet, also what the actor took from its mailbox in one go.",
        "How messages are fetched is nobody's business.",
        body!(overtakes),
    ),
    Rule::must(
        "PRIO-04",
        Topic::Priority,
        &[(Topic::Priority, State::Handling), (Topic::Bound, State::Handling)],
        "A bounded mailbox counts all lanes together; whoever waits in line is let in in turn and then handled by priority; one that drops the oldest drops the oldest of the lowest lane.",
        "A priority is no way around a bound.",
        body!(bounded),
    ),
    Rule::must(
        "PRIO-05",
        Topic::Priority,
        &[(Topic::Priority, State::Starting)],
        "What comes during `on_start` is handled by priority after it.",
        "A slow start is when messages pile up.",
        body!(starting),
    ),
    Rule::must(
        "PRIO-06",
        Topic::Priority,
        &[(Topic::Priority, State::Idle)],
        "An idle actor is woken by a message of any priority, time and again; a level of priority that does not exist is `InvalidPriority`.",
        "Every lane leads to the actor, and a mistake is told where it is made.",
        body!(wakes),
    ),
    Rule::must(
        "PRIO-07",
        Topic::Priority,
        &[
            (Topic::Priority, State::Stopping),
            (Topic::Priority, State::Dead),
            (Topic::Priority, State::Stopped),
            (Topic::Priority, State::Killed),
            (Topic::Priority, State::Failed),
        ],
        "A stop or a kill overtakes every lane; what then waits in any lane is a dead letter, its asker gets `Stopped`, and no priority gets in any more.",
        "However urgent a message is, it needs an actor.",
        body!(ends),
    ),
    Rule::must(
        "PRIO-08",
        Topic::Priority,
        &[(Topic::Priority, State::Drained)],
        "A drain handles all lanes, by priority.",
        "All of it was accepted.",
        body!(drained),
    ),
    Rule::must(
        "PRIO-09",
        Topic::Priority,
        &[(Topic::Priority, State::NativeStop)],
        "After a native stop nothing is left in any lane.",
        "The native end is an end like any other.",
        body!(native_stop),
    )
    .needs(Capability::NativeStop)
    .spi(&["ignores-stop"]),
    Rule::must(
        "PRIO-10",
        Topic::Priority,
        &[(Topic::Priority, State::NativeKill)],
        "After a native kill nothing is left in any lane.",
        "The native end is an end like any other.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "keeps-cell-after-kill"]),
    Rule::must(
        "PRIO-11",
        Topic::Priority,
        &[(Topic::Priority, State::RuntimeDropped)],
        "After the runtime of the actor was dropped nothing is left in any lane.",
        "Askers elsewhere in the process must not wait for a runtime that is gone.",
        body!(runtime_dropped),
    )
    .spi(&["foreign-runtime"]),
];

const LANES: [Priority; 3] = [Priority::Low, Priority::Normal, Priority::High];

async fn busy(lab: &Lab, hooks: Hooks) -> Busy {
    Busy::new(lab, hooks, |spawn| spawn).await
}

/// An ask in every lane.
fn ask_each(actor: &ActorRef<Worker>) -> [PendingReply<Note>; 3] {
    LANES.map(|priority| actor.at(priority).ask(Note(priority as u32)).enqueue().unwrap())
}

async fn order(lab: Lab) {
    let high = busy(&lab, Hooks::default()).await;
    let actor = &high.actor;
    let recipient = actor.recipient::<Note>();
    actor.tell(Note(1)).unwrap();
    actor.tell(Urgent(2)).unwrap();
    recipient.at(Priority::High).try_tell(Note(3)).unwrap();
    let noted = recipient.at(Priority::High).ask(Note(4)).enqueue().unwrap();
    lab.soon("a send is over", actor.send(Note(5))).await.unwrap();
    lab.soon("a send is over", actor.at(Priority::High).send(Note(6))).await.unwrap();
    lab.soon("a send is over", recipient.at(Priority::High).send(Note(7))).await.unwrap();
    actor.at(Priority::Normal).try_tell(Urgent(8)).unwrap();
    let urgent = actor.ask(Urgent(9)).enqueue().unwrap();
    assert_eq!(actor.queued(), 9);
    assert_eq!(high.handled(&lab).await, ["2", "3", "4", "6", "7", "9", "1", "5", "8"]);
    assert_eq!(lab.soon("an asker is answered", noted).await.unwrap(), 4);
    assert_eq!(lab.soon("an asker is answered", urgent).await.unwrap(), 9);

    let low = busy(&lab, Hooks::default()).await;
    low.actor.at(Priority::Low).tell(Note(1)).unwrap();
    let asked = low.actor.at(Priority::Low).ask(Urgent(2)).enqueue().unwrap();
    low.actor.tell(Note(3)).unwrap();
    low.actor.recipient::<Note>().at(Priority::Low).tell(Note(4)).unwrap();
    low.actor.tell(Note(5)).unwrap();
    assert_eq!(low.handled(&lab).await, ["3", "5", "1", "2", "4"]);
    assert_eq!(lab.soon("an asker is answered", asked).await.unwrap(), 2);
}

async fn share(lab: Lab) {
    const EACH: u32 = 24;
    let busy = busy(&lab, Hooks::default()).await;
    for priority in LANES {
        for _ in 0..EACH {
            busy.actor.at(priority).tell(Note(priority as u32)).unwrap();
        }
    }
    let handled = busy.handled(&lab).await;
    let share = |of: &str, among: &[String]| among.iter().filter(|number| *number == of).count();
    assert_eq!(handled.len(), 3 * EACH as usize);
    for eight in handled.windows(Priority::SHARE).skip(1).take(20) {
        assert_eq!((share("1", eight), share("0", eight)), (1, 1), "{eight:?} of {handled:?}");
    }
    // The highest lane is empty by now.
    let last_high = handled.iter().rposition(|number| number == "2").unwrap();
    for eight in handled[last_high + 1..].windows(Priority::SHARE) {
        let normal_waits = share("1", eight) < Priority::SHARE && eight.contains(&"1".to_owned());
        assert!(!normal_waits || share("0", eight) >= 1, "{eight:?} of {handled:?}");
    }
}

async fn overtakes(lab: Lab) {
    for exposed in [false, true] {
        let busy = busy(&lab, Hooks::default()).await;
        if exposed {
            lab.expose(&busy.actor);
        }
        let second = Gate::new();
        busy.actor.tell(Note(1)).unwrap();
        busy.actor.tell(Hold(2, second.clone())).unwrap();
        busy.actor.tell(Note(3)).unwrap();
        busy.actor.tell(Note(4)).unwrap();
        busy.gate.open();
        lab.soon("the second handler runs", second.reached()).await;
        busy.actor.at(Priority::High).tell(Note(5)).unwrap();
        busy.actor.at(Priority::Low).tell(Note(6)).unwrap();
        busy.actor.tell(Note(7)).unwrap();
        busy.actor.at(Priority::High).tell(Note(8)).unwrap();
        second.open();
        assert_eq!(busy.handled(&lab).await, ["1", "hold 2", "held 2", "5", "8", "3", "4", "7", "6"]);
    }
}

async fn bounded(lab: Lab) {
    let busy = Busy::new(&lab, Hooks::default(), |spawn| spawn.bounded(2, Overflow::Block)).await;
    let actor = &busy.actor;
    actor.at(Priority::Low).tell(Note(1)).unwrap();
    actor.tell(Note(2)).unwrap();
    assert_eq!(actor.at(Priority::High).tell(Note(9)).unwrap_err().kind(), ErrorKind::MailboxFull);
    let third = actor.at(Priority::Low).ask(Note(3)).enqueue().unwrap();
    let fourth = actor.at(Priority::High).ask(Note(4)).enqueue().unwrap();
    // Taking 2 lets 3 in, taking 1 lets 4 in.
    assert_eq!(busy.handled(&lab).await, ["2", "1", "4", "3"]);
    lab.soon("the first in line is answered", third).await.unwrap();
    lab.soon("the second in line is answered", fourth).await.unwrap();

    let busy = Busy::new(&lab, Hooks::default(), |spawn| spawn.bounded(2, Overflow::DropOldest)).await;
    let actor = &busy.actor;
    let lost = actor.at(Priority::Low).ask(Note(1)).enqueue().unwrap();
    actor.at(Priority::High).tell(Note(2)).unwrap();
    actor.tell(Note(3)).unwrap();
    let error = lab.soon("the lowest is dropped", lost).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MailboxFull);
    actor.at(Priority::High).tell(Note(4)).unwrap();
    actor.at(Priority::Low).tell(Note(5)).unwrap();
    assert_eq!(busy.system.dead_letters(), 3);
    assert_eq!(busy.handled(&lab).await, ["2", "4"]);
}

async fn starting(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let worker = Worker::with(&journal, Hooks { start: Act::Hold(gate.clone()), ..Hooks::default() });
    let spawner = system.clone();
    let spawned = tokio::spawn(async move { spawner.spawn(worker).name("a").await });
    lab.soon("the actor is in `on_start`", gate.reached()).await;
    let actor = system.get::<Worker>("a").unwrap();
    for priority in LANES {
        actor.at(priority).tell(Note(priority as u32)).unwrap();
    }
    gate.open();
    lab.soon("the actor starts", spawned).await.unwrap().unwrap();
    actor.drain();
    lab.soon("the actor ends", actor.wait()).await.unwrap();
    assert_eq!(journal.entries()[1..4], ["2", "1", "0"]);
}

async fn wakes(lab: Lab) {
    let system = lab.system();
    for exposed in [false, true] {
        let actor = system.spawn(Worker::new(&Journal::new())).await.unwrap();
        if exposed {
            lab.expose(&actor);
        }
        for (number, priority) in LANES.into_iter().cycle().take(12).enumerate() {
            lab.rest().await;
            let asked = actor.at(priority).ask(Note(number as u32));
            assert_eq!(lab.soon("the actor is woken", asked).await.unwrap(), number as u32);
        }
    }
    assert_eq!(LANES.map(|priority| Priority::try_from(priority as u8).unwrap()), LANES);
    let error = Priority::try_from(3).unwrap_err();
    assert_eq!((error.kind(), error.get("level")), (ErrorKind::InvalidPriority, Some("3")));
}

/// Everything that waited is answered, and counted.
async fn buried(lab: &Lab, busy: Busy, asks: [PendingReply<Note>; 3], dead: u64) {
    lab.soon("the actor ends", busy.actor.wait()).await.unwrap();
    for asked in asks {
        let error = lab.soon("an asker is answered", asked).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Stopped);
    }
    assert_eq!(busy.system.dead_letters(), dead);
}

async fn ends(lab: Lab) {
    let stopping = Gate::new();
    let stopped = busy(&lab, Hooks { stop: Act::Hold(stopping.clone()), ..Hooks::default() }).await;
    let asks = ask_each(&stopped.actor);
    stopped.actor.stop();
    stopped.gate.open();
    lab.soon("the actor is in `on_stop`", stopping.reached()).await;
    for priority in LANES {
        let error = stopped.actor.at(priority).tell(Note(9)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Stopped);
    }
    stopping.open();
    lab.soon("the actor ends", stopped.actor.wait()).await.unwrap();
    for priority in LANES {
        let back = stopped.actor.at(priority).try_tell(Note(9)).unwrap_err();
        assert_eq!((back.reason.kind(), back.message.0), (ErrorKind::Stopped, 9));
    }
    buried(&lab, stopped, asks, 6).await;

    let killed = busy(&lab, Hooks::default()).await;
    let asks = ask_each(&killed.actor);
    killed.actor.kill();
    buried(&lab, killed, asks, 3).await;

    let failed = busy(&lab, Hooks::default()).await;
    failed.actor.at(Priority::High).tell(Boom("over")).unwrap();
    let asks = ask_each(&failed.actor);
    failed.gate.open();
    buried(&lab, failed, asks, 3).await;
}

async fn drained(lab: Lab) {
    let busy = busy(&lab, Hooks::default()).await;
    let asks = ask_each(&busy.actor);
    assert_eq!(busy.handled(&lab).await, ["2", "1", "0"]);
    for (asked, expected) in asks.into_iter().zip(0..) {
        assert_eq!(lab.soon("an asker is answered", asked).await.unwrap(), expected);
    }
}

async fn native_stop(lab: Lab) {
    let busy = busy(&lab, Hooks::default()).await;
    let asks = ask_each(&busy.actor);
    lab.native_stop(&busy.actor).await;
    busy.gate.open();
    lab.soon("the actor ends", busy.actor.wait()).await.unwrap();
    // Handled or refused: a native stop may handle what was accepted.
    let mut refused = 0;
    for asked in asks {
        refused += u64::from(lab.soon("an asker is answered", asked).await.is_err());
    }
    assert_eq!(busy.system.dead_letters(), refused);
}

async fn native_kill(lab: Lab) {
    let busy = busy(&lab, Hooks::default()).await;
    let asks = ask_each(&busy.actor);
    lab.native_kill(&busy.actor).await;
    buried(&lab, busy, asks, 3).await;
}

async fn runtime_dropped(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let (spawner, worker, hold) = (system.clone(), Worker::new(&journal), gate.clone());
    let (actor, asks) = lab
        .soon(
            "the runtime is dropped",
            lab.elsewhere(move || async move {
                let actor = spawner.spawn(worker).await.unwrap();
                actor.tell(Hold(0, hold.clone())).unwrap();
                hold.reached().await;
                let asks = ask_each(&actor);
                (actor, asks)
            }),
        )
        .await;
    buried(&lab, Busy { system, journal, gate, actor }, asks, 3).await;
}
