//! Fair scheduling, and no leaked tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dactor_core::spi::TURN;
use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Actor, ActorRef, Context, Handler, Message, Outcome};
use futures_util::future::join_all;
use tokio::runtime::Handle;

use crate::fixtures::worker::{Hold, Note, PanicWith, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "FAIR-01",
        Topic::Tell,
        &[(Topic::Tell, State::Handling)],
        "On one thread, an actor that always has a message lets other actors run after every turn.",
        "Taking a message spends no tokio budget, so a turn must end by itself.",
        body!(shares),
    )
    .runtime(RuntimeMode::CurrentThread)
    .spi(&["never-yields", "yields-rarely"]),
    Rule::must(
        "FAIR-02",
        Topic::Wait,
        &[(Topic::Wait, State::Dead), (Topic::Native, State::Dead)],
        "When actors have ended, in any way, their native tasks end, too: the runtime has as many tasks as before.",
        "A program that spawns and stops actors for weeks must not leak tasks.",
        body!(leaves_no_tasks),
    )
    .spi(&["outlives-cell"]),
    Rule::must(
        "FAIR-03",
        Topic::Tell,
        &[(Topic::Tell, State::Handling)],
        "An actor that awaits in a handler delays no other actor.",
        "Actors run concurrently.",
        body!(waits_alone),
    ),
    Rule::must(
        "FAIR-04",
        Topic::Tell,
        &[(Topic::Tell, State::Idle)],
        "A thousand actors run concurrently, and all are shut down in time.",
        "A system has many actors.",
        body!(many),
    )
    .spi(&["loses-wakes"]),
    Rule::must(
        "FAIR-05",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "On one thread, a busy actor handles at most 256 messages between a reply and the next poll of its asker.",
        "A busy actor delays the tasks that wait for it by at most two turns.",
        body!(asker_runs_soon),
    )
    // On two threads the operating system decides when the worker of the asker runs.
    .runtime(RuntimeMode::CurrentThread)
    .spi(&["never-yields", "yields-rarely"]),
];

/// How many messages a busy actor may handle between a reply and the next poll of its asker.
const LIMIT: u64 = 256;

async fn shares(rule: RuleContext) {
    let other = rule.system().spawn(Worker::new(&Journal::new())).await.unwrap();
    let sender = SelfSender::start(&rule).await;
    let steps = sender.steps.clone();
    // In a task of its own: the future of `block_on` is polled once per 61 polls of other tasks.
    let asking = tokio::spawn(async move {
        let mut most = 0;
        // tokio defers a task that has spent its budget for up to 61 polls of other tasks: fewer asks could all run
        // while the busy actor waits.
        for number in 0..200 {
            let before = steps.load(Ordering::Relaxed);
            other.ask(Note(number)).await.unwrap();
            most = most.max(steps.load(Ordering::Relaxed) - before);
        }
        most
    });
    let most = rule.soon("another actor answers 200 asks while one actor is busy", asking).await.unwrap();
    sender.stop(&rule).await;
    // The busy actor has one turn before the other actor runs, and one before the asker runs.
    assert!(
        most <= 3 * TURN as u64,
        "the busy actor handled {most} messages during an ask of another actor, {} are allowed: poll the cell once \
         and return `Pending` when it does",
        3 * TURN
    );
}

async fn asker_runs_soon(rule: RuleContext) {
    for native_handle_taken in [false, true] {
        let sender = SelfSender::start(&rule).await;
        if native_handle_taken {
            rule.take_native_handle(&sender.actor);
        }
        let (actor, steps) = (sender.actor.clone(), sender.steps.clone());
        let asking = tokio::spawn(async move {
            let mut longest = 0;
            for _ in 0..31 {
                let at_reply = actor.ask(CountSteps).await.unwrap();
                longest = longest.max(steps.load(Ordering::Relaxed) - at_reply);
            }
            longest
        });
        let wait = rule.soon("a busy actor answers 31 asks", asking).await.unwrap();
        sender.stop(&rule).await;
        assert!(
            wait <= LIMIT,
            "{wait} messages were handled between a reply and its asker running, {LIMIT} are allowed (native handle \
             taken: {native_handle_taken}): return `Pending` to tokio whenever the cell does"
        );
    }
}

async fn leaves_no_tasks(rule: RuleContext) {
    let alive = || Handle::current().metrics().num_alive_tasks();
    let system = rule.system();
    let before = alive();
    let mut actors = Vec::new();
    for _ in 0..100 {
        actors.push(system.spawn(Worker::new(&Journal::new())).await.unwrap());
    }
    assert!(alive() >= before + 100, "every actor has a native task");
    for (index, actor) in actors.iter().enumerate() {
        match index % 4 {
            0 => actor.stop(),
            1 => actor.drain(),
            2 => actor.kill(),
            _ => actor.tell(PanicWith("no")).unwrap(),
        }
    }
    rule.soon("all actors have ended", join_all(actors.iter().map(|actor| actor.wait())))
        .await
        .into_iter()
        .for_each(|end| drop(end.unwrap()));
    let gone = async {
        while alive() > before {
            tokio::task::yield_now().await;
        }
    };
    rule.soon("the native tasks have ended", gone).await;
}

async fn waits_alone(rule: RuleContext) {
    let (system, gate) = (rule.system(), Gate::new());
    let mut waiting = Vec::new();
    for number in 0..10 {
        let actor = system.spawn(Worker::new(&Journal::new())).await.unwrap();
        waiting.push(actor.ask(Hold(number, gate.clone())).enqueue().unwrap());
    }
    rule.soon("all handlers wait at once", gate.reached_by(10)).await;
    let other = system.spawn(Worker::new(&Journal::new())).await.unwrap();
    assert_eq!(rule.soon("another actor answers", other.ask(Note(1))).await.unwrap(), 1);
    gate.open();
    for (number, answer) in (0..).zip(rule.soon("all are answered", join_all(waiting)).await) {
        assert_eq!(answer.unwrap(), number);
    }
}

async fn many(rule: RuleContext) {
    let system = rule.system();
    let mut actors = Vec::new();
    for number in 0..1000 {
        actors.push(system.spawn(Worker::new(&Journal::new())).await.unwrap());
        if number % 2 == 0 {
            rule.take_native_handle(&actors[number]);
        }
    }
    for round in 0..3 {
        let asks: Vec<_> = actors.iter().map(|actor| actor.ask(Note(round)).enqueue().unwrap()).collect();
        for answer in rule.soon("all are answered", join_all(asks)).await {
            assert_eq!(answer.unwrap(), round);
        }
        rule.let_idle().await;
    }
    assert_eq!(system.actor_count(), 1000);
    rule.soon("all are shut down", system.shutdown()).await.unwrap();
    assert_eq!(system.actor_count(), 0);
}

/// An actor that always has a message, and the number of messages that it has handled.
struct Busy {
    actor: ActorRef<SelfSender>,
    steps: Arc<AtomicU64>,
}

/// Sends itself messages, more than any rule waits for.
struct SelfSender(Arc<AtomicU64>);

impl Actor for SelfSender {}

impl SelfSender {
    const STEPS: u64 = 2_000_000;

    async fn start(rule: &RuleContext) -> Busy {
        let steps = Arc::new(AtomicU64::new(0));
        let actor = rule.system().spawn(Self(steps.clone())).await.unwrap();
        actor.tell(Step).unwrap();
        rule.soon("the busy actor runs", actor.ask(CountSteps)).await.unwrap();
        Busy { actor, steps }
    }
}

impl Busy {
    async fn stop(&self, rule: &RuleContext) {
        let steps = self.steps.load(Ordering::Relaxed);
        assert!(steps < SelfSender::STEPS, "other actors had to wait until the busy actor finished");
        self.actor.kill();
        rule.soon("the busy actor ends", self.actor.wait()).await.unwrap();
    }
}

struct Step;

impl Message for Step {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

impl Handler<Step> for SelfSender {
    async fn handle(&mut self, Step: Step, ctx: &mut Context<Self>) -> Outcome<()> {
        if self.0.fetch_add(1, Ordering::Relaxed) + 1 < Self::STEPS {
            ctx.actor_ref().tell(Step)?;
        }
        Ok(())
    }
}

/// The number of handled messages when the reply is sent.
struct CountSteps;

impl Message for CountSteps {
    type Reply = u64;
    type Access = dactor_core::Exclusive;
}

impl Handler<CountSteps> for SelfSender {
    async fn handle(&mut self, CountSteps: CountSteps, _ctx: &mut Context<Self>) -> Outcome<u64> {
        Ok(self.0.load(Ordering::Relaxed))
    }
}
