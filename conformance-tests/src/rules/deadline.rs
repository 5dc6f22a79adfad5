//! How long askers want an answer, on a driven clock.

use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Context, Deadline, Error, ErrorKind};
use tokio::time::Instant;

use super::body;
use super::cancel::{guarded, never, watches};
use super::fixture::{Abortable, Desk, Do, Spy, give, job, pass, quick};
use crate::{Lab, Pace, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "CANCEL-11",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling)],
        "A timeout and a deadline that strike while the handler runs are seen by it, and drop it if its message says so.",
        "It does not matter why nobody wants the answer.",
        body!(timed_out),
    )
    .pace(Pace::Driven),
    Rule::must(
        "CANCEL-12",
        Topic::Cancel,
        &[(Topic::Cancel, State::Idle)],
        "An ask whose deadline has passed, set on it, beside it as a header or by its timeout, is not sent: it fails with `Timeout`, saying which limit it was, and no interceptor sees it.",
        "A message that is late before it leaves is only work.",
        body!(not_sent),
    )
    .pace(Pace::Driven),
    Rule::must(
        "CANCEL-13",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling)],
        "An ask whose deadline passes in the queue is skipped, awaited or not, and fails with `Timeout`; of several limits the earliest counts.",
        "Nobody works for an answer that comes too late.",
        body!(expires_queued),
    )
    .pace(Pace::Driven),
    Rule::must(
        "CANCEL-16",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling)],
        "Of the timeout, the deadline and the `Deadline` header of one ask the earliest counts, in whatever order they are, with and without interceptors.",
        "A limit that another limit hides is no limit.",
        body!(earliest),
    )
    .pace(Pace::Driven),
    Rule::must(
        "CANCEL-14",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling)],
        "An ask that is made in a handler does not wait longer than the asker of that handler, over any number of actors; the error says that it was this deadline. A limit of its own counts if it is earlier.",
        "Nobody waits for an answer to a question that is over.",
        body!(inherits),
    )
    .pace(Pace::Driven),
    Rule::must(
        "CANCEL-15",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling)],
        "The deadline of a message is that of its handler only: not of the next message, not of one that the handler tells, not of a task that it spawns, not of a hook.",
        "A deadline belongs to an answer.",
        body!(no_leak),
    )
    .pace(Pace::Driven),
];

const TWO: Duration = Duration::from_secs(2);
const FIVE: Duration = Duration::from_secs(5);
const HOUR: Duration = Duration::from_secs(3600);

async fn timed_out(mut lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let desk = system.spawn(Desk::default()).await.unwrap();
    let (gate, asker) = (Gate::new(), desk.clone());
    let message = watches(&journal, &gate);
    let asked = tokio::spawn(async move { asker.ask(message).timeout(FIVE).await });
    gate.reached().await;
    lab.clock().advance(FIVE).await;
    assert_eq!(asked.await.unwrap().unwrap_err().kind(), ErrorKind::Timeout);
    journal.wait_for("gone true true").await;
    gate.open();

    let (gate, asker) = (Gate::new(), desk.clone());
    let message = Abortable(guarded(&journal, &gate));
    let asked = tokio::spawn(async move { asker.ask(message).deadline(Instant::now() + TWO).await });
    gate.reached().await;
    lab.clock().advance(TWO).await;
    let error = asked.await.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.get("deadline")), (ErrorKind::Timeout, Some("of the ask")));
    assert_eq!(desk.ask(give(1)).await.unwrap(), 1);
    assert_eq!(journal.entries(), ["gone true true", "left"]);
}

async fn not_sent(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let desk = system.spawn(Desk::default()).name("d").inbound(Spy::new("a", &journal)).await.unwrap();
    let desk = desk.outbound(Spy::new("b", &journal));
    let late = Instant::now();
    let by_deadline = || desk.ask(never()).deadline(late).timeout(FIVE);
    let by_header = || desk.ask(never()).header(Deadline(late)).timeout(FIVE);
    let by_timeout = || desk.ask(never()).timeout(Duration::ZERO).deadline(late + FIVE);
    let both = |deadline, header| {
        let header = Deadline(late + header);
        desk.header(header).ask(never()).deadline(late + deadline)
    };
    let errors = [
        (by_deadline().await, "deadline", "of the ask"),
        (by_header().await, "deadline", "of the ask"),
        (by_timeout().await, "after", "0ns"),
        (by_deadline().enqueue().map(drop).map(|()| 0), "deadline", "of the ask"),
        (by_header().enqueue().map(drop).map(|()| 0), "deadline", "of the ask"),
        (by_timeout().enqueue().map(drop).map(|()| 0), "after", "0ns"),
        (both(FIVE, Duration::ZERO).await, "deadline", "of the ask"),
        (both(Duration::ZERO, FIVE).await, "deadline", "of the ask"),
        (both(FIVE, Duration::ZERO).enqueue().map(drop).map(|()| 0), "deadline", "of the ask"),
    ];
    for (result, context, value) in errors {
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Timeout, Some("pekko://lab/user/d")));
        assert_eq!(error.get(context), Some(value), "{error}");
    }
    assert_eq!(journal.entries(), [""; 0]);
    assert_eq!(desk.ask(give(1)).deadline(late + FIVE).await.unwrap(), 1);
}

/// Every order of three limits, each as a timeout, a deadline and a header, unless it is none.
async fn earliest(mut lab: Lab) {
    let (system, started) = (lab.system(), Instant::now());
    for spied in [false, true] {
        for limits in [[2, 3, 5], [2, 5, 3], [3, 2, 5], [5, 2, 3], [3, 5, 2], [5, 3, 2], [0, 5, 2], [0, 2, 5]]
        {
            let [timeout, deadline, header] = limits.map(Duration::from_secs);
            let desk = system.spawn(Desk::default()).await.unwrap();
            let sent = if spied { desk.outbound(Spy::new("a", &Journal::new())) } else { desk.clone() };
            let (gate, now) = (Gate::new(), Instant::now());
            let asked = tokio::spawn({
                let message = pass(&gate);
                async move {
                    let ask = sent.ask(message).deadline(now + deadline).header(Deadline(now + header));
                    let ask = if timeout.is_zero() { ask } else { ask.timeout(timeout) };
                    ask.await
                }
            });
            gate.reached().await;
            lab.clock().advance(TWO - Duration::from_millis(1)).await;
            assert!(!asked.is_finished(), "{limits:?}");
            lab.clock().advance(Duration::from_millis(1)).await;
            assert!(asked.is_finished(), "{limits:?}: the earliest does not count");
            assert_eq!(asked.await.unwrap().unwrap_err().kind(), ErrorKind::Timeout);
            gate.open();
        }
    }
    assert_eq!(started.elapsed(), 16 * TWO);
}

async fn expires_queued(mut lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let desk = system.spawn(Desk::default()).inbound(Spy::new("a", &journal)).await.unwrap();
    desk.tell(pass(&gate)).unwrap();
    gate.reached().await;
    let now = Instant::now();
    let unread = desk.ask(never()).deadline(now + TWO).timeout(FIVE).enqueue().unwrap();
    let header = desk.header(Deadline::after(TWO)).ask(never()).enqueue().unwrap();
    let asker = desk.clone();
    let asked = tokio::spawn(async move { asker.ask(never()).deadline(now + FIVE).timeout(TWO).await });
    let patient = desk.ask(give(4)).timeout(FIVE).enqueue().unwrap();
    lab.clock().advance(TWO).await;
    assert!(asked.is_finished());
    assert_eq!(asked.await.unwrap().unwrap_err().get("after"), Some("2s"));
    gate.open();
    assert_eq!(patient.await.unwrap(), 4);
    for late in [unread, header] {
        assert_eq!(late.await.unwrap_err().kind(), ErrorKind::Timeout);
    }
    assert_eq!(journal.entries(), ["a>", "a< ok", "a>", "a< ok"]);
    assert_eq!(system.dead_letters(), 0);
}

/// Asks another one, and notes what came of it.
fn asks(to: &ActorRef<Desk>, limit: Option<Duration>, message: Do, journal: &Journal) -> Do {
    let (to, journal) = (to.clone(), journal.clone());
    let note = move |error: &Error| {
        let context = error.get("deadline").or(error.get("after"));
        journal.note(format!("{:?} {}", error.kind(), context.unwrap_or("-")));
    };
    job(move |_, _| {
        Box::pin(async move {
            let ask = to.ask(message);
            let ask = if let Some(limit) = limit { ask.timeout(limit) } else { ask };
            Ok(ask.await.inspect_err(note)?)
        })
    })
}

async fn inherits(mut lab: Lab) {
    let system = lab.system();
    for (own, expected, after) in [
        (None, "Timeout of the message being handled", FIVE),
        (Some(HOUR), "Timeout of the message being handled", FIVE),
        (Some(TWO), "Timeout 2s", TWO),
    ] {
        for spied in [false, true] {
            let (journal, gate, held) = (Journal::new(), Gate::new(), Journal::new());
            let mut desks = Vec::new();
            for _ in 0..3 {
                let spawn = system.spawn(Desk::default());
                let spawn = if spied { spawn.inbound(Spy::new("a", &Journal::new())) } else { spawn };
                desks.push(spawn.await.unwrap());
            }
            let inner = guarded(&held, &gate);
            let middle = asks(&desks[2], own, inner, &journal);
            let outer = asks(&desks[1], None, middle, &journal);
            let asker = desks[0].clone();
            let asked = tokio::spawn(async move { asker.ask(outer).timeout(FIVE).await });
            gate.reached().await;
            lab.clock().advance(after - Duration::from_millis(1)).await;
            assert!(journal.is_empty() && !asked.is_finished());
            lab.clock().advance(Duration::from_millis(1)).await;
            journal.wait_len(2).await;
            assert_eq!(journal.count(expected), if own == Some(TWO) { 1 } else { 2 }, "{journal:?}");
            let kind = asked.await.unwrap().unwrap_err().kind();
            assert_eq!(kind, if own == Some(TWO) { ErrorKind::Failed } else { ErrorKind::Timeout });
            gate.open();
        }
    }
}

fn limit<A: dactor_core::Actor>(ctx: &Context<A>) -> u32 {
    u32::from(ctx.deadline().is_some())
}

async fn no_leak(mut lab: Lab) {
    let system = lab.system();
    for spied in [false, true] {
        let (journal, gate) = (Journal::new(), Gate::new());
        let spawn = system.spawn(Desk::default());
        let spawn = if spied { spawn.inbound(Spy::new("a", &Journal::new())) } else { spawn };
        let desk = spawn.await.unwrap();
        let other = system.spawn(Desk::default()).await.unwrap();
        let (to, spawned) = (other.clone(), other.clone());
        let (slow, told) = (pass(&gate), asks(&other, None, give(5), &journal));
        let message = job(move |_, ctx| {
            Box::pin(async move {
                ctx.actor_ref().tell(told)?;
                tokio::spawn(async move { spawned.ask(slow).await });
                let inherited = to.ask(quick(|_, ctx| Ok(limit(ctx)))).await?;
                Ok(10 * limit(ctx) + inherited)
            })
        });
        // The one that the spawned task asks holds the other actor from here on.
        let asked = desk.ask(message).timeout(FIVE);
        assert_eq!(asked.await.unwrap(), 11);
        gate.reached().await;
        let next = desk.ask(quick(|_, ctx| Ok(limit(ctx)))).enqueue().unwrap();
        lab.clock().advance(HOUR).await;
        assert!(journal.is_empty(), "{journal:?}");
        gate.open();
        assert_eq!(next.await.unwrap(), 0);
        assert!(journal.is_empty(), "what was told waits as long as it takes: {journal:?}");
    }
}
