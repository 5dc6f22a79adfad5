//! Requests that make one stream of items of another.

use std::sync::atomic::Ordering;
use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ErrorKind, StopReason, TransformRequest};
use futures_util::{StreamExt, stream};
use tokio_util::sync::CancellationToken;

use crate::fixtures::producing::{Crash, Double, HeldHooks, Ping, Producing, Then, Upload, all, spawn};
use crate::fixtures::until;
use crate::rules::body;
use crate::{Capability, Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "TRANSFORM-01",
        Topic::Streams,
        &[(Topic::Streams, State::Handling)],
        "A `transform` request streams items in both directions at once, in order and through buffers and batches of any size; an input stream that panics ends the output with one error.",
        "A codec works on a stream that fits into no memory.",
        body!(both_ways),
    )
    .spi(&["wakes-once-per-turn"]),
    Rule::must(
        "TRANSFORM-02",
        Topic::Streams,
        &[(Topic::Streams, State::Handling), (Topic::Failure, State::Handling), (Topic::Panic, State::Handling)],
        "The output of a `transform` request that is not whole ends with exactly one error after its items: `Unfinished`, `Failed` or `Panicked`. The caller's stream is dropped.",
        "A consumer can tell a short stream from a whole one.",
        body!(not_whole),
    ),
    Rule::must(
        "TRANSFORM-03",
        Topic::Streams,
        &[
            (Topic::Streams, State::Dead),
            (Topic::Streams, State::Stopped),
            (Topic::Streams, State::Killed),
            (Topic::Streams, State::Failed),
        ],
        "When the actor ends, the output and the input of a `transform` request end with `Interrupted`, also when they outlive their handler; a request in the mailbox ends with `Stopped`, and a new one is refused with `Stopped`.",
        "Neither side waits for an actor that is gone.",
        body!(ended),
    ),
    Rule::must(
        "TRANSFORM-04",
        Topic::Streams,
        &[(Topic::Streams, State::Handling), (Topic::Panic, State::Handling)],
        "Input and producer may outlive their handler, and the actor handles other messages meanwhile. A restart ends both with `Interrupted`.",
        "A long stream does not occupy the actor, and belongs to one instance.",
        body!(outlives),
    ),
    Rule::must(
        "TRANSFORM-05",
        Topic::Streams,
        &[(Topic::Streams, State::Drained)],
        "A drain waits for the streams of a `transform` request; the caller gets all items and the end.",
        "A drain loses nothing that was accepted.",
        body!(drained),
    ),
    Rule::must(
        "TRANSFORM-06",
        Topic::Streams,
        &[(Topic::Streams, State::Handling), (Topic::Failure, State::Handling)],
        "When the consumer of a `transform` request is dropped, so is the caller's stream; the producer gets `ConsumerGone`, the actor has not failed, and there is no dead letter.",
        "A consumer that loses interest is no fault of the producer.",
        body!(dropped),
    ),
    Rule::must(
        "TRANSFORM-07",
        Topic::Streams,
        &[(Topic::Streams, State::Handling), (Topic::Cancel, State::Handling)],
        "A limit for the first item, between items or for the whole ends a `transform` request with `Timeout`, a cancelled token with `Cancelled`; the caller's stream is dropped, and the input ends with `Cancelled`. A buffer of 0 is `InvalidCapacity`.",
        "No consumer waits longer than it wants to.",
        body!(limits),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "TRANSFORM-08",
        Topic::Streams,
        &[(Topic::Streams, State::Handling), (Topic::Later, State::Handling)],
        "A `transform` request can be forwarded to another actor, which has both streams, and can be sent through a `Recipient`.",
        "A router need not copy the items.",
        body!(forwarded),
    ),
    Rule::must(
        "TRANSFORM-09",
        Topic::Streams,
        &[(Topic::Streams, State::Starting), (Topic::Streams, State::Stopping)],
        "A `transform` request that is sent while the actor starts is answered after the start; a request that is sent while `on_stop` runs is refused with `Stopped`.",
        "Stream requests are messages like others.",
        body!(hooks),
    ),
    Rule::must(
        "TRANSFORM-10",
        Topic::Streams,
        &[(Topic::Streams, State::NativeKill)],
        "A native kill ends the output of a `transform` request with `Interrupted`.",
        "A native kill is an ordinary end of an actor.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "keeps-cell-after-kill"]),
    Rule::must(
        "TRANSFORM-11",
        Topic::Streams,
        &[(Topic::Streams, State::RuntimeDropped)],
        "When the runtime of the actor is dropped, the output of a `transform` request ends with `Interrupted`.",
        "A consumer on another runtime does not hang.",
        body!(runtime_dropped),
    )
    .spi(&["foreign-runtime"]),
];

/// The output of a stream that waits for more input after three items.
macro_rules! waiting {
    ($rule:expr, $actor:expr, $then:expr) => {{
        let (upload, dropped) = Upload::new(3);
        let mut doubled = $actor.transform(Double($then), upload).await.unwrap();
        for number in 0..3 {
            let next = $rule.soon("an item arrives", doubled.next()).await;
            assert_eq!(next.unwrap().unwrap(), 2 * number);
        }
        (doubled, dropped)
    }};
}

/// A task that reads the input learns that the actor has ended it.
async fn input_ended(rule: &RuleContext, journal: &Journal) {
    rule.soon("the input ends", journal.wait_len(2)).await;
    assert_eq!(journal.entries(), ["taken", "input Interrupted"]);
}

async fn both_ways(rule: RuleContext) {
    let (actor, _) = spawn(&rule).await;
    for (buffer, batch) in [(1, 1), (3, 1), (1000, 1), (4, 3), (32, 32), (500, 7)] {
        let doubled = actor.transform(Double(Then::Finish), stream::iter(0..100)).buffer(buffer).batch(batch);
        let (doubled, error) = all(&rule, doubled.await.unwrap()).await;
        let expected = (0..100).map(|number| number * 2);
        assert!(error.is_none() && doubled.into_iter().eq(expected), "buffer {buffer}, batch {batch}");
    }
    let numbers = stream::iter(0..10).inspect(|number| assert!(*number < 5, "the input"));
    let doubled = actor.transform(Double(Then::Finish), numbers).await.unwrap();
    let (doubled, error) = all(&rule, doubled).await;
    assert_eq!((doubled.len(), error), (5, Some(ErrorKind::Failed)));
}

async fn not_whole(rule: RuleContext) {
    let (actor, _) = spawn(&rule).await;
    let ends = [
        (Then::Leave, 1, ErrorKind::Unfinished),
        (Then::Fail, 40, ErrorKind::Failed),
        (Then::Panic, 40, ErrorKind::Panicked),
    ];
    for (then, count, kind) in ends {
        let (upload, dropped) = Upload::new(40);
        let doubled = actor.transform(Double(then), upload.take(40)).await.unwrap();
        let (doubled, error) = all(&rule, doubled).await;
        assert_eq!((doubled.len(), error), (count, Some(kind)), "{then:?}");
        assert!(dropped.load(Ordering::SeqCst));
    }
}

async fn ended(rule: RuleContext) {
    for end in 0..3 {
        let actor = Producing::default();
        let journal = actor.journal.clone();
        // Spawned from a value, it cannot be restarted.
        let actor = rule.system().spawn(actor).await.unwrap();
        let then = if end == 0 { Then::Finish } else { Then::Beside };
        let (begun, dropped) = waiting!(rule, actor, then);
        match end {
            0 => {
                let queued = actor.transform(Double(Then::Finish), stream::iter(0..3)).await.unwrap();
                actor.kill();
                assert_eq!(all(&rule, queued).await, (vec![], Some(ErrorKind::Stopped)));
            }
            1 => actor.stop(),
            _ => actor.tell(Crash).unwrap(),
        }
        assert_eq!(all(&rule, begun).await, (vec![], Some(ErrorKind::Interrupted)));
        assert!(dropped.load(Ordering::SeqCst));
        if end > 0 {
            input_ended(&rule, &journal).await;
        }
        rule.soon("the actor ends", actor.wait()).await.unwrap();
        let refused = actor.transform(Double(Then::Finish), stream::iter(0..3)).await;
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Stopped);
    }
}

async fn outlives(rule: RuleContext) {
    let (actor, journal) = spawn(&rule).await;
    let (doubled, _) = waiting!(rule, actor, Then::Beside);
    rule.soon("the actor is free", actor.ask(Ping)).await.unwrap();
    actor.tell(Crash).unwrap();
    assert_eq!(all(&rule, doubled).await, (vec![], Some(ErrorKind::Interrupted)));
    input_ended(&rule, &journal).await;
    let doubled = actor.transform(Double(Then::Finish), stream::iter(0..3)).await.unwrap();
    assert_eq!(all(&rule, doubled).await, (vec![0, 2, 4], None), "the next instance answers");
}

async fn drained(rule: RuleContext) {
    let (actor, _) = spawn(&rule).await;
    let more = Gate::new();
    let gate = more.clone();
    let numbers = stream::iter(0..3).chain(stream::once(async move {
        gate.pass().await;
        10
    }));
    let mut doubled = actor.transform(Double(Then::Beside), Box::pin(numbers)).await.unwrap();
    assert_eq!(rule.soon("an item arrives", doubled.next()).await.unwrap().unwrap(), 0);
    actor.drain();
    rule.let_idle().await;
    assert!(actor.is_alive() == Some(true), "it waits for its streams");
    more.open();
    assert_eq!(all(&rule, doubled).await, (vec![2, 4, 20], None));
    assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Drained));
}

async fn dropped(rule: RuleContext) {
    let system = rule.system();
    let actor = Producing::default();
    let journal = actor.journal.clone();
    let actor = system.spawn(actor).await.unwrap();
    for then in [Then::Finish, Then::Beside] {
        let (upload, dropped) = Upload::new(u64::MAX);
        let mut doubled = actor.transform(Double(then), upload).buffer(4).await.unwrap();
        assert_eq!(rule.soon("an item arrives", doubled.next()).await.unwrap().unwrap(), 0);
        drop(doubled);
        assert!(dropped.load(Ordering::SeqCst));
        rule.soon("the actor goes on", actor.ask(Ping)).await.unwrap();
    }
    rule.soon("both end", journal.wait_len(4)).await;
    let ends = ["output ConsumerGone", "input Cancelled"].map(|end| journal.count(end));
    assert_eq!((ends[0] + ends[1], journal.count("taken")), (2, 2), "{:?}", journal.entries());
    assert!(actor.is_alive() == Some(true));
    assert_eq!(system.dead_letter_count(), 0);
}

async fn limits(mut rule: RuleContext) {
    let system = rule.system();
    let second = Duration::from_secs(1);
    for limit in 0..4 {
        let producing = Producing::default();
        let journal = producing.journal.clone();
        let actor = system.spawn(producing).await.unwrap();
        let count = if limit == 0 { 0 } else { 2 };
        let (upload, dropped) = Upload::new(count);
        let request = actor.transform(Double(Then::Beside), upload);
        let token = CancellationToken::new();
        let request = match limit {
            0 => request.first_within(second),
            1 => request.item_within(second),
            2 => request.timeout(second),
            _ => request.cancel(token.clone()),
        };
        let mut doubled = request.await.unwrap();
        for number in 0..count {
            let next = rule.soon("an item arrives", doubled.next()).await;
            assert_eq!(next.unwrap().unwrap(), 2 * number);
        }
        token.cancel();
        rule.clock().advance(2 * second).await;
        let kind = if limit == 3 { ErrorKind::Cancelled } else { ErrorKind::Timeout };
        assert_eq!(all(&rule, doubled).await, (vec![], Some(kind)), "limit {limit}");
        assert!(dropped.load(Ordering::SeqCst));
        rule.soon("the input ends", journal.wait_for("input Cancelled")).await;
        let refused = actor.transform(Double(Then::Finish), stream::iter(0..3)).buffer(0).await;
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidCapacity);
        actor.kill();
    }
}

async fn forwarded(rule: RuleContext) {
    let system = rule.system();
    let other = system.spawn(Producing::default()).await.unwrap();
    let router = Producing { router_to: Some(other.clone()), ..Producing::default() };
    let router = system.spawn(router).await.unwrap();
    let doubled = router.transform(Double(Then::Finish), stream::iter(0..3)).await.unwrap();
    assert_eq!(all(&rule, doubled).await, (vec![0, 2, 4], None));
    let recipient = other.recipient::<TransformRequest<Double>>();
    let doubled = recipient.transform(Double(Then::Finish), stream::iter(0..3)).await.unwrap();
    assert_eq!(all(&rule, doubled).await, (vec![0, 2, 4], None));
    // The streams of a forwarded request do not end with the router, but with the other actor.
    let (doubled, _) = waiting!(rule, router, Then::Beside);
    router.stop();
    rule.soon("the router ends", router.wait()).await.unwrap();
    rule.soon("the other actor goes on", other.ask(Ping)).await.unwrap();
    other.kill();
    assert_eq!(all(&rule, doubled).await, (vec![], Some(ErrorKind::Interrupted)));
    let mut held = HeldHooks::spawn(&rule).await;
    let router = Producing { router_to: Some(held.actor.clone()), ..Producing::default() };
    let router = system.spawn(router).await.unwrap();
    let doubled = router.transform(Double(Then::Finish), stream::iter(0..3)).await.unwrap();
    rule.soon("the request waits", until(|| held.actor.queued() == Some(1))).await;
    router.stop();
    rule.soon("the router ends", router.wait()).await.unwrap();
    held.start(&rule).await;
    assert_eq!(all(&rule, doubled).await, (vec![0, 2, 4], None));
}

async fn hooks(rule: RuleContext) {
    let mut held = HeldHooks::spawn(&rule).await;
    let actor = held.actor.clone();
    let doubled = actor.transform(Double(Then::Finish), stream::iter(0..3)).await.unwrap();
    held.start(&rule).await;
    assert_eq!(all(&rule, doubled).await, (vec![0, 2, 4], None));
    held.begin_stop(&rule).await;
    let refused = actor.transform(Double(Then::Finish), stream::iter(0..3)).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Stopped);
    held.end(&rule).await;
}

async fn native_kill(rule: RuleContext) {
    let (actor, _) = spawn(&rule).await;
    let (doubled, _) = waiting!(rule, actor, Then::Finish);
    rule.native_kill(&actor).await;
    assert_eq!(all(&rule, doubled).await, (vec![], Some(ErrorKind::Interrupted)));
}

async fn runtime_dropped(rule: RuleContext) {
    let system = rule.system();
    let doubled = rule
        .on_dropped_runtime(move || async move {
            let actor = system.spawn(Producing::default()).await.unwrap();
            let (upload, _) = Upload::new(1);
            let mut doubled = actor.transform(Double(Then::Finish), upload).await.unwrap();
            assert_eq!(doubled.next().await.unwrap().unwrap(), 0);
            doubled
        })
        .await;
    assert_eq!(all(&rule, doubled).await, (vec![], Some(ErrorKind::Interrupted)));
}
