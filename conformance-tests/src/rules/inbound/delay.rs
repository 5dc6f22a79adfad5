//! Inbound delays, on a driven clock.

use std::time::Duration;

use dactor_core::testkit::Journal;
use dactor_core::{ActorRef, Delivery, ErrorKind, Priority, Verdict};
use tokio_util::sync::CancellationToken;

use crate::fixtures::interceptor::RecordingInterceptor;
use crate::fixtures::worker::{Note, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "IN-15",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling), (Topic::Order, State::Handling)],
        "An inbound `Delay` delays the message and all later messages of its actor for exactly the sum of the interceptors' delays; other actors continue.",
        "A delayed actor keeps the order of its messages and delays no other actor.",
        body!(holds),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "IN-16",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling)],
        "An inbound delay of one hour is awaited; a longer one, also as a sum, fails with `Rejected` at once, and the error says so.",
        "An actor that waits for days by mistake would look dead.",
        body!(limit),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "IN-17",
        Topic::Inbound,
        &[(Topic::Inbound, State::Stopped), (Topic::Inbound, State::Drained), (Topic::Inbound, State::Killed)],
        "A stop ends an inbound delay at once: the message is refused with `Stopped`, as the asker's error or as a dead letter, and its interceptors see that; a kill does the same for an ask. A drain waits for the delay.",
        "Callers need not wait for a delayed actor.",
        body!(ends),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "IN-18",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling), (Topic::Cancel, State::Handling)],
        "An ask dropped, cancelled or expired during an inbound delay ends the delay at once: its interceptors see that it did not get through, it is no dead letter, also when the actor is stopped at the same time, and the actor continues with the next message.",
        "A withdrawn message does not delay others.",
        body!(withdrawn),
    )
    .runtime(RuntimeMode::DrivenClock),
];

const TWO: Duration = Duration::from_secs(2);
const THREE: Duration = Duration::from_secs(3);
const FIVE: Duration = Duration::from_secs(5);
const ALMOST: Duration = Duration::from_millis(4999);
const TICK: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

/// Delays the first note.
fn first(delay: Duration) -> impl Fn(&mut Delivery<'_>) -> Verdict + Send + Sync {
    move |delivery| match delivery.message::<Note>() {
        Some(Note(1)) => Verdict::Delay(delay),
        _ => Verdict::Continue,
    }
}

async fn holds(mut rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let actor = system
        .spawn(Worker::new(&journal))
        .inbound(RecordingInterceptor::new("a", &journal).decide(first(TWO)).scoped())
        .inbound(RecordingInterceptor::new("b", &journal).decide(first(THREE)))
        .await
        .unwrap();
    let other = system
        .spawn(Worker::new(&Journal::new()))
        .inbound(RecordingInterceptor::new("c", &journal))
        .await
        .unwrap();
    let asked = actor.ask(Note(1)).enqueue().unwrap();
    actor.tell(Note(2)).unwrap();
    journal.wait_for("b>").await;
    actor.at(Priority::High).tell(Note(3)).unwrap();
    assert_eq!(other.ask(Note(7)).await.unwrap(), 7);
    rule.clock().advance(ALMOST).await;
    assert_eq!(journal.entries(), ["start", "a>", "b>", "c>", "c< ok"]);
    rule.clock().advance(TICK).await;
    assert_eq!(asked.await.unwrap(), 1);
    assert_eq!(actor.ask(Note(4)).await.unwrap(), 4);
    let handled = |number: &str| {
        ["a(".to_owned(), number.to_owned(), "a)".to_owned(), "a< ok".to_owned(), "b< ok".to_owned()]
    };
    let next = |number| ["a>".to_owned(), "b>".to_owned()].into_iter().chain(handled(number));
    let expected: Vec<_> =
        handled("1").into_iter().chain(next("3")).chain(next("2")).chain(next("4")).collect();
    assert_eq!(journal.entries()[5..], expected);
    assert_eq!(rule.clock().elapsed(), FIVE);
}

async fn limit(mut rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let spawn = |delays: [Duration; 2]| {
        let [first, second] =
            delays.map(|delay| RecordingInterceptor::new("a", &journal).always(Verdict::Delay(delay)));
        system.spawn(Worker::new(&journal)).inbound(first).inbound(second)
    };
    let (most, zero) = (HOUR - FIVE, Duration::ZERO);
    let asked = spawn([most, FIVE]).await.unwrap().ask(Note(1)).enqueue().unwrap();
    rule.clock().advance(HOUR - TICK).await;
    assert_eq!(journal.entries(), ["start", "a>", "a>"]);
    rule.clock().advance(TICK).await;
    assert_eq!(asked.await.unwrap(), 1);
    for delays in [[HOUR + TICK, zero], [zero, HOUR + TICK], [most, FIVE + TICK], [HOUR, Duration::MAX]] {
        let error = spawn(delays).await.unwrap().ask(Note(2)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Rejected);
        assert!(error.get("reason").is_some_and(|reason| reason.contains("too long")), "{error}");
    }
    assert_eq!(rule.clock().elapsed(), HOUR);
}

/// An actor whose interceptor delays every message.
async fn delayed(rule: &RuleContext, journal: &Journal) -> (ActorRef<Worker>, dactor_core::System) {
    let system = rule.system();
    let recorder = RecordingInterceptor::new("a", journal).always(Verdict::Delay(FIVE));
    (system.spawn(Worker::new(journal)).inbound(recorder).await.unwrap(), system)
}

async fn ends(mut rule: RuleContext) {
    let journal = Journal::new();
    let (actor, system) = delayed(&rule, &journal).await;
    let asked = actor.ask(Note(1)).enqueue().unwrap();
    actor.tell(Note(2)).unwrap();
    journal.wait_for("a>").await;
    actor.stop();
    assert_eq!(asked.await.unwrap_err().kind(), ErrorKind::Stopped);
    actor.wait().await.unwrap();
    assert_eq!(journal.entries(), ["start", "a>", "a< Stopped", "stop: stopped", "drop"]);
    assert_eq!(system.dead_letter_count(), 1, "the queued message");

    let journal = Journal::new();
    let (actor, system) = delayed(&rule, &journal).await;
    let mut feed = system.dead_letter_feed();
    actor.tell(Note(1)).unwrap();
    journal.wait_for("a>").await;
    actor.stop();
    actor.wait().await.unwrap();
    assert_eq!(journal.entries(), ["start", "a>", "a< Stopped", "stop: stopped", "drop"]);
    assert_eq!(feed.next().await.unwrap().error.kind(), ErrorKind::Stopped);
    assert_eq!(system.dead_letter_count(), 1);

    let journal = Journal::new();
    let (actor, _) = delayed(&rule, &journal).await;
    let asked = actor.ask(Note(1)).enqueue().unwrap();
    journal.wait_for("a>").await;
    actor.kill();
    assert_eq!(asked.await.unwrap_err().kind(), ErrorKind::Stopped);
    actor.wait().await.unwrap();
    assert_eq!(journal.entries(), ["start", "a>", "a< Stopped", "drop"]);
    assert_eq!(rule.clock().elapsed(), Duration::ZERO);

    let journal = Journal::new();
    let (actor, _) = delayed(&rule, &journal).await;
    actor.tell(Note(1)).unwrap();
    journal.wait_for("a>").await;
    actor.drain();
    rule.clock().advance(ALMOST).await;
    assert!(actor.is_alive() == Some(true), "a drain waits for the delay");
    rule.clock().advance(TICK).await;
    actor.wait().await.unwrap();
    assert_eq!(journal.entries(), ["start", "a>", "1", "a< ok", "stop: drained", "drop"]);
}

async fn withdrawn(mut rule: RuleContext) {
    for way in ["dropped", "cancelled", "timed out", "late"] {
        let (journal, handled, system) = (Journal::new(), Journal::new(), rule.system());
        let noted = journal.clone();
        let recorder = RecordingInterceptor::new("a", &journal)
            .decide(first(HOUR))
            .on_end(move |completion| noted.note(completion.got_through()));
        let actor = system.spawn(Worker::new(&handled)).inbound(recorder).await.unwrap();
        let token = CancellationToken::new();
        let ask = actor.ask(Note(1));
        let ask = match way {
            "cancelled" => ask.cancel(token.clone()),
            "timed out" => ask.timeout(TWO),
            "late" => ask.deadline(tokio::time::Instant::now() + TWO),
            _ => ask,
        };
        let pending = ask.enqueue().unwrap();
        let next = actor.ask(Note(2)).enqueue().unwrap();
        journal.wait_for("a>").await;
        let started = rule.clock().elapsed();
        // The expired ask is kept and not polled.
        let (mut kept, mut awaited) = (None, None);
        match way {
            "dropped" => drop(pending),
            "timed out" => awaited = Some(tokio::spawn(pending)),
            _ => kept = Some(pending),
        }
        token.cancel();
        rule.clock().advance(if way == "timed out" || way == "late" { TWO } else { Duration::ZERO }).await;
        assert_eq!(next.await.unwrap(), 2, "{way}");
        assert!(rule.clock().elapsed() - started <= TWO, "{way}: the rest of the delay was awaited");
        let kind = match way {
            "dropped" | "cancelled" => "a< Cancelled",
            _ => "a< Timeout",
        };
        let seen = journal.entries();
        assert_eq!(seen[0], "a>");
        assert!(seen[1] == kind || way == "timed out" && seen[1] == "a< Cancelled", "{way}: {seen:?}");
        assert_eq!(seen[2..], ["false", "a>", "a< ok", "true"], "{way}");
        assert_eq!(
            (handled.entries(), system.dead_letter_count()),
            (vec!["start".into(), "2".into()], 0),
            "{way}"
        );
        if let Some(kept) = kept {
            let expected = if way == "late" { ErrorKind::Timeout } else { ErrorKind::Cancelled };
            assert_eq!(kept.await.unwrap_err().kind(), expected);
        }
        if let Some(awaited) = awaited {
            assert_eq!(awaited.await.unwrap().unwrap_err().kind(), ErrorKind::Timeout);
        }
    }
    // Given up and stopped at the same time.
    let (journal, system) = (Journal::new(), rule.system());
    let recorder = RecordingInterceptor::new("a", &journal).decide(first(HOUR));
    let actor = system.spawn(Worker::new(&Journal::new())).inbound(recorder).await.unwrap();
    let pending = actor.ask(Note(1)).enqueue().unwrap();
    journal.wait_for("a>").await;
    drop(pending);
    actor.stop();
    rule.soon("the actor ends", actor.wait()).await.unwrap();
    assert_eq!(
        (journal.entries(), system.dead_letter_count()),
        (vec!["a>".into(), "a< Cancelled".into()], 0)
    );
}
