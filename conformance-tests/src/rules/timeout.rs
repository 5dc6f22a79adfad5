//! Askers who wait only so long, on a driven clock.

use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Error, ErrorKind};

use super::body;
use crate::actors::{Hold, Note, Worker};
use crate::{Lab, Pace, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "TIME-01",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "An ask with a timeout fails with `Timeout` exactly then, naming actor, message and time; its message is skipped.",
        "An asker knows when it is told, and nobody works for it afterwards.",
        body!(expires),
    )
    .pace(Pace::Driven),
    Rule::must(
        "TIME-02",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "The timeout of an enqueued ask counts from the moment it was sent, awaited or not.",
        "What is promised is the time from sending to answer.",
        body!(expires_enqueued),
    )
    .pace(Pace::Driven),
    Rule::must(
        "TIME-03",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "A timeout that strikes while the handler runs answers the asker; the handler finishes.",
        "The asker is answered in time, and the actor's state stays whole.",
        body!(expires_running),
    )
    .pace(Pace::Driven),
    Rule::must(
        "TIME-04",
        Topic::Ask,
        &[(Topic::Ask, State::Idle), (Topic::Ask, State::Handling)],
        "A reply that is there before the timeout is given, even when it is fetched after it.",
        "An answer that arrived is worth more than an error.",
        body!(in_time),
    )
    .pace(Pace::Driven),
];

const FIVE: Duration = Duration::from_secs(5);
const ALMOST: Duration = Duration::from_millis(4999);
const TICK: Duration = Duration::from_millis(1);

fn assert_timed_out(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(error.get("actor"), Some("pekko://lab/user/slow"));
    assert_eq!(error.get("message"), Some(std::any::type_name::<Note>()));
    assert_eq!(error.get("after"), Some("5s"));
}

async fn expires(mut lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let actor = system.spawn(Worker::new(&journal)).name("slow").await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    gate.reached().await;
    let asker = actor.clone();
    let asked = tokio::spawn(async move { asker.ask(Note(2)).timeout(FIVE).await });
    lab.clock().advance(ALMOST).await;
    assert!(!asked.is_finished(), "the ask gave up early");
    lab.clock().advance(TICK).await;
    assert!(asked.is_finished(), "the ask did not give up in time");
    assert_timed_out(&asked.await.unwrap().unwrap_err());
    gate.open();
    assert_eq!(actor.ask(Note(3)).await.unwrap(), 3);
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "3"]);
    assert_eq!(system.dead_letters(), 0);
}

async fn expires_enqueued(mut lab: Lab) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let actor = lab.system().spawn(Worker::new(&journal)).name("slow").await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    gate.reached().await;
    let asked = actor.ask(Note(2)).timeout(FIVE).enqueue().unwrap();
    lab.clock().advance(ALMOST).await;
    let asked = tokio::spawn(asked);
    lab.clock().advance(Duration::ZERO).await;
    assert!(!asked.is_finished(), "the ask gave up early");
    lab.clock().advance(TICK).await;
    assert!(asked.is_finished(), "the timeout did not count from the enqueue");
    assert_timed_out(&asked.await.unwrap().unwrap_err());
    gate.open();
    assert_eq!(actor.ask(Note(3)).await.unwrap(), 3);
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "3"]);
}

async fn expires_running(mut lab: Lab) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let actor = lab.system().spawn(Worker::new(&journal)).await.unwrap();
    let (asker, inner) = (actor.clone(), gate.clone());
    let asked = tokio::spawn(async move { asker.ask(Hold(1, inner)).timeout(FIVE).await });
    gate.reached().await;
    lab.clock().advance(FIVE).await;
    assert!(asked.is_finished(), "the asker was not answered in time");
    assert_eq!(asked.await.unwrap().unwrap_err().kind(), ErrorKind::Timeout);
    gate.open();
    assert_eq!(actor.ask(Note(2)).await.unwrap(), 2);
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "2"]);
}

async fn in_time(mut lab: Lab) {
    let journal = Journal::new();
    let actor = lab.system().spawn(Worker::new(&journal)).await.unwrap();
    assert_eq!(actor.ask(Note(1)).timeout(FIVE).await.unwrap(), 1);
    let asked = actor.ask(Note(2)).timeout(FIVE).enqueue().unwrap();
    journal.wait_for("2").await;
    lab.clock().advance(2 * FIVE).await;
    assert_eq!(asked.await.unwrap(), 2);
}
