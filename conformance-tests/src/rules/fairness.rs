//! Sharing the runtime with others, and leaving nothing in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dactor_core::spi::TURN;
use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Actor, ActorRef, Context, Handler, Message, Outcome};
use futures_util::future::join_all;
use tokio::runtime::Handle;

use super::body;
use crate::actors::{Boom, Hold, Note, Worker};
use crate::{Lab, Pace, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "FAIR-01",
        Topic::Tell,
        &[(Topic::Tell, State::Handling)],
        "On one thread, an actor that always has a message to handle lets other actors run after every turn.",
        "Taking a message costs no tokio budget: a turn must end by itself.",
        body!(shares),
    )
    .pace(Pace::OneThread)
    .spi(&["never-yields", "yields-rarely"]),
    Rule::must(
        "FAIR-02",
        Topic::Wait,
        &[(Topic::Wait, State::Dead), (Topic::Native, State::Dead)],
        "When actors have ended, whatever way, their native tasks end, too: the runtime has as many as before.",
        "A program that spawns and stops for weeks must not grow.",
        body!(leaves_no_tasks),
    )
    .spi(&["outlives-cell"]),
    Rule::must(
        "FAIR-03",
        Topic::Tell,
        &[(Topic::Tell, State::Handling)],
        "An actor that waits in a handler holds up nobody else.",
        "Waiting is what actors are for.",
        body!(waits_alone),
    ),
    Rule::must(
        "FAIR-04",
        Topic::Tell,
        &[(Topic::Tell, State::Idle)],
        "A thousand actors run side by side, and all are shut down in time.",
        "Actors are many.",
        body!(many),
    )
    .spi(&["loses-wakes"]),
    Rule::must(
        "FAIR-05",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "On one thread, a busy actor handles at most 256 messages between a reply and its asker running.",
        "A busy actor that keeps its thread delays the tasks that wait for it: two turns are the limit.",
        body!(asker_runs_soon),
    )
    // On two threads the operating system decides when the worker that is to run the asker runs.
    .pace(Pace::OneThread)
    .spi(&["never-yields", "yields-rarely"]),
];

/// How many messages a busy actor may handle between a reply and its asker running.
const LIMIT: u64 = 256;

async fn shares(lab: Lab) {
    let other = lab.system().spawn(Worker::new(&Journal::new())).await.unwrap();
    let runner = Runner::start(&lab).await;
    let laps = runner.laps.clone();
    // In a task of its own: the future of `block_on` is polled once in 61 polls of other tasks.
    let asking = tokio::spawn(async move {
        let mut most = 0;
        // tokio defers a task that has spent its budget for up to 61 polls of other tasks: fewer asks than that could
        // all run while the busy actor waits.
        for number in 0..200 {
            let before = laps.load(Ordering::Relaxed);
            other.ask(Note(number)).await.unwrap();
            most = most.max(laps.load(Ordering::Relaxed) - before);
        }
        most
    });
    let most = lab.soon("another actor answers 200 asks while one actor is busy", asking).await.unwrap();
    runner.stop(&lab).await;
    // The busy actor has a turn before the other actor runs, and one before the asker runs.
    assert!(
        most <= 3 * TURN as u64,
        "an ask of another actor took {most} messages of the busy one, {} are allowed: poll the cell once and return \
         `Pending` when it does",
        3 * TURN
    );
}

async fn asker_runs_soon(lab: Lab) {
    for exposed in [false, true] {
        let runner = Runner::start(&lab).await;
        if exposed {
            lab.expose(&runner.actor);
        }
        let (actor, laps) = (runner.actor.clone(), runner.laps.clone());
        let asking = tokio::spawn(async move {
            let mut longest = 0;
            for _ in 0..31 {
                let at_reply = actor.ask(Laps).await.unwrap();
                longest = longest.max(laps.load(Ordering::Relaxed) - at_reply);
            }
            longest
        });
        let wait = lab.soon("a busy actor answers 31 asks", asking).await.unwrap();
        runner.stop(&lab).await;
        assert!(
            wait <= LIMIT,
            "{wait} messages were handled between a reply and its asker running, {LIMIT} are allowed (native handle \
             taken: {exposed}): return `Pending` to tokio whenever the cell does"
        );
    }
}

async fn leaves_no_tasks(lab: Lab) {
    let alive = || Handle::current().metrics().num_alive_tasks();
    let system = lab.system();
    let before = alive();
    let mut actors = Vec::new();
    for _ in 0..100 {
        actors.push(system.spawn(Worker::new(&Journal::new())).await.unwrap());
    }
    assert!(alive() >= before + 100, "every actor is a native actor");
    for (index, actor) in actors.iter().enumerate() {
        match index % 4 {
            0 => actor.stop(),
            1 => actor.drain(),
            2 => actor.kill(),
            _ => actor.tell(Boom("no")).unwrap(),
        }
    }
    lab.soon("all have ended", join_all(actors.iter().map(|actor| actor.wait())))
        .await
        .into_iter()
        .for_each(|end| drop(end.unwrap()));
    let gone = async {
        while alive() > before {
            tokio::task::yield_now().await;
        }
    };
    lab.soon("the native tasks have ended", gone).await;
}

async fn waits_alone(lab: Lab) {
    let (system, gate) = (lab.system(), Gate::new());
    let mut waiting = Vec::new();
    for number in 0..10 {
        let actor = system.spawn(Worker::new(&Journal::new())).await.unwrap();
        waiting.push(actor.ask(Hold(number, gate.clone())).enqueue().unwrap());
    }
    lab.soon("all handlers wait at once", gate.reached_by(10)).await;
    let other = system.spawn(Worker::new(&Journal::new())).await.unwrap();
    assert_eq!(lab.soon("another one answers", other.ask(Note(1))).await.unwrap(), 1);
    gate.open();
    for (number, answer) in (0..).zip(lab.soon("all are answered", join_all(waiting)).await) {
        assert_eq!(answer.unwrap(), number);
    }
}

async fn many(lab: Lab) {
    let system = lab.system();
    let mut actors = Vec::new();
    for number in 0..1000 {
        actors.push(system.spawn(Worker::new(&Journal::new())).await.unwrap());
        if number % 2 == 0 {
            lab.expose(&actors[number]);
        }
    }
    for round in 0..3 {
        let asks: Vec<_> = actors.iter().map(|actor| actor.ask(Note(round)).enqueue().unwrap()).collect();
        for answer in lab.soon("all are answered", join_all(asks)).await {
            assert_eq!(answer.unwrap(), round);
        }
        lab.rest().await;
    }
    assert_eq!(system.live(), 1000);
    lab.soon("all are shut down", system.shutdown()).await.unwrap();
    assert_eq!(system.live(), 0);
}

/// An actor that always has a message to handle, and how many it has handled.
struct Busy {
    actor: ActorRef<Runner>,
    laps: Arc<AtomicU64>,
}

/// Sends itself one message after the other, so many times that no rule sees the end of it.
struct Runner(Arc<AtomicU64>);
impl Actor for Runner {}

impl Runner {
    const LAPS: u64 = 2_000_000;

    async fn start(lab: &Lab) -> Busy {
        let laps = Arc::new(AtomicU64::new(0));
        let actor = lab.system().spawn(Self(laps.clone())).await.unwrap();
        actor.tell(Lap).unwrap();
        lab.soon("the busy actor runs", actor.ask(Laps)).await.unwrap();
        Busy { actor, laps }
    }
}

impl Busy {
    async fn stop(&self, lab: &Lab) {
        let laps = self.laps.load(Ordering::Relaxed);
        assert!(laps < Runner::LAPS, "the others had to wait until the busy actor was done");
        self.actor.kill();
        lab.soon("the busy actor ends", self.actor.wait()).await.unwrap();
    }
}

struct Lap;
impl Message for Lap {
    type Reply = ();
}

impl Handler<Lap> for Runner {
    async fn handle(&mut self, Lap: Lap, ctx: &mut Context<Self>) -> Outcome<()> {
        if self.0.fetch_add(1, Ordering::Relaxed) + 1 < Self::LAPS {
            ctx.actor_ref().tell(Lap)?;
        }
        Ok(())
    }
}

/// How many laps there were when the reply was given.
struct Laps;
impl Message for Laps {
    type Reply = u64;
}

impl Handler<Laps> for Runner {
    async fn handle(&mut self, Laps: Laps, _ctx: &mut Context<Self>) -> Outcome<u64> {
        Ok(self.0.load(Ordering::Relaxed))
    }
}
