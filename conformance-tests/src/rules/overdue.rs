//! Intervals of an actor that is too busy for them, and actors that have nothing to do, on a driven clock.

use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Actor, Context, Handler, Outcome};
use dactor_core::{ActorRef, ErrorKind, MissedTick, Terminated};

use super::body;
use super::fixture::{Desk, Do, note, now, pass, quick};
use crate::actors::{Note, Worker};
use crate::{Lab, Pace, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "TIMER-10",
        Topic::Timers,
        &[(Topic::Timers, State::Handling)],
        "Of an interval at most one tick waits in the mailbox. When it is late, `Burst` lets all others that were missed follow at once, `Delay` waits a whole period from then, and `Skip`, the default, goes on in the old rhythm.",
        "What is right after a pause depends on what the tick is for; a mailbox full of ticks never is.",
        body!(missed),
    )
    .pace(Pace::Driven),
    Rule::must(
        "TIMER-11",
        Topic::Timers,
        &[(Topic::Timers, State::Idle), (Topic::Timers, State::Handling)],
        "The idle timeout comes when no message was handled for so long, counted from the end of the last one, and again for as long as that goes on; it can be replaced and cancelled.",
        "An actor that is busy is not idle, however few messages it gets.",
        body!(idle),
    )
    .pace(Pace::Driven),
    Rule::must(
        "TIMER-12",
        Topic::Timers,
        &[(Topic::Timers, State::Idle)],
        "Messages of timers and `Terminated` do not count for the idle timeout.",
        "An actor that only ticks has nothing to do.",
        body!(what_counts),
    )
    .pace(Pace::Driven),
    Rule::must(
        "TIMER-13",
        Topic::Timers,
        &[(Topic::Timers, State::Handling)],
        "A panic while the message of an interval is made is a panic of the actor.",
        "The code is the actor's, and must not fail in silence.",
        body!(making_panics),
    )
    .pace(Pace::Driven),
];

const SECOND: Duration = Duration::from_secs(1);
const HALF: Duration = Duration::from_millis(500);
const TICK: Duration = Duration::from_millis(1);

/// Notes when it ticks, in milliseconds.
async fn ticking(lab: &Lab, journal: &Journal, missed: Option<MissedTick>) -> ActorRef<Desk> {
    let desk = lab.system().spawn(Desk::default()).await.unwrap();
    let (journal, begin) = (journal.clone(), tokio::time::Instant::now());
    now(lab, &desk, move |ctx| {
        let make = move || {
            let journal = journal.clone();
            quick(move |_, _| {
                journal.note(begin.elapsed().as_millis());
                Ok(0)
            })
        };
        match missed {
            Some(missed) => ctx.timer("tick").missed(missed).every(SECOND, make).unwrap(),
            None => drop(ctx.every(SECOND, make).unwrap()),
        }
    })
    .await;
    desk
}

async fn missed(mut lab: Lab) {
    let table: [(_, &[&str]); 4] = [
        (Some(MissedTick::Burst), &["1000", "3500", "told", "3500", "4000", "5000"]),
        (Some(MissedTick::Delay), &["1000", "3500", "told", "4500", "5500"]),
        (Some(MissedTick::Skip), &["1000", "3500", "told", "4000", "5000"]),
        (None, &["1000", "3500", "told", "4000", "5000"]),
    ];
    for (missed, expected) in table {
        let journal = Journal::new();
        let desk = ticking(&lab, &journal, missed).await;
        lab.clock().advance(SECOND).await;
        let (busy, next) = (Gate::new(), Gate::new());
        desk.tell(pass(&busy)).unwrap();
        busy.reached().await;
        for _ in 0..5 {
            lab.clock().advance(HALF).await;
        }
        desk.tell(pass(&next)).unwrap();
        busy.open();
        // One tick is behind this, and now a message behind the tick.
        next.reached().await;
        desk.tell(note(&journal, "told")).unwrap();
        next.open();
        for _ in 0..4 {
            lab.clock().advance(HALF).await;
        }
        assert_eq!(journal.entries(), expected, "{missed:?}");
    }
}

async fn idle(mut lab: Lab) {
    for exposed in [false, true] {
        let (journal, gate) = (Journal::new(), Gate::new());
        let desk = lab.system().spawn(Desk::default()).await.unwrap();
        if exposed {
            lab.expose(&desk);
        }
        let quiet = journal.clone();
        now(&lab, &desk, move |ctx| ctx.idle_timeout(SECOND, move || note(&quiet, "idle")).unwrap()).await;
        for _ in 0..4 {
            lab.clock().advance(HALF + HALF / 2).await;
            assert_eq!(journal.len(), 0);
            desk.ask(note(&Journal::new(), "x")).await.unwrap();
        }
        // A handler that is busy for long is no pause, and neither is what waits behind it.
        desk.tell(pass(&gate)).unwrap();
        gate.reached().await;
        lab.clock().advance(3 * SECOND).await;
        gate.open();
        lab.clock().advance(SECOND - TICK).await;
        assert_eq!(journal.len(), 0);
        lab.clock().advance(TICK).await;
        assert_eq!(journal.len(), 1);
        lab.clock().advance(SECOND - TICK).await;
        assert_eq!(journal.len(), 1);
        lab.clock().advance(TICK).await;
        assert_eq!(journal.len(), 2, "it is still idle");
        let longer = journal.clone();
        now(&lab, &desk, move |ctx| ctx.idle_timeout(2 * SECOND, move || note(&longer, "longer")).unwrap())
            .await;
        lab.clock().advance(2 * SECOND).await;
        assert_eq!(journal.entries(), ["idle", "idle", "longer"]);
        let cancelled = |ctx: &mut Context<Desk>| (ctx.cancel_idle_timeout(), ctx.cancel_idle_timeout());
        assert_eq!(now(&lab, &desk, cancelled).await, (true, false));
        lab.clock().advance(9 * SECOND).await;
        assert_eq!(journal.len(), 3);
    }
}

/// Watches another actor, ticks, and notes when it is idle.
struct Watcher(Journal, ActorRef<Worker>);

impl Actor for Watcher {
    async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
        ctx.watch(&self.1)?;
        ctx.every(HALF, || Note(0))?;
        Ok(ctx.idle_timeout(2 * SECOND, || Note(1))?)
    }
}

impl Handler<Note> for Watcher {
    async fn handle(&mut self, Note(number): Note, _: &mut Context<Self>) -> Outcome<u32> {
        if number > 0 {
            self.0.note("idle");
        }
        Ok(number)
    }
}

impl Handler<Terminated> for Watcher {
    async fn handle(&mut self, _: Terminated, _: &mut Context<Self>) -> Outcome<()> {
        self.0.note("terminated");
        Ok(())
    }
}

async fn what_counts(mut lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let worker = system.spawn(Worker::new(&Journal::new())).await.unwrap();
    system.spawn(Watcher(journal.clone(), worker.clone())).await.unwrap();
    for _ in 0..3 {
        lab.clock().advance(HALF).await;
    }
    worker.stop();
    journal.wait_for("terminated").await;
    lab.clock().advance(HALF - TICK).await;
    assert_eq!(journal.entries(), ["terminated"]);
    lab.clock().advance(TICK).await;
    assert_eq!(journal.entries(), ["terminated", "idle"]);
}

async fn making_panics(mut lab: Lab) {
    let (system, events) = lab.observed();
    let desk = system.spawn(Desk::default()).await.unwrap();
    let fails = || -> Do { panic!("no message") };
    now(&lab, &desk, move |ctx| drop(ctx.every(SECOND, fails).unwrap())).await;
    lab.clock().advance(SECOND).await;
    let reason = desk.wait().await.unwrap();
    let error = reason.failure().expect("a failure");
    assert_eq!(error.kind(), ErrorKind::Panicked);
    assert!(format!("{error:#}").contains("no message"), "{error}");
    assert_eq!(events.journal().entries(), ["failed Do"]);
}
