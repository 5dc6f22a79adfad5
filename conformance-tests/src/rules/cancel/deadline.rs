//! Timeouts and deadlines of asks, on a driven clock.

use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Context, Deadline, Error, ErrorKind};
use tokio::time::Instant;

use crate::fixtures::cancellation::{guarded, never, watches};
use crate::fixtures::interceptor::RecordingInterceptor;
use crate::fixtures::scripted::{
    Abortable, Script, ScriptedActor, async_script, reply_with, script, wait_at,
};
use crate::rules::body;
use crate::{Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "CANCEL-11",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling)],
        "A handler observes that the timeout or deadline of its ask has passed, and is dropped if its message has `ABORT`.",
        "The reason why the asker gave up does not matter.",
        body!(timed_out),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "CANCEL-12",
        Topic::Cancel,
        &[(Topic::Cancel, State::Idle)],
        "An ask whose deadline has passed (set on the ask, as a header or by its timeout) is not sent: it fails with `Timeout`, which names the limit, and no interceptor sees it.",
        "Handling a message that is already late is wasted work.",
        body!(not_sent),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "CANCEL-13",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling)],
        "An ask whose deadline passes in the queue is skipped, whether or not it is awaited, and fails with `Timeout`; of several limits the earliest applies.",
        "No handler runs for an answer that would be late.",
        body!(expires_queued),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "CANCEL-16",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling)],
        "Of the timeout, the deadline and the `Deadline` header of one ask the earliest applies, in any order, with and without interceptors.",
        "A limit must not hide an earlier one.",
        body!(earliest),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "CANCEL-14",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling)],
        "An ask made in a handler inherits the deadline of that handler's asker, across any number of actors, and the error names that deadline. A limit of its own applies if it is earlier.",
        "An ask whose answer is no longer needed does not wait.",
        body!(inherits),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "CANCEL-15",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling)],
        "The deadline of a message applies to its handler only: not to the next message, a message that the handler tells, a task that it spawns, or a hook.",
        "A deadline belongs to one answer.",
        body!(no_leak),
    )
    .runtime(RuntimeMode::DrivenClock),
];

const TWO: Duration = Duration::from_secs(2);
const FIVE: Duration = Duration::from_secs(5);
const HOUR: Duration = Duration::from_secs(3600);

async fn timed_out(mut rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let scripted = system.spawn(ScriptedActor::default()).await.unwrap();
    let (gate, asker) = (Gate::new(), scripted.clone());
    let message = watches(&journal, &gate);
    let asked = tokio::spawn(async move { asker.ask(message).timeout(FIVE).await });
    gate.reached().await;
    rule.clock().advance(FIVE).await;
    assert_eq!(asked.await.unwrap().unwrap_err().kind(), ErrorKind::Timeout);
    journal.wait_for("gone true true").await;
    gate.open();

    let (gate, asker) = (Gate::new(), scripted.clone());
    let message = Abortable(guarded(&journal, &gate));
    let asked = tokio::spawn(async move { asker.ask(message).deadline(Instant::now() + TWO).await });
    gate.reached().await;
    rule.clock().advance(TWO).await;
    let error = asked.await.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.get("deadline")), (ErrorKind::Timeout, Some("of the ask")));
    assert_eq!(scripted.ask(reply_with(1)).await.unwrap(), 1);
    assert_eq!(journal.entries(), ["gone true true", "left"]);
}

async fn not_sent(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let scripted = system
        .spawn(ScriptedActor::default())
        .name("d")
        .inbound(RecordingInterceptor::new("a", &journal))
        .await
        .unwrap();
    let scripted = scripted.outbound(RecordingInterceptor::new("b", &journal));
    let late = Instant::now();
    let by_deadline = || scripted.ask(never()).deadline(late).timeout(FIVE);
    let by_header = || scripted.ask(never()).header(Deadline(late)).timeout(FIVE);
    let by_timeout = || scripted.ask(never()).timeout(Duration::ZERO).deadline(late + FIVE);
    let both = |deadline, header| {
        let header = Deadline(late + header);
        scripted.header(header).ask(never()).deadline(late + deadline)
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
        assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Timeout, Some("pekko://test/user/d")));
        assert_eq!(error.get(context), Some(value), "{error}");
    }
    assert_eq!(journal.entries(), [""; 0]);
    assert_eq!(scripted.ask(reply_with(1)).deadline(late + FIVE).await.unwrap(), 1);
}

/// Every order of a timeout, a deadline and a `Deadline` header; zero means no timeout.
async fn earliest(mut rule: RuleContext) {
    let (system, started) = (rule.system(), Instant::now());
    for intercepted in [false, true] {
        for limits in [[2, 3, 5], [2, 5, 3], [3, 2, 5], [5, 2, 3], [3, 5, 2], [5, 3, 2], [0, 5, 2], [0, 2, 5]]
        {
            let [timeout, deadline, header] = limits.map(Duration::from_secs);
            let scripted = system.spawn(ScriptedActor::default()).await.unwrap();
            let sent = if intercepted {
                scripted.outbound(RecordingInterceptor::new("a", &Journal::new()))
            } else {
                scripted.clone()
            };
            let (gate, now) = (Gate::new(), Instant::now());
            let asked = tokio::spawn({
                let message = wait_at(&gate);
                async move {
                    let ask = sent.ask(message).deadline(now + deadline).header(Deadline(now + header));
                    let ask = if timeout.is_zero() { ask } else { ask.timeout(timeout) };
                    ask.await
                }
            });
            gate.reached().await;
            rule.clock().advance(TWO - Duration::from_millis(1)).await;
            assert!(!asked.is_finished(), "{limits:?}");
            rule.clock().advance(Duration::from_millis(1)).await;
            assert!(asked.is_finished(), "{limits:?}: the earliest limit does not apply");
            assert_eq!(asked.await.unwrap().unwrap_err().kind(), ErrorKind::Timeout);
            gate.open();
        }
    }
    assert_eq!(started.elapsed(), 16 * TWO);
}

async fn expires_queued(mut rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let scripted = system
        .spawn(ScriptedActor::default())
        .inbound(RecordingInterceptor::new("a", &journal))
        .await
        .unwrap();
    scripted.tell(wait_at(&gate)).unwrap();
    gate.reached().await;
    let now = Instant::now();
    let unread = scripted.ask(never()).deadline(now + TWO).timeout(FIVE).enqueue().unwrap();
    let header = scripted.header(Deadline::after(TWO)).ask(never()).enqueue().unwrap();
    let asker = scripted.clone();
    let asked = tokio::spawn(async move { asker.ask(never()).deadline(now + FIVE).timeout(TWO).await });
    let patient = scripted.ask(reply_with(4)).timeout(FIVE).enqueue().unwrap();
    rule.clock().advance(TWO).await;
    assert!(asked.is_finished());
    assert_eq!(asked.await.unwrap().unwrap_err().get("after"), Some("2s"));
    gate.open();
    assert_eq!(patient.await.unwrap(), 4);
    for late in [unread, header] {
        assert_eq!(late.await.unwrap_err().kind(), ErrorKind::Timeout);
    }
    assert_eq!(journal.entries(), ["a>", "a< ok", "a>", "a< ok"]);
    assert_eq!(system.dead_letter_count(), 0);
}

/// Asks another actor and notes the error.
fn asks(to: &ActorRef<ScriptedActor>, limit: Option<Duration>, message: Script, journal: &Journal) -> Script {
    let (to, journal) = (to.clone(), journal.clone());
    let note = move |error: &Error| {
        let context = error.get("deadline").or(error.get("after"));
        journal.note(format!("{:?} {}", error.kind(), context.unwrap_or("-")));
    };
    async_script(move |_, _| {
        Box::pin(async move {
            let ask = to.ask(message);
            let ask = if let Some(limit) = limit { ask.timeout(limit) } else { ask };
            Ok(ask.await.inspect_err(note)?)
        })
    })
}

async fn inherits(mut rule: RuleContext) {
    let system = rule.system();
    for (own, expected, after) in [
        (None, "Timeout of the message being handled", FIVE),
        (Some(HOUR), "Timeout of the message being handled", FIVE),
        (Some(TWO), "Timeout 2s", TWO),
    ] {
        for intercepted in [false, true] {
            let (journal, gate, held) = (Journal::new(), Gate::new(), Journal::new());
            let mut desks = Vec::new();
            for _ in 0..3 {
                let spawn = system.spawn(ScriptedActor::default());
                let spawn = if intercepted {
                    spawn.inbound(RecordingInterceptor::new("a", &Journal::new()))
                } else {
                    spawn
                };
                desks.push(spawn.await.unwrap());
            }
            let inner = guarded(&held, &gate);
            let middle = asks(&desks[2], own, inner, &journal);
            let outer = asks(&desks[1], None, middle, &journal);
            let asker = desks[0].clone();
            let asked = tokio::spawn(async move { asker.ask(outer).timeout(FIVE).await });
            gate.reached().await;
            rule.clock().advance(after - Duration::from_millis(1)).await;
            assert!(journal.is_empty() && !asked.is_finished());
            rule.clock().advance(Duration::from_millis(1)).await;
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

async fn no_leak(mut rule: RuleContext) {
    let system = rule.system();
    for intercepted in [false, true] {
        let (journal, gate) = (Journal::new(), Gate::new());
        let spawn = system.spawn(ScriptedActor::default());
        let spawn =
            if intercepted { spawn.inbound(RecordingInterceptor::new("a", &Journal::new())) } else { spawn };
        let scripted = spawn.await.unwrap();
        let other = system.spawn(ScriptedActor::default()).await.unwrap();
        let (to, spawned) = (other.clone(), other.clone());
        let (slow, told) = (wait_at(&gate), asks(&other, None, reply_with(5), &journal));
        let message = async_script(move |_, ctx| {
            Box::pin(async move {
                ctx.actor_ref().tell(told)?;
                tokio::spawn(async move { spawned.ask(slow).await });
                let inherited = to.ask(script(|_, ctx| Ok(limit(ctx)))).await?;
                Ok(10 * limit(ctx) + inherited)
            })
        });
        // From here on the ask of the spawned task keeps the other actor busy.
        let asked = scripted.ask(message).timeout(FIVE);
        assert_eq!(asked.await.unwrap(), 11);
        gate.reached().await;
        let next = scripted.ask(script(|_, ctx| Ok(limit(ctx)))).enqueue().unwrap();
        rule.clock().advance(HOUR).await;
        assert!(journal.is_empty(), "{journal:?}");
        gate.open();
        assert_eq!(next.await.unwrap(), 0);
        assert!(journal.is_empty(), "a told message has no deadline: {journal:?}");
    }
}
