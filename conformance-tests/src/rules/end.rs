//! An ended actor behaves the same however it ended.

use std::any::type_name;
use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, ErrorKind, System};

use crate::events::Events;
use crate::fixtures::worker::{Count, Hold, Note, PanicWith, TellSelf, Worker};
use crate::rules::body;
use crate::{Capability, Rule, RuleContext, State, Topic};

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

const INTENT: &str = "Callers need not know how an actor ended to know that it has ended.";

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "END-01",
        Topic::Stop,
        all_topics!(Stopped),
        "After a stop, queued messages are refused in order, sends fail with `Stopped` and the reason, `wait` returns at once, the name is free, and further stops, drains and kills have no effect.",
        INTENT,
        body!(stopped),
    ),
    Rule::must(
        "END-02",
        Topic::Drain,
        all_topics!(Drained),
        "After a drain, all queued messages have been handled in order; otherwise the actor behaves as after a stop (END-01).",
        INTENT,
        body!(drained),
    ),
    Rule::must(
        "END-03",
        Topic::Kill,
        all_topics!(Killed),
        "After a kill, the actor behaves as after a stop (END-01).",
        INTENT,
        body!(killed),
    ),
    Rule::must(
        "END-04",
        Topic::Panic,
        all_topics!(Failed),
        "After a failure, the actor behaves as after a stop (END-01).",
        INTENT,
        body!(failed),
    ),
    Rule::must(
        "END-05",
        Topic::Native,
        all_topics!(NativeStop),
        "After a native stop, the actor behaves as after a stop or a drain (END-01, END-02).",
        INTENT,
        body!(native_stopped),
    )
    .needs(Capability::NativeStop)
    .spi(&["ignores-stop", "stop-drops-cell"]),
    Rule::must(
        "END-06",
        Topic::Native,
        all_topics!(NativeKill),
        "After a native kill, the actor behaves as after a kill (END-03).",
        INTENT,
        body!(native_killed),
    )
    .needs(Capability::NativeKill)
    .spi(&["keeps-cell-after-kill", "ignores-kill", "kill-runs-hooks"]),
    Rule::must(
        "END-07",
        Topic::Native,
        all_topics!(RuntimeDropped),
        "After the runtime of an actor was dropped, the actor behaves as after a kill (END-03) for callers on another runtime.",
        "Callers on other runtimes must not wait for a runtime that is gone.",
        body!(runtime_dropped),
    )
    .spi(&["foreign-runtime"]),
];

/// An actor in a handler, with three queued messages: told, asked, told.
struct Busy {
    system: System,
    events: Events,
    journal: Journal,
    gate: Gate,
    actor: ActorRef<Worker>,
    held: dactor_core::PendingReply<Hold>,
    asked: dactor_core::PendingReply<Count>,
}

async fn busy(rule: &RuleContext) -> Busy {
    let (journal, gate) = (Journal::new(), Gate::new());
    let (system, events) = rule.system_with_events();
    let actor = system.spawn(Worker::new(&journal)).name("a").await.unwrap();
    let held = actor.ask(Hold(1, gate.clone())).enqueue().unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    actor.tell(Note(2)).unwrap();
    let asked = actor.ask(Count()).enqueue().unwrap();
    actor.tell(TellSelf(vec![])).unwrap();
    Busy { system, events, journal, gate, actor, held, asked }
}

const LOST: [&str; 3] = ["dead Note", "dead Count", "dead TellSelf"];

/// Asserts the behaviour of every ended actor.
async fn assert_dead(rule: &RuleContext, busy: &Busy, reason: &str) {
    let Busy { system, actor, .. } = busy;
    assert_eq!(rule.soon("the actor ends", actor.wait()).await.unwrap().to_string(), reason);
    assert!(actor.is_alive() == Some(false));
    assert_eq!(system.actor_count(), 0);
    let dead = system.dead_letter_count();
    let named = |error: dactor_core::Error| {
        let of = |name| error.get(name).map(str::to_owned);
        (error.kind(), of("actor"), of("message"), of("reason"))
    };
    let expected = (
        ErrorKind::Stopped,
        Some("pekko://test/user/a".into()),
        Some(type_name::<Note>().to_owned()),
        Some(reason.to_owned()),
    );
    assert_eq!(named(actor.tell(Note(3)).unwrap_err()), expected);
    assert_eq!(named(actor.send(Note(4)).await.unwrap_err()), expected);
    assert_eq!(named(rule.soon("an ask is refused", actor.ask(Note(5))).await.unwrap_err()), expected);
    assert_eq!(named(actor.ask(Note(6)).timeout(Duration::from_secs(1)).enqueue().unwrap_err()), expected);
    assert_eq!(system.dead_letter_count(), dead + 4);
    let back = actor.try_tell(Note(7)).unwrap_err();
    assert_eq!((back.message.0, named(back.reason)), (7, expected));
    assert_eq!(system.dead_letter_count(), dead + 4, "a returned message is no dead letter");
    actor.stop();
    actor.drain();
    actor.kill();
    assert_eq!(rule.soon("a late `wait` returns", actor.wait()).await.unwrap().to_string(), reason);
    assert_eq!(actor.stop_reason().expect("a reason").to_string(), reason);
    assert!(system.get::<Worker>("a").is_none());
    rule.soon("`wait_all` returns", system.wait_all()).await.unwrap();
    rule.soon("the shutdown returns", system.shutdown()).await.unwrap();
    assert_eq!(actor.stop_reason().expect("a reason").to_string(), reason);
}

async fn assert_lost(rule: &RuleContext, busy: &mut Busy) {
    let asked = rule.soon("the queued ask is answered", &mut busy.asked).await;
    assert_eq!(asked.unwrap_err().kind(), ErrorKind::Stopped);
    rule.soon("the actor ends", busy.actor.wait()).await.unwrap();
    assert_eq!(busy.events.journal().entries(), LOST);
}

async fn stopped(rule: RuleContext) {
    let mut busy = busy(&rule).await;
    busy.actor.stop();
    busy.gate.open();
    assert_lost(&rule, &mut busy).await;
    assert_eq!(busy.journal.entries(), ["start", "hold 1", "held 1", "stop: stopped", "drop"]);
    assert_dead(&rule, &busy, "stopped").await;
}

async fn drained(rule: RuleContext) {
    let mut busy = busy(&rule).await;
    busy.actor.drain();
    busy.gate.open();
    assert_eq!(rule.soon("the queued ask is answered", &mut busy.asked).await.unwrap(), 1);
    rule.soon("the actor ends", busy.actor.wait()).await.unwrap();
    assert_eq!(busy.journal.entries(), ["start", "hold 1", "held 1", "2", "stop: drained", "drop"]);
    assert_eq!(busy.events.journal().entries(), [""; 0]);
    assert_dead(&rule, &busy, "drained").await;
}

async fn killed(rule: RuleContext) {
    let mut busy = busy(&rule).await;
    busy.actor.kill();
    assert_lost(&rule, &mut busy).await;
    assert_eq!(busy.journal.entries(), ["start", "hold 1", "drop"]);
    assert_dead(&rule, &busy, "killed").await;
}

async fn failed(rule: RuleContext) {
    let busy = busy(&rule).await;
    let panicking = busy.actor.ask(PanicWith("bang")).enqueue().unwrap();
    let after = busy.actor.ask(Note(9)).enqueue().unwrap();
    busy.gate.open();
    assert_eq!(rule.soon("the asker is answered", panicking).await.unwrap_err().kind(), ErrorKind::Panicked);
    assert_eq!(rule.soon("the next ask is answered", after).await.unwrap_err().kind(), ErrorKind::Stopped);
    let reason = rule.soon("the actor ends", busy.actor.wait()).await.unwrap();
    assert_eq!(reason.failure().expect("a failure").kind(), ErrorKind::Panicked);
    assert_eq!(busy.journal.entries(), ["start", "hold 1", "held 1", "2", "drop"]);
    assert_eq!(busy.events.journal().entries(), ["failed PanicWith", "dead Note"]);
    assert_dead(&rule, &busy, &reason.to_string()).await;
}

async fn native_stopped(rule: RuleContext) {
    let mut busy = busy(&rule).await;
    rule.native_stop(&busy.actor).await;
    busy.gate.open();
    assert_eq!(rule.soon("the running ask is answered", &mut busy.held).await.unwrap(), 1);
    let answered = rule.soon("the queued ask is answered", &mut busy.asked).await;
    let reason = rule.soon("the actor ends", busy.actor.wait()).await.unwrap().to_string();
    assert!(reason == "stopped" || reason == "drained", "{reason}");
    let journal = busy.journal.entries();
    assert_eq!(journal[journal.len() - 2..], [format!("stop: {reason}"), "drop".to_owned()]);
    match answered {
        Ok(count) => {
            assert_eq!(count, 1);
            assert_eq!(journal[..4], ["start", "hold 1", "held 1", "2"]);
            // The last told message may remain in the queue; then it is a dead letter.
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
    assert_dead(&rule, &busy, &reason).await;
}

async fn native_killed(rule: RuleContext) {
    let mut busy = busy(&rule).await;
    rule.native_kill(&busy.actor).await;
    let held = rule.soon("the asker of the dropped handler is answered", &mut busy.held).await;
    assert_eq!(held.unwrap_err().kind(), ErrorKind::Interrupted);
    assert_lost(&rule, &mut busy).await;
    assert_eq!(busy.journal.entries(), ["start", "hold 1", "drop"]);
    assert_dead(&rule, &busy, "killed").await;
}

async fn runtime_dropped(rule: RuleContext) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let (system, events) = rule.system_with_events();
    let (spawner, worker, hold) = (system.clone(), Worker::new(&journal), gate.clone());
    let patience = rule.settings().patience;
    let spawned = rule.on_dropped_runtime(move || async move {
        let actor = spawner.spawn(worker).name("a").await.unwrap();
        let held = actor.ask(Hold(1, hold.clone())).enqueue().unwrap();
        tokio::time::timeout(patience, hold.reached()).await.expect("the handler runs");
        actor.tell(Note(2)).unwrap();
        let asked = actor.ask(Count()).enqueue().unwrap();
        actor.tell(TellSelf(vec![])).unwrap();
        (actor, held, asked)
    });
    let (actor, held, asked) = rule.soon("the runtime is dropped", spawned).await;
    let mut busy = Busy { system, events, journal, gate, actor, held, asked };
    let held = rule.soon("the asker of the dropped handler is answered", &mut busy.held).await;
    assert_eq!(held.unwrap_err().kind(), ErrorKind::Interrupted);
    assert_lost(&rule, &mut busy).await;
    assert_eq!(busy.journal.entries(), ["start", "hold 1", "drop"]);
    assert_dead(&rule, &busy, "killed").await;
}
