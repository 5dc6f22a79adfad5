//! The drain of a shutdown: actors accept messages from each other until all are idle.

use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{
    Actor, ActorRef, Context, ErrorKind, Handler, Message, Outcome, Overflow, StopReason, Terminated,
};

use crate::fixtures::worker::{Hold, Note, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "SHUT-11",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Handling), (Topic::Bound, State::Drained)],
        "A shutdown loses no message of a pipeline: 4 000 messages pass 20 stages of `bounded(1, Block)`, whenever the shutdown begins.",
        "An accepted message is handled, and the messages that its handler sends are accepted.",
        body!(pipeline),
    ),
    Rule::must(
        "SHUT-12",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Handling), (Topic::Shutdown, State::Idle)],
        "While a system drains, its actors accept tells, sends and asks from each other, and notices of watched actors; messages from outside and from spawned tasks are refused with `Stopped`. All actors end together when all are idle.",
        "A busy actor may still need an idle one.",
        body!(members_only),
    ),
    Rule::must(
        "SHUT-13",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Handling)],
        "Actors that keep each other busy are stopped after half of the grace period; the error names them and counts the lost messages.",
        "An endless exchange must neither keep a process from ending nor be cut silently.",
        body!(endless),
    )
    .runtime(RuntimeMode::DrivenClock),
];

/// Passes numbers on, or notes them in the last stage.
struct Stage {
    next: Option<ActorRef<Stage>>,
    journal: Journal,
}

impl Actor for Stage {}

struct Item(u32);

impl Message for Item {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

impl Handler<Item> for Stage {
    async fn handle(&mut self, item: Item, _: &mut Context<Self>) -> Outcome<()> {
        match &self.next {
            Some(next) => next.send(item).await?,
            None => self.journal.note(item.0),
        }
        Ok(())
    }
}

async fn pipeline(rule: RuleContext) {
    const ITEMS: u32 = 4_000;
    for begin in [0, 1, 40, 1_000] {
        let (system, journal) = (rule.system(), Journal::new());
        let mut next = None;
        for _ in 0..19 {
            let stage = Stage { next: next.take(), journal: journal.clone() };
            next = Some(system.spawn(stage).bounded(1, Overflow::Block).await.unwrap());
        }
        let first = system.spawn(Stage { next, journal: journal.clone() }).await.unwrap();
        (0..ITEMS).for_each(|number| first.tell(Item(number)).unwrap());
        rule.soon("some items have passed", journal.wait_len(begin)).await;
        rule.soon("the shutdown returns", system.shutdown()).await.unwrap();
        assert_eq!(journal.len(), ITEMS as usize, "shutdown began after {begin}");
        assert!(journal.entries().iter().enumerate().all(|(at, entry)| *entry == at.to_string()));
        assert_eq!(system.dead_letter_count(), 0);
    }
}

/// Talks to another actor when the gate opens.
struct Talker {
    gate: Gate,
    other: ActorRef<Worker>,
    watched: ActorRef<Worker>,
    journal: Journal,
}

impl Actor for Talker {
    async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
        Ok(ctx.watch(&self.watched)?)
    }

    async fn on_stop(&mut self, reason: &StopReason, _: &mut Context<Self>) -> Outcome<()> {
        self.journal.note(format!("talker {reason}"));
        Ok(())
    }
}

struct Talk;

impl Message for Talk {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

impl Handler<Talk> for Talker {
    async fn handle(&mut self, _: Talk, _: &mut Context<Self>) -> Outcome<()> {
        self.gate.pass().await;
        self.other.tell(Note(1))?;
        self.other.send(Note(2)).await?;
        self.other.ask(Note(3)).await?;
        assert!(self.other.try_tell(Note(4)).is_ok());
        let other = self.other.clone();
        let task = tokio::spawn(async move { other.tell(Note(5)).unwrap_err().kind() });
        assert_eq!(task.await.unwrap(), ErrorKind::Stopped);
        self.watched.stop();
        Ok(())
    }
}

impl Handler<Terminated> for Talker {
    async fn handle(&mut self, _: Terminated, _: &mut Context<Self>) -> Outcome<()> {
        self.journal.note("terminated");
        self.other.tell(Note(6))?;
        Ok(())
    }
}

async fn members_only(rule: RuleContext) {
    for native_handle_taken in [false, true] {
        let (system, journal, gate) = (rule.system(), Journal::new(), Gate::new());
        let worker = async || system.spawn(Worker::new(&Journal::new())).await.unwrap();
        let heard = Journal::new();
        let (other, watched) = (system.spawn(Worker::new(&heard)).await.unwrap(), worker().await);
        let talker = Talker {
            gate: gate.clone(),
            other: other.clone(),
            watched: watched.clone(),
            journal: journal.clone(),
        };
        let talker = system.spawn(talker).await.unwrap();
        if native_handle_taken {
            rule.take_native_handle(&other);
            rule.take_native_handle(&talker);
        }
        talker.tell(Talk).unwrap();
        rule.soon("the actor is busy", gate.reached()).await;
        let closing = system.clone();
        let shutdown = tokio::spawn(async move { closing.shutdown().await });
        rule.soon("messages from outside are refused", async {
            while other.tell(Note(0)).is_ok() {
                tokio::task::yield_now().await;
            }
        })
        .await;
        assert_eq!(other.ask(Note(0)).await.unwrap_err().kind(), ErrorKind::Stopped);
        assert!(
            other.is_alive() == Some(true) && !shutdown.is_finished(),
            "an idle actor may still be needed"
        );
        gate.open();
        rule.soon("the shutdown returns", shutdown).await.unwrap().unwrap();
        let heard: Vec<_> = heard.entries().into_iter().filter(|entry| entry != "0").collect();
        assert_eq!(heard, ["start", "1", "2", "3", "4", "6", "stop: drained", "drop"]);
        assert_eq!(journal.entries(), ["terminated", "talker drained"]);
    }
}

/// Sends a message back and forth, about one per second.
struct PingPong(Option<ActorRef<PingPong>>);

impl Actor for PingPong {}

struct Ball(ActorRef<PingPong>);

impl Message for Ball {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

impl Handler<Ball> for PingPong {
    async fn handle(&mut self, Ball(from): Ball, ctx: &mut Context<Self>) -> Outcome<()> {
        tokio::time::sleep(Duration::from_millis(900)).await;
        let _ = self.0.insert(from.clone()).tell(Ball(ctx.actor_ref().clone()));
        Ok(())
    }
}

async fn endless(mut rule: RuleContext) {
    const SECOND: Duration = Duration::from_secs(1);
    let (system, gate) = (rule.builder().grace(8 * SECOND).build().unwrap(), Gate::new());
    let one = system.spawn(PingPong(None)).name("one").await.unwrap();
    let two = system.spawn(PingPong(None)).name("two").await.unwrap();
    let idle = system.spawn(Worker::new(&Journal::new())).name("idle").await.unwrap();
    one.tell(Ball(two.clone())).unwrap();
    let busy = system.spawn(Worker::new(&Journal::new())).name("busy").await.unwrap();
    busy.tell(Hold(1, gate.clone())).unwrap();
    busy.tell(Note(2)).unwrap();
    gate.reached().await;
    let closing = system.clone();
    let shutdown = tokio::spawn(async move { closing.shutdown().await });
    for _ in 0..39 {
        rule.clock().advance(SECOND / 10).await;
    }
    assert!(
        idle.is_alive() == Some(true) && one.is_alive() == Some(true) && two.is_alive() == Some(true),
        "half of the grace period is not over"
    );
    for _ in 0..10 {
        rule.clock().advance(SECOND / 10).await;
    }
    gate.open();
    rule.clock().advance(SECOND).await;
    let error = shutdown.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ShutdownIncomplete);
    let named = error.get("did not drain").unwrap();
    assert!(named.contains("/busy") && !named.contains("/idle"), "{error}");
    assert!(
        named.contains("/one") != named.contains("/two"),
        "exactly one of them handles the ball: {error}"
    );
    // The ball, and the queued message of the busy actor.
    assert_eq!(error.get("lost messages"), Some("2"), "{error}");
    assert!(matches!(idle.stop_reason(), Some(StopReason::Drained)));
    assert_eq!(system.actor_count(), 0);
}
