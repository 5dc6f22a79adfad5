//! Timeouts of asks, on a driven clock.

use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Error, ErrorKind};

use crate::fixtures::worker::{Hold, Note, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "TIME-01",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "An ask with a timeout fails with `Timeout` exactly at that time, naming the actor, the message and the duration; its message is skipped.",
        "The asker knows when it gets an answer, and no handler runs for it afterwards.",
        body!(expires),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "TIME-02",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "The timeout of an enqueued ask starts when the message is sent, whether or not the reply is awaited.",
        "The timeout limits the time from sending to the reply.",
        body!(expires_enqueued),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "TIME-03",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "A timeout that expires while the handler runs fails the ask; the handler finishes.",
        "The asker is answered in time, and the actor's state stays consistent.",
        body!(expires_running),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "TIME-04",
        Topic::Ask,
        &[(Topic::Ask, State::Idle), (Topic::Ask, State::Handling)],
        "A reply that arrived before the timeout is returned, even if it is read after the timeout.",
        "A reply is worth more than an error.",
        body!(in_time),
    )
    .runtime(RuntimeMode::DrivenClock),
];

const FIVE: Duration = Duration::from_secs(5);
const ALMOST: Duration = Duration::from_millis(4999);
const TICK: Duration = Duration::from_millis(1);

fn assert_timed_out(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(error.get("actor"), Some("pekko://test/user/slow"));
    assert_eq!(error.get("message"), Some(std::any::type_name::<Note>()));
    assert_eq!(error.get("after"), Some("5s"));
}

async fn expires(mut rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let actor = system.spawn(Worker::new(&journal)).name("slow").await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    gate.reached().await;
    let asker = actor.clone();
    let asked = tokio::spawn(async move { asker.ask(Note(2)).timeout(FIVE).await });
    rule.clock().advance(ALMOST).await;
    assert!(!asked.is_finished(), "the ask timed out too early");
    rule.clock().advance(TICK).await;
    assert!(asked.is_finished(), "the ask did not time out");
    assert_timed_out(&asked.await.unwrap().unwrap_err());
    gate.open();
    assert_eq!(actor.ask(Note(3)).await.unwrap(), 3);
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "3"]);
    assert_eq!(system.dead_letter_count(), 0);
}

async fn expires_enqueued(mut rule: RuleContext) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let actor = rule.system().spawn(Worker::new(&journal)).name("slow").await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    gate.reached().await;
    let asked = actor.ask(Note(2)).timeout(FIVE).enqueue().unwrap();
    rule.clock().advance(ALMOST).await;
    let asked = tokio::spawn(asked);
    rule.clock().advance(Duration::ZERO).await;
    assert!(!asked.is_finished(), "the ask timed out too early");
    rule.clock().advance(TICK).await;
    assert!(asked.is_finished(), "the timeout did not start at `enqueue`");
    assert_timed_out(&asked.await.unwrap().unwrap_err());
    gate.open();
    assert_eq!(actor.ask(Note(3)).await.unwrap(), 3);
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "3"]);
}

async fn expires_running(mut rule: RuleContext) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let actor = rule.system().spawn(Worker::new(&journal)).await.unwrap();
    let (asker, inner) = (actor.clone(), gate.clone());
    let asked = tokio::spawn(async move { asker.ask(Hold(1, inner)).timeout(FIVE).await });
    gate.reached().await;
    rule.clock().advance(FIVE).await;
    assert!(asked.is_finished(), "the asker was not answered in time");
    assert_eq!(asked.await.unwrap().unwrap_err().kind(), ErrorKind::Timeout);
    gate.open();
    assert_eq!(actor.ask(Note(2)).await.unwrap(), 2);
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "2"]);
}

async fn in_time(mut rule: RuleContext) {
    let journal = Journal::new();
    let actor = rule.system().spawn(Worker::new(&journal)).await.unwrap();
    assert_eq!(actor.ask(Note(1)).timeout(FIVE).await.unwrap(), 1);
    let asked = actor.ask(Note(2)).timeout(FIVE).enqueue().unwrap();
    journal.wait_for("2").await;
    rule.clock().advance(2 * FIVE).await;
    assert_eq!(asked.await.unwrap(), 2);
}
