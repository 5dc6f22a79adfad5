//! Sharing the runtime with others, and leaving nothing in it.

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Actor, Context, Handler, Message, Outcome};
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
        "On one thread, an actor that always has a message to handle lets others run.",
        "Taking a message costs no tokio budget: a turn must end by itself.",
        body!(shares),
    )
    .pace(Pace::OneThread)
    .spi(&["never-yields"]),
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
];

async fn shares(lab: Lab) {
    let (system, journal) = (lab.system(), Journal::new());
    let (busy, other) = (Journal::new(), system.spawn(Worker::new(&journal)).await.unwrap());
    lab.soon("the other one answers", other.ask(Note(0))).await.unwrap();
    let runner = system.spawn(Runner(busy.clone())).await.unwrap();
    runner.tell(Lap(100_000)).unwrap();
    lab.soon("the busy one runs", busy.wait_for("running")).await;
    for number in 1..=5 {
        lab.soon("the other one answers", other.ask(Note(number))).await.unwrap();
    }
    assert_eq!(busy.entries(), ["running"], "the others had to wait until the busy one was done");
    runner.kill();
    lab.soon("the busy one ends", runner.wait()).await.unwrap();
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

/// Sends itself one message after the other.
struct Runner(Journal);
impl Actor for Runner {}

struct Lap(u32);
impl Message for Lap {
    type Reply = ();
}

impl Handler<Lap> for Runner {
    async fn handle(&mut self, Lap(left): Lap, ctx: &mut Context<Self>) -> Outcome<()> {
        if left == 100_000 {
            self.0.note("running");
        }
        match left {
            0 => self.0.note("done"),
            _ => ctx.actor_ref().tell(Lap(left - 1))?,
        }
        Ok(())
    }
}
