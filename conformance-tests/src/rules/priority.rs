//! Priority lanes of a mailbox, without starvation.

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, ErrorKind, Overflow, PendingReply, Priority};

use crate::fixtures::busy::BusyWorker;
use crate::fixtures::hooks::{HookAction, Hooks};
use crate::fixtures::worker::{Hold, Note, PanicWith, Urgent, Worker};
use crate::rules::body;
use crate::{Capability, Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "PRIO-01",
        Topic::Priority,
        &[(Topic::Priority, State::Handling), (Topic::Order, State::Handling)],
        "Queued messages are handled by priority, highest first, and in the order of sending within a priority. The priority is that of the send or else of the message type, for `tell`, `try_tell`, `send` and `ask`.",
        "An urgent message does not wait behind other messages.",
        body!(order),
    ),
    Rule::must(
        "PRIO-02",
        Topic::Priority,
        &[(Topic::Priority, State::Handling)],
        "While a lower lane has messages, one of every eight handled messages comes from it.",
        "Strict priority would starve the low lanes.",
        body!(share),
    ),
    Rule::must(
        "PRIO-03",
        Topic::Priority,
        &[(Topic::Priority, State::Handling)],
        "A high-priority message overtakes all messages that are not being handled yet, including messages in the batch that the actor has already taken from its mailbox.",
        "Batching is an implementation detail.",
        body!(overtakes),
    ),
    Rule::must(
        "PRIO-04",
        Topic::Priority,
        &[(Topic::Priority, State::Handling), (Topic::Bound, State::Handling)],
        "The capacity of a bounded mailbox counts all lanes together. Waiting senders are admitted in FIFO order and then handled by priority. `Overflow::DropOldest` drops the oldest message of the lowest lane.",
        "A priority does not bypass the capacity.",
        body!(bounded),
    ),
    Rule::must(
        "PRIO-05",
        Topic::Priority,
        &[(Topic::Priority, State::Starting)],
        "Messages sent during `on_start` are handled by priority after it.",
        "Messages pile up during a slow start.",
        body!(starting),
    ),
    Rule::must(
        "PRIO-06",
        Topic::Priority,
        &[(Topic::Priority, State::Idle)],
        "A message of any priority wakes an idle actor, repeatedly; an unknown priority level fails with `InvalidPriority`.",
        "Every lane wakes the actor, and a mistake is reported where it is made.",
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
        "A stop or a kill overtakes every lane: queued messages of any lane become dead letters, their askers get `Stopped`, and messages of any priority are refused.",
        "Even an urgent message needs a running actor.",
        body!(ends),
    ),
    Rule::must(
        "PRIO-08",
        Topic::Priority,
        &[(Topic::Priority, State::Drained)],
        "A drain handles all lanes by priority.",
        "All queued messages were accepted.",
        body!(drained),
    ),
    Rule::must(
        "PRIO-09",
        Topic::Priority,
        &[(Topic::Priority, State::NativeStop)],
        "After a native stop, no message remains in any lane.",
        "A native stop is an ordinary end of an actor.",
        body!(native_stop),
    )
    .needs(Capability::NativeStop)
    .spi(&["ignores-stop"]),
    Rule::must(
        "PRIO-10",
        Topic::Priority,
        &[(Topic::Priority, State::NativeKill)],
        "After a native kill, no message remains in any lane.",
        "A native kill is an ordinary end of an actor.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "keeps-cell-after-kill"]),
    Rule::must(
        "PRIO-11",
        Topic::Priority,
        &[(Topic::Priority, State::RuntimeDropped)],
        "After the runtime of the actor was dropped, no message remains in any lane.",
        "Askers on other runtimes must not wait for a runtime that is gone.",
        body!(runtime_dropped),
    )
    .spi(&["foreign-runtime"]),
];

const LANES: [Priority; 3] = [Priority::Low, Priority::Normal, Priority::High];

async fn busy(rule: &RuleContext, hooks: Hooks) -> BusyWorker {
    BusyWorker::new(rule, hooks, |spawn| spawn).await
}

/// An ask in every lane.
fn ask_each(actor: &ActorRef<Worker>) -> [PendingReply<Note>; 3] {
    LANES.map(|priority| actor.at(priority).ask(Note(priority as u32)).enqueue().unwrap())
}

async fn order(rule: RuleContext) {
    let high = busy(&rule, Hooks::default()).await;
    let actor = &high.actor;
    let recipient = actor.recipient::<Note>();
    actor.tell(Note(1)).unwrap();
    actor.tell(Urgent(2)).unwrap();
    recipient.at(Priority::High).try_tell(Note(3)).unwrap();
    let noted = recipient.at(Priority::High).ask(Note(4)).enqueue().unwrap();
    rule.soon("the send returns", actor.send(Note(5))).await.unwrap();
    rule.soon("the send returns", actor.at(Priority::High).send(Note(6))).await.unwrap();
    rule.soon("the send returns", recipient.at(Priority::High).send(Note(7))).await.unwrap();
    actor.at(Priority::Normal).try_tell(Urgent(8)).unwrap();
    let urgent = actor.ask(Urgent(9)).enqueue().unwrap();
    assert_eq!(actor.queued(), Some(9));
    assert_eq!(high.handled(&rule).await, ["2", "3", "4", "6", "7", "9", "1", "5", "8"]);
    assert_eq!(rule.soon("an asker is answered", noted).await.unwrap(), 4);
    assert_eq!(rule.soon("an asker is answered", urgent).await.unwrap(), 9);

    let low = busy(&rule, Hooks::default()).await;
    low.actor.at(Priority::Low).tell(Note(1)).unwrap();
    let asked = low.actor.at(Priority::Low).ask(Urgent(2)).enqueue().unwrap();
    low.actor.tell(Note(3)).unwrap();
    low.actor.recipient::<Note>().at(Priority::Low).tell(Note(4)).unwrap();
    low.actor.tell(Note(5)).unwrap();
    assert_eq!(low.handled(&rule).await, ["3", "5", "1", "2", "4"]);
    assert_eq!(rule.soon("an asker is answered", asked).await.unwrap(), 2);
}

async fn share(rule: RuleContext) {
    const EACH: u32 = 24;
    let busy = busy(&rule, Hooks::default()).await;
    for priority in LANES {
        for _ in 0..EACH {
            busy.actor.at(priority).tell(Note(priority as u32)).unwrap();
        }
    }
    let handled = busy.handled(&rule).await;
    let share = |of: &str, among: &[String]| among.iter().filter(|number| *number == of).count();
    assert_eq!(handled.len(), 3 * EACH as usize);
    for eight in handled.windows(Priority::SHARE).skip(1).take(20) {
        assert_eq!((share("1", eight), share("0", eight)), (1, 1), "{eight:?} of {handled:?}");
    }
    // The highest lane is empty from here on.
    let last_high = handled.iter().rposition(|number| number == "2").unwrap();
    for eight in handled[last_high + 1..].windows(Priority::SHARE) {
        let normal_waits = share("1", eight) < Priority::SHARE && eight.contains(&"1".to_owned());
        assert!(!normal_waits || share("0", eight) >= 1, "{eight:?} of {handled:?}");
    }
}

async fn overtakes(rule: RuleContext) {
    for native_handle_taken in [false, true] {
        let busy = busy(&rule, Hooks::default()).await;
        if native_handle_taken {
            rule.take_native_handle(&busy.actor);
        }
        let second = Gate::new();
        busy.actor.tell(Note(1)).unwrap();
        busy.actor.tell(Hold(2, second.clone())).unwrap();
        busy.actor.tell(Note(3)).unwrap();
        busy.actor.tell(Note(4)).unwrap();
        busy.gate.open();
        rule.soon("the second handler runs", second.reached()).await;
        busy.actor.at(Priority::High).tell(Note(5)).unwrap();
        busy.actor.at(Priority::Low).tell(Note(6)).unwrap();
        busy.actor.tell(Note(7)).unwrap();
        busy.actor.at(Priority::High).tell(Note(8)).unwrap();
        second.open();
        assert_eq!(busy.handled(&rule).await, ["1", "hold 2", "held 2", "5", "8", "3", "4", "7", "6"]);
    }
}

async fn bounded(rule: RuleContext) {
    let busy = BusyWorker::new(&rule, Hooks::default(), |spawn| spawn.bounded(2, Overflow::Block)).await;
    let actor = &busy.actor;
    actor.at(Priority::Low).tell(Note(1)).unwrap();
    actor.tell(Note(2)).unwrap();
    assert_eq!(actor.at(Priority::High).tell(Note(9)).unwrap_err().kind(), ErrorKind::MailboxFull);
    let third = actor.at(Priority::Low).ask(Note(3)).enqueue().unwrap();
    let fourth = actor.at(Priority::High).ask(Note(4)).enqueue().unwrap();
    // Taking 2 admits 3, and taking 1 admits 4.
    assert_eq!(busy.handled(&rule).await, ["2", "1", "4", "3"]);
    rule.soon("the first waiting asker is answered", third).await.unwrap();
    rule.soon("the second waiting asker is answered", fourth).await.unwrap();

    let busy = BusyWorker::new(&rule, Hooks::default(), |spawn| spawn.bounded(2, Overflow::DropOldest)).await;
    let actor = &busy.actor;
    let lost = actor.at(Priority::Low).ask(Note(1)).enqueue().unwrap();
    actor.at(Priority::High).tell(Note(2)).unwrap();
    actor.tell(Note(3)).unwrap();
    let error = rule.soon("the message of the lowest lane is dropped", lost).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MailboxFull);
    actor.at(Priority::High).tell(Note(4)).unwrap();
    actor.at(Priority::Low).tell(Note(5)).unwrap();
    assert_eq!(busy.system.dead_letter_count(), 3);
    assert_eq!(busy.handled(&rule).await, ["2", "4"]);
}

async fn starting(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let worker = Worker::with(&journal, Hooks { start: HookAction::Hold(gate.clone()), ..Hooks::default() });
    let spawner = system.clone();
    let spawned = tokio::spawn(async move { spawner.spawn(worker).name("a").await });
    rule.soon("the actor is in `on_start`", gate.reached()).await;
    let actor = system.get::<Worker>("a").unwrap();
    for priority in LANES {
        actor.at(priority).tell(Note(priority as u32)).unwrap();
    }
    gate.open();
    rule.soon("the actor starts", spawned).await.unwrap().unwrap();
    actor.drain();
    rule.soon("the actor ends", actor.wait()).await.unwrap();
    assert_eq!(journal.entries()[1..4], ["2", "1", "0"]);
}

async fn wakes(rule: RuleContext) {
    let system = rule.system();
    for native_handle_taken in [false, true] {
        let actor = system.spawn(Worker::new(&Journal::new())).await.unwrap();
        if native_handle_taken {
            rule.take_native_handle(&actor);
        }
        for (number, priority) in LANES.into_iter().cycle().take(12).enumerate() {
            rule.let_idle().await;
            let asked = actor.at(priority).ask(Note(number as u32));
            assert_eq!(rule.soon("the actor is woken", asked).await.unwrap(), number as u32);
        }
    }
    assert_eq!(LANES.map(|priority| Priority::try_from(priority as u8).unwrap()), LANES);
    let error = Priority::try_from(3).unwrap_err();
    assert_eq!((error.kind(), error.get("level")), (ErrorKind::InvalidPriority, Some("3")));
}

/// All queued asks are refused and counted as dead letters.
async fn assert_refused(rule: &RuleContext, busy: BusyWorker, asks: [PendingReply<Note>; 3], dead: u64) {
    rule.soon("the actor ends", busy.actor.wait()).await.unwrap();
    for asked in asks {
        let error = rule.soon("an asker is answered", asked).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Stopped);
    }
    assert_eq!(busy.system.dead_letter_count(), dead);
}

async fn ends(rule: RuleContext) {
    let stopping = Gate::new();
    let stopped = busy(&rule, Hooks { stop: HookAction::Hold(stopping.clone()), ..Hooks::default() }).await;
    let asks = ask_each(&stopped.actor);
    stopped.actor.stop();
    stopped.gate.open();
    rule.soon("the actor is in `on_stop`", stopping.reached()).await;
    for priority in LANES {
        let error = stopped.actor.at(priority).tell(Note(9)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Stopped);
    }
    stopping.open();
    rule.soon("the actor ends", stopped.actor.wait()).await.unwrap();
    for priority in LANES {
        let back = stopped.actor.at(priority).try_tell(Note(9)).unwrap_err();
        assert_eq!((back.reason.kind(), back.message.0), (ErrorKind::Stopped, 9));
    }
    assert_refused(&rule, stopped, asks, 6).await;

    let killed = busy(&rule, Hooks::default()).await;
    let asks = ask_each(&killed.actor);
    killed.actor.kill();
    assert_refused(&rule, killed, asks, 3).await;

    let failed = busy(&rule, Hooks::default()).await;
    failed.actor.at(Priority::High).tell(PanicWith("over")).unwrap();
    let asks = ask_each(&failed.actor);
    failed.gate.open();
    assert_refused(&rule, failed, asks, 3).await;
}

async fn drained(rule: RuleContext) {
    let busy = busy(&rule, Hooks::default()).await;
    let asks = ask_each(&busy.actor);
    assert_eq!(busy.handled(&rule).await, ["2", "1", "0"]);
    for (asked, expected) in asks.into_iter().zip(0..) {
        assert_eq!(rule.soon("an asker is answered", asked).await.unwrap(), expected);
    }
}

async fn native_stop(rule: RuleContext) {
    let busy = busy(&rule, Hooks::default()).await;
    let asks = ask_each(&busy.actor);
    rule.native_stop(&busy.actor).await;
    busy.gate.open();
    rule.soon("the actor ends", busy.actor.wait()).await.unwrap();
    // Handled or refused: a native stop may handle accepted messages.
    let mut refused = 0;
    for asked in asks {
        refused += u64::from(rule.soon("an asker is answered", asked).await.is_err());
    }
    assert_eq!(busy.system.dead_letter_count(), refused);
}

async fn native_kill(rule: RuleContext) {
    let busy = busy(&rule, Hooks::default()).await;
    let asks = ask_each(&busy.actor);
    rule.native_kill(&busy.actor).await;
    assert_refused(&rule, busy, asks, 3).await;
}

async fn runtime_dropped(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let (spawner, worker, hold) = (system.clone(), Worker::new(&journal), gate.clone());
    let (actor, asks) = rule
        .soon(
            "the runtime is dropped",
            rule.on_dropped_runtime(move || async move {
                let actor = spawner.spawn(worker).await.unwrap();
                actor.tell(Hold(0, hold.clone())).unwrap();
                hold.reached().await;
                let asks = ask_each(&actor);
                (actor, asks)
            }),
        )
        .await;
    assert_refused(&rule, BusyWorker { system, journal, gate, actor }, asks, 3).await;
}
