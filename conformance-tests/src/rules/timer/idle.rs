//! Missed ticks of intervals, and idle timeouts, on a driven clock.

use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{
    Actor, ActorRef, Context, ErrorKind, Expand, ExpandHandler, Handler, Message, MissedTick, Outcome,
    Producer, Terminated,
};

use crate::fixtures::header::Tag;
use crate::fixtures::scripted::{Script, ScriptedActor, note, run_in, script, wait_at};
use crate::fixtures::worker::{Note, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "TIMER-10",
        Topic::Timers,
        &[(Topic::Timers, State::Handling)],
        "At most one tick of an interval waits in the mailbox. After a late tick, `Burst` sends the other missed ticks at once, `Delay` waits a whole period from then, and `Skip`, the default, continues with the original schedule.",
        "The right reaction to missed ticks depends on the application; flooding the mailbox is never right.",
        body!(missed),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "TIMER-11",
        Topic::Timers,
        &[(Topic::Timers, State::Idle), (Topic::Timers, State::Handling)],
        "The idle timeout fires when the actor has handled no message for that time, counted from the end of the last message, and again while the actor stays idle; it can be replaced and cancelled.",
        "A busy actor is not idle, however few messages it gets.",
        body!(idle),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "TIMER-12",
        Topic::Timers,
        &[(Topic::Timers, State::Idle)],
        "Timer messages and `Terminated` do not reset the idle timeout.",
        "An actor that only handles its own ticks is idle.",
        body!(what_counts),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "TIMER-13",
        Topic::Timers,
        &[(Topic::Timers, State::Handling)],
        "A panic in the closure that makes an interval's message is a panic of the actor.",
        "The closure is code of the actor, and its failure must not be silent.",
        body!(making_panics),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "TIMER-20",
        Topic::Timers,
        &[(Topic::Timers, State::Idle), (Topic::Streams, State::Idle)],
        "Messages and stream requests whose type is not `KEEP_ALIVE` do not reset the idle timeout, however they are sent; others do.",
        "A probe does not keep alive the actor that it looks at.",
        body!(no_keep_alive),
    )
    .runtime(RuntimeMode::DrivenClock),
];

const SECOND: Duration = Duration::from_secs(1);
const HALF: Duration = Duration::from_millis(500);
const TICK: Duration = Duration::from_millis(1);

/// An actor that notes the time of its ticks, in milliseconds.
async fn ticking(
    rule: &RuleContext,
    journal: &Journal,
    missed: Option<MissedTick>,
) -> ActorRef<ScriptedActor> {
    let scripted = rule.system().spawn(ScriptedActor::default()).await.unwrap();
    let (journal, begin) = (journal.clone(), tokio::time::Instant::now());
    run_in(rule, &scripted, move |ctx| {
        let make = move || {
            let journal = journal.clone();
            script(move |_, _| {
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
    scripted
}

async fn missed(mut rule: RuleContext) {
    let table: [(_, &[&str]); 4] = [
        (Some(MissedTick::Burst), &["1000", "3500", "told", "3500", "4000", "5000"]),
        (Some(MissedTick::Delay), &["1000", "3500", "told", "4500", "5500"]),
        (Some(MissedTick::Skip), &["1000", "3500", "told", "4000", "5000"]),
        (None, &["1000", "3500", "told", "4000", "5000"]),
    ];
    for (missed, expected) in table {
        let journal = Journal::new();
        let scripted = ticking(&rule, &journal, missed).await;
        rule.clock().advance(SECOND).await;
        let (busy, next) = (Gate::new(), Gate::new());
        scripted.tell(wait_at(&busy)).unwrap();
        busy.reached().await;
        for _ in 0..5 {
            rule.clock().advance(HALF).await;
        }
        scripted.tell(wait_at(&next)).unwrap();
        busy.open();
        // One tick is queued after this message; now a message is queued after the tick.
        next.reached().await;
        scripted.tell(note(&journal, "told")).unwrap();
        next.open();
        for _ in 0..4 {
            rule.clock().advance(HALF).await;
        }
        assert_eq!(journal.entries(), expected, "{missed:?}");
    }
}

async fn idle(mut rule: RuleContext) {
    for native_handle_taken in [false, true] {
        let (journal, gate) = (Journal::new(), Gate::new());
        let scripted = rule.system().spawn(ScriptedActor::default()).await.unwrap();
        if native_handle_taken {
            rule.take_native_handle(&scripted);
        }
        let quiet = journal.clone();
        run_in(&rule, &scripted, move |ctx| ctx.idle_timeout(SECOND, move || note(&quiet, "idle")).unwrap())
            .await;
        for _ in 0..4 {
            rule.clock().advance(HALF + HALF / 2).await;
            assert_eq!(journal.len(), 0);
            scripted.ask(note(&Journal::new(), "x")).await.unwrap();
        }
        // An actor in a long handler is not idle, and neither is one with queued messages.
        scripted.tell(wait_at(&gate)).unwrap();
        gate.reached().await;
        rule.clock().advance(3 * SECOND).await;
        gate.open();
        rule.clock().advance(SECOND - TICK).await;
        assert_eq!(journal.len(), 0);
        rule.clock().advance(TICK).await;
        assert_eq!(journal.len(), 1);
        rule.clock().advance(SECOND - TICK).await;
        assert_eq!(journal.len(), 1);
        rule.clock().advance(TICK).await;
        assert_eq!(journal.len(), 2, "the actor is still idle");
        let longer = journal.clone();
        run_in(&rule, &scripted, move |ctx| {
            ctx.idle_timeout(2 * SECOND, move || note(&longer, "longer")).unwrap()
        })
        .await;
        rule.clock().advance(2 * SECOND).await;
        assert_eq!(journal.entries(), ["idle", "idle", "longer"]);
        let cancelled =
            |ctx: &mut Context<ScriptedActor>| (ctx.cancel_idle_timeout(), ctx.cancel_idle_timeout());
        assert_eq!(run_in(&rule, &scripted, cancelled).await, (true, false));
        rule.clock().advance(9 * SECOND).await;
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

async fn what_counts(mut rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let worker = system.spawn(Worker::new(&Journal::new())).await.unwrap();
    system.spawn(Watcher(journal.clone(), worker.clone())).await.unwrap();
    for _ in 0..3 {
        rule.clock().advance(HALF).await;
    }
    worker.stop();
    journal.wait_for("terminated").await;
    rule.clock().advance(HALF - TICK).await;
    assert_eq!(journal.entries(), ["terminated"]);
    rule.clock().advance(TICK).await;
    assert_eq!(journal.entries(), ["terminated", "idle"]);
}

/// Notes when it is idle.
struct Idler(Journal);

impl Actor for Idler {
    async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
        Ok(ctx.idle_timeout(SECOND, || Note(1))?)
    }
}

impl Handler<Note> for Idler {
    async fn handle(&mut self, Note(number): Note, _: &mut Context<Self>) -> Outcome<u32> {
        if number == 1 {
            self.0.note("idle");
        }
        Ok(number)
    }
}

/// A message that does not count as activity.
struct Look;

impl Message for Look {
    type Reply = ();
    type Access = dactor_core::Exclusive;
    const KEEP_ALIVE: bool = false;
}

impl Handler<Look> for Idler {
    async fn handle(&mut self, _: Look, _: &mut Context<Self>) -> Outcome<()> {
        Ok(())
    }
}

/// A stream request; one of `false` does not count as activity.
struct List<const KEEP_ALIVE: bool>;

impl<const KEEP_ALIVE: bool> Expand for List<KEEP_ALIVE> {
    type Item = u64;
    const KEEP_ALIVE: bool = KEEP_ALIVE;
}

impl<const KEEP_ALIVE: bool> ExpandHandler<List<KEEP_ALIVE>> for Idler {
    async fn expand(
        &mut self,
        _: List<KEEP_ALIVE>,
        out: Producer<u64>,
        _: &mut Context<Self>,
    ) -> Outcome<()> {
        Ok(out.finish().await?)
    }
}

/// Sends messages that do not count, in all ways.
async fn look(rule: &RuleContext, idler: &ActorRef<Idler>) {
    idler.tell(Look).unwrap();
    idler.header(Tag(1)).tell(Look).unwrap();
    rule.soon("an ask is answered", idler.ask(Look)).await.unwrap();
    let mut items = idler.expand(List::<false>).await.unwrap();
    assert!(rule.soon("a stream ends", items.next()).await.is_none());
}

async fn no_keep_alive(mut rule: RuleContext) {
    let journal = Journal::new();
    let idler = rule.system().spawn(Idler(journal.clone())).await.unwrap();
    rule.clock().advance(HALF).await;
    look(&rule, &idler).await;
    rule.clock().advance(HALF).await;
    assert_eq!(journal.len(), 1, "only looks came meanwhile");
    rule.clock().advance(HALF).await;
    rule.soon("an ask is answered", idler.ask(Note(0))).await.unwrap();
    rule.clock().advance(HALF).await;
    look(&rule, &idler).await;
    assert_eq!(journal.len(), 1, "a message came");
    let mut items = idler.expand(List::<true>).await.unwrap();
    assert!(rule.soon("a stream ends", items.next()).await.is_none());
    rule.clock().advance(SECOND - TICK).await;
    assert_eq!(journal.len(), 1, "a stream request came");
    look(&rule, &idler).await;
    rule.clock().advance(TICK).await;
    assert_eq!(journal.len(), 2);
}

async fn making_panics(mut rule: RuleContext) {
    let (system, events) = rule.system_with_events();
    let scripted = system.spawn(ScriptedActor::default()).await.unwrap();
    let fails = || -> Script { panic!("no message") };
    run_in(&rule, &scripted, move |ctx| drop(ctx.every(SECOND, fails).unwrap())).await;
    rule.clock().advance(SECOND).await;
    let reason = scripted.wait().await.unwrap();
    let error = reason.failure().expect("a failure");
    assert_eq!(error.kind(), ErrorKind::Panicked);
    assert!(format!("{error:#}").contains("no message"), "{error}");
    assert_eq!(events.journal().entries(), ["failed Script"]);
}
