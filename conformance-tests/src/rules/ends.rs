//! After the end: whatever way the actor died, it is gone in the same way.

use std::any::type_name;
use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, ErrorKind, System};

use super::body;
use crate::actors::{Boom, Count, Hold, Note, TellMyself, Worker};
use crate::lab::Events;
use crate::{Capability, Lab, Rule, State, Topic};

macro_rules! all_topics {
    ($state:ident) => {
        &[
            (Topic::Tell, State::$state),
            (Topic::Ask, State::$state),
            (Topic::Order, State::$state),
            (Topic::Stop, State::$state),
            (Topic::Drain, State::$state),
            (Topic::Kill, State::$state),
            (Topic::Wait, State::$state),
            (Topic::Name, State::$state),
            (Topic::Shutdown, State::$state),
            (Topic::Tell, State::Dead),
            (Topic::Ask, State::Dead),
            (Topic::Order, State::Dead),
            (Topic::Stop, State::Dead),
            (Topic::Drain, State::Dead),
            (Topic::Kill, State::Dead),
            (Topic::Wait, State::Dead),
            (Topic::Name, State::Dead),
            (Topic::Shutdown, State::Dead),
        ]
    };
}

const INTENT: &str = "Programs must not have to know how an actor died to know that it is dead.";

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "END-01",
        Topic::Stop,
        all_topics!(Stopped),
        "After a stop the queue is settled in order, sends are refused with the reason, waiters and names are served at once, further ends change nothing.",
        INTENT,
        body!(stopped),
    ),
    Rule::must(
        "END-02",
        Topic::Drain,
        all_topics!(Drained),
        "After a drain the same holds, with all that was queued handled in order.",
        INTENT,
        body!(drained),
    ),
    Rule::must(
        "END-03",
        Topic::Kill,
        all_topics!(Killed),
        "After a kill the same holds as after a stop.",
        INTENT,
        body!(killed),
    ),
    Rule::must(
        "END-04",
        Topic::Panic,
        all_topics!(Failed),
        "After a failure the same holds as after a stop.",
        INTENT,
        body!(failed),
    ),
    Rule::must(
        "END-05",
        Topic::Native,
        all_topics!(NativeStop),
        "After a native stop the same holds as after a stop or a drain.",
        INTENT,
        body!(native_stopped),
    )
    .needs(Capability::NativeStop)
    .spi(&["ignores-stop", "stop-drops-cell"]),
    Rule::must(
        "END-06",
        Topic::Native,
        all_topics!(NativeKill),
        "After a native kill the same holds as after a kill.",
        INTENT,
        body!(native_killed),
    )
    .needs(Capability::NativeKill)
    .spi(&["keeps-cell-after-kill", "ignores-kill", "kill-runs-hooks"]),
    Rule::must(
        "END-07",
        Topic::Native,
        all_topics!(RuntimeDropped),
        "After the runtime that ran it was dropped, the same holds as after a kill, for callers on another runtime.",
        "Askers and waiters elsewhere in the process must not wait for a runtime that is gone.",
        body!(runtime_dropped),
    )
    .spi(&["foreign-runtime"]),
];

/// An actor in a handler, with three messages queued: two told, one asked in between.
struct Busy {
    system: System,
    events: Events,
    journal: Journal,
    gate: Gate,
    actor: ActorRef<Worker>,
    held: dactor_core::PendingReply<Hold>,
    asked: dactor_core::PendingReply<Count>,
}

async fn busy(lab: &Lab) -> Busy {
    let (journal, gate) = (Journal::new(), Gate::new());
    let (system, events) = lab.observed();
    let actor = system.spawn(Worker::new(&journal)).name("a").await.unwrap();
    let held = actor.ask(Hold(1, gate.clone())).enqueue().unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    actor.tell(Note(2)).unwrap();
    let asked = actor.ask(Count()).enqueue().unwrap();
    actor.tell(TellMyself(vec![])).unwrap();
    Busy { system, events, journal, gate, actor, held, asked }
}

const LOST: [&str; 3] = ["dead Note", "dead Count", "dead TellMyself"];

/// What every dead actor shows.
async fn assert_dead(lab: &Lab, busy: &Busy, reason: &str) {
    let Busy { system, actor, .. } = busy;
    assert_eq!(lab.soon("the actor ends", actor.wait()).await.unwrap().to_string(), reason);
    assert!(!actor.is_alive());
    assert_eq!(system.live(), 0);
    let dead = system.dead_letters();
    let named = |error: dactor_core::Error| {
        let of = |name| error.get(name).map(str::to_owned);
        (error.kind(), of("actor"), of("message"), of("reason"))
    };
    let expected = (
        ErrorKind::Stopped,
        Some("pekko://lab/user/a".into()),
        Some(type_name::<Note>().to_owned()),
        Some(reason.to_owned()),
    );
    assert_eq!(named(actor.tell(Note(3)).unwrap_err()), expected);
    assert_eq!(named(actor.send(Note(4)).await.unwrap_err()), expected);
    assert_eq!(named(lab.soon("an ask is refused", actor.ask(Note(5))).await.unwrap_err()), expected);
    assert_eq!(named(actor.ask(Note(6)).timeout(Duration::from_secs(1)).enqueue().unwrap_err()), expected);
    assert_eq!(system.dead_letters(), dead + 4);
    let back = actor.try_tell(Note(7)).unwrap_err();
    assert_eq!((back.message.0, named(back.reason)), (7, expected));
    assert_eq!(system.dead_letters(), dead + 4, "what is handed back is no dead letter");
    actor.stop();
    actor.drain();
    actor.kill();
    assert_eq!(lab.soon("a late waiter is told", actor.wait()).await.unwrap().to_string(), reason);
    assert_eq!(actor.stop_reason().expect("a reason").to_string(), reason);
    assert!(system.get::<Worker>("a").is_none());
    lab.soon("there is nobody to wait for", system.wait_all()).await.unwrap();
    lab.soon("there is nobody to shut down", system.shutdown()).await.unwrap();
    assert_eq!(actor.stop_reason().expect("a reason").to_string(), reason);
}

async fn assert_lost(lab: &Lab, busy: &mut Busy) {
    let asked = lab.soon("the queued ask is answered", &mut busy.asked).await;
    assert_eq!(asked.unwrap_err().kind(), ErrorKind::Stopped);
    lab.soon("the actor ends", busy.actor.wait()).await.unwrap();
    assert_eq!(busy.events.journal().entries(), LOST);
}

async fn stopped(lab: Lab) {
    let mut busy = busy(&lab).await;
    busy.actor.stop();
    busy.gate.open();
    assert_lost(&lab, &mut busy).await;
    assert_eq!(busy.journal.entries(), ["start", "hold 1", "held 1", "stop: stopped", "drop"]);
    assert_dead(&lab, &busy, "stopped").await;
}

async fn drained(lab: Lab) {
    let mut busy = busy(&lab).await;
    busy.actor.drain();
    busy.gate.open();
    assert_eq!(lab.soon("the queued ask is answered", &mut busy.asked).await.unwrap(), 1);
    lab.soon("the actor ends", busy.actor.wait()).await.unwrap();
    assert_eq!(busy.journal.entries(), ["start", "hold 1", "held 1", "2", "stop: drained", "drop"]);
    assert_eq!(busy.events.journal().entries(), [""; 0]);
    assert_dead(&lab, &busy, "drained").await;
}

async fn killed(lab: Lab) {
    let mut busy = busy(&lab).await;
    busy.actor.kill();
    assert_lost(&lab, &mut busy).await;
    assert_eq!(busy.journal.entries(), ["start", "hold 1", "drop"]);
    assert_dead(&lab, &busy, "killed").await;
}

async fn failed(lab: Lab) {
    let busy = busy(&lab).await;
    let boom = busy.actor.ask(Boom("bang")).enqueue().unwrap();
    let after = busy.actor.ask(Note(9)).enqueue().unwrap();
    busy.gate.open();
    assert_eq!(lab.soon("the asker is answered", boom).await.unwrap_err().kind(), ErrorKind::Panicked);
    assert_eq!(lab.soon("the next is answered", after).await.unwrap_err().kind(), ErrorKind::Stopped);
    let reason = lab.soon("the actor ends", busy.actor.wait()).await.unwrap();
    assert_eq!(reason.failure().expect("a failure").kind(), ErrorKind::Panicked);
    assert_eq!(busy.journal.entries(), ["start", "hold 1", "held 1", "2", "drop"]);
    assert_eq!(busy.events.journal().entries(), ["failed Boom", "dead Note"]);
    assert_dead(&lab, &busy, &reason.to_string()).await;
}

async fn native_stopped(lab: Lab) {
    let mut busy = busy(&lab).await;
    lab.native_stop(&busy.actor).await;
    busy.gate.open();
    assert_eq!(lab.soon("the running ask is answered", &mut busy.held).await.unwrap(), 1);
    let answered = lab.soon("the queued ask is answered", &mut busy.asked).await;
    let reason = lab.soon("the actor ends", busy.actor.wait()).await.unwrap().to_string();
    assert!(reason == "stopped" || reason == "drained", "{reason}");
    let journal = busy.journal.entries();
    assert_eq!(journal[journal.len() - 2..], [format!("stop: {reason}"), "drop".to_owned()]);
    match answered {
        Ok(count) => {
            assert_eq!(count, 1);
            assert_eq!(journal[..4], ["start", "hold 1", "held 1", "2"]);
            // What was told last may still have been left in the queue, but it is not lost.
            let lost = busy.events.journal().entries();
            assert!(lost.is_empty() || lost == LOST[2..], "{lost:?}");
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Stopped);
            let lost = busy.events.journal().entries();
            let kept = journal.iter().filter(|entry| *entry == "2").count();
            assert_eq!(lost, LOST[kept..]);
        }
    }
    assert_dead(&lab, &busy, &reason).await;
}

async fn native_killed(lab: Lab) {
    let mut busy = busy(&lab).await;
    lab.native_kill(&busy.actor).await;
    let held = lab.soon("the asker of the dropped handler is answered", &mut busy.held).await;
    assert_eq!(held.unwrap_err().kind(), ErrorKind::Interrupted);
    assert_lost(&lab, &mut busy).await;
    assert_eq!(busy.journal.entries(), ["start", "hold 1", "drop"]);
    assert_dead(&lab, &busy, "killed").await;
}

async fn runtime_dropped(lab: Lab) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let (system, events) = lab.observed();
    let (spawner, worker, hold) = (system.clone(), Worker::new(&journal), gate.clone());
    let patience = lab.settings().patience;
    let born = lab.elsewhere(move || async move {
        let actor = spawner.spawn(worker).name("a").await.unwrap();
        let held = actor.ask(Hold(1, hold.clone())).enqueue().unwrap();
        tokio::time::timeout(patience, hold.reached()).await.expect("the handler runs");
        actor.tell(Note(2)).unwrap();
        let asked = actor.ask(Count()).enqueue().unwrap();
        actor.tell(TellMyself(vec![])).unwrap();
        (actor, held, asked)
    });
    let (actor, held, asked) = lab.soon("the runtime is dropped", born).await;
    let mut busy = Busy { system, events, journal, gate, actor, held, asked };
    let held = lab.soon("the asker of the dropped handler is answered", &mut busy.held).await;
    assert_eq!(held.unwrap_err().kind(), ErrorKind::Interrupted);
    assert_lost(&lab, &mut busy).await;
    assert_eq!(busy.journal.entries(), ["start", "hold 1", "drop"]);
    assert_dead(&lab, &busy, "killed").await;
}
