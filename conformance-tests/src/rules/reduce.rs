//! Requests that come with a stream of items.

use std::sync::atomic::Ordering;
use std::time::Duration;

use dactor_core::testkit::Gate;
use dactor_core::{ActorRef, ErrorKind, ReduceRequest, StopReason};
use futures_util::{StreamExt, stream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::fixtures::producing::{Crash, HeldHooks, Ping, Producing, Sum, SumAtItself, Then, Upload, spawn};
use crate::fixtures::until;
use crate::rules::body;
use crate::{Capability, Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "REDUCE-01",
        Topic::Streams,
        &[(Topic::Streams, State::Handling), (Topic::Later, State::Handling)],
        "A `reduce` request gives the handler all items in order and the caller one reply, which may come after the handler.",
        "An upload need not fit into one message, nor occupy the actor.",
        body!(one_reply),
    )
    .spi(&["wakes-once-per-turn"]),
    Rule::must(
        "REDUCE-02",
        Topic::Streams,
        &[(Topic::Streams, State::Handling), (Topic::Cancel, State::Handling)],
        "An input stream that panics is an error for the handler and for the caller. A caller that gives up ends the input with `Cancelled`, and the actor goes on.",
        "The handler can tell an incomplete input from a complete one.",
        body!(broken_input),
    ),
    Rule::must(
        "REDUCE-03",
        Topic::Streams,
        &[(Topic::Streams, State::Handling), (Topic::Failure, State::Handling), (Topic::Panic, State::Handling)],
        "A handler that fails is `Failed` for the caller of a `reduce` request, and a handler that panics is `Panicked`; the caller's stream is dropped.",
        "A failed upload is reported like a failed ask.",
        body!(failing),
    ),
    Rule::must(
        "REDUCE-04",
        Topic::Streams,
        &[
            (Topic::Streams, State::Dead),
            (Topic::Streams, State::Stopped),
            (Topic::Streams, State::Killed),
            (Topic::Streams, State::Failed),
        ],
        "When the actor ends, an input that outlives its handler ends with `Interrupted`. A `reduce` request whose handler was killed is `Interrupted`, one in the mailbox `Stopped`, and a new one is refused with `Stopped`.",
        "Neither the caller nor a task that reads the input waits for an actor that is gone.",
        body!(ended),
    ),
    Rule::must(
        "REDUCE-05",
        Topic::Streams,
        &[(Topic::Streams, State::Handling), (Topic::Panic, State::Handling)],
        "A restart ends the inputs of the old instance with `Interrupted`, and the next instance answers.",
        "An upload belongs to one instance.",
        body!(restarted),
    ),
    Rule::must(
        "REDUCE-06",
        Topic::Streams,
        &[(Topic::Streams, State::Drained)],
        "A drain waits for the inputs of the actor; the caller gets its reply.",
        "A drain loses nothing that was accepted.",
        body!(drained),
    ),
    Rule::must(
        "REDUCE-07",
        Topic::Streams,
        &[(Topic::Streams, State::Handling), (Topic::Cancel, State::Handling)],
        "A `reduce` request that passes its timeout or deadline is `Timeout`, and one whose token is cancelled `Cancelled`; the input ends with `Cancelled` and the caller's stream is dropped. A buffer of 0 is `InvalidCapacity`.",
        "No caller waits longer than it wants to.",
        body!(limits),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "REDUCE-08",
        Topic::Streams,
        &[(Topic::Streams, State::Handling)],
        "A handler may drop its input and reply before the last item: the caller gets the reply, and its stream is dropped.",
        "A caller does not send what the handler does not want.",
        body!(early),
    ),
    Rule::must(
        "REDUCE-09",
        Topic::Streams,
        &[(Topic::Streams, State::Handling), (Topic::Later, State::Handling)],
        "A `reduce` request can be forwarded to another actor, which takes the items, and can be sent through a `Recipient`. An actor that reduces at itself in a handler gets `AskedItself`.",
        "A router need not copy the items.",
        body!(forwarded),
    ),
    Rule::must(
        "REDUCE-10",
        Topic::Streams,
        &[(Topic::Streams, State::Starting), (Topic::Streams, State::Stopping)],
        "A `reduce` request that is sent while the actor starts is answered after the start; a request that is sent while `on_stop` runs is refused with `Stopped`.",
        "Stream requests are messages like others.",
        body!(hooks),
    ),
    Rule::must(
        "REDUCE-11",
        Topic::Streams,
        &[(Topic::Streams, State::NativeKill)],
        "A native kill ends a `reduce` request with `Interrupted`.",
        "A native kill is an ordinary end of an actor.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "keeps-cell-after-kill"]),
    Rule::must(
        "REDUCE-12",
        Topic::Streams,
        &[(Topic::Streams, State::RuntimeDropped)],
        "When the runtime of the actor is dropped, a `reduce` request on another runtime is `Interrupted`.",
        "A caller on another runtime does not hang.",
        body!(runtime_dropped),
    )
    .spi(&["foreign-runtime"]),
];

async fn one_reply(rule: RuleContext) {
    let (actor, _) = spawn(&rule).await;
    for then in [Then::Beside, Then::Finish] {
        for (count, buffer) in [(0, 1), (1, 1), (100, 1), (100, 7), (100, 1000)] {
            let sum = actor.reduce(Sum(then), stream::iter(0..count)).buffer(buffer);
            let sum = rule.soon("the reply arrives", sum).await.unwrap();
            assert_eq!(sum, (0..count).sum::<u64>(), "buffer {buffer}");
        }
    }
}

async fn broken_input(rule: RuleContext) {
    let (actor, journal) = spawn(&rule).await;
    let numbers = stream::iter(0..10).inspect(|number| assert!(*number < 5, "the input"));
    let error = rule.soon("the reply arrives", actor.reduce(Sum(Then::Beside), numbers)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Failed);
    assert!(format!("{error:#}").contains("input stream"), "{error:#}");
    let (upload, dropped) = Upload::new(3);
    let mut given_up = actor.reduce(Sum(Then::Finish), upload).into_future();
    assert!(futures_util::poll!(&mut given_up).is_pending());
    rule.soon("the handler has the items", journal.wait_len(3)).await;
    drop(given_up);
    assert!(dropped.load(Ordering::SeqCst));
    rule.soon("the handler learns it", journal.wait_for("input Cancelled")).await;
    rule.soon("the actor goes on", actor.ask(Ping)).await.unwrap();
    assert_eq!(journal.entries(), ["taken", "input Panicked", "taken", "input Cancelled"]);
}

async fn failing(rule: RuleContext) {
    let (actor, _) = spawn(&rule).await;
    for (then, kind) in [(Then::Fail, ErrorKind::Failed), (Then::Panic, ErrorKind::Panicked)] {
        let (upload, dropped) = Upload::new(3);
        let error =
            rule.soon("the reply arrives", actor.reduce(Sum(then), upload.take(3))).await.unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(dropped.load(Ordering::SeqCst));
    }
    rule.soon("the actor goes on", actor.ask(Ping)).await.unwrap();
}

/// A request that waits for more items.
fn waiting(actor: &ActorRef<Producing>, then: Then) -> JoinHandle<dactor_core::Result<u64>> {
    let (upload, _) = Upload::new(3);
    let caller = actor.clone();
    tokio::spawn(async move { caller.reduce(Sum(then), upload).await })
}

async fn ended(rule: RuleContext) {
    for end in 0..3 {
        let actor = Producing::default();
        let journal = actor.journal.clone();
        // Spawned from a value, it cannot be restarted.
        let actor = rule.system().spawn(actor).await.unwrap();
        let begun = waiting(&actor, if end == 0 { Then::Finish } else { Then::Beside });
        rule.soon("the handler begins", journal.wait_for("taken")).await;
        let mut queued = None;
        match end {
            0 => {
                let mut second = actor.reduce(Sum(Then::Finish), stream::iter(0..3)).into_future();
                assert!(futures_util::poll!(&mut second).is_pending());
                queued = Some(second);
                actor.kill();
            }
            1 => actor.stop(),
            _ => actor.tell(Crash).unwrap(),
        }
        let begun = rule.soon("the caller learns it", begun).await.unwrap().unwrap_err();
        if let Some(queued) = queued {
            assert_eq!(begun.kind(), ErrorKind::Interrupted);
            let queued = rule.soon("the second caller learns it", queued).await.unwrap_err();
            assert_eq!(queued.kind(), ErrorKind::Stopped);
        } else {
            assert_eq!(begun.kind(), ErrorKind::Failed);
            assert!(format!("{begun:#}").contains("is gone"), "{begun:#}");
            rule.soon("the input ends", journal.wait_for("input Interrupted")).await;
        }
        rule.soon("the actor ends", actor.wait()).await.unwrap();
        let refused = actor.reduce(Sum(Then::Finish), stream::iter(0..3)).await;
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Stopped);
    }
}

async fn restarted(rule: RuleContext) {
    let (actor, journal) = spawn(&rule).await;
    let begun = waiting(&actor, Then::Beside);
    rule.soon("the handler begins", journal.wait_for("taken")).await;
    actor.tell(Crash).unwrap();
    let error = rule.soon("the caller learns it", begun).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Failed);
    assert_eq!(journal.entries(), ["taken", "input Interrupted"]);
    let sum = actor.reduce(Sum(Then::Finish), stream::iter(0..3));
    assert_eq!(rule.soon("the next instance answers", sum).await.unwrap(), 3);
}

async fn drained(rule: RuleContext) {
    let (actor, _) = spawn(&rule).await;
    let more = Gate::new();
    let gate = more.clone();
    let numbers = stream::iter(0..3).chain(stream::once(async move {
        gate.pass().await;
        10
    }));
    let caller = actor.clone();
    let reducing = tokio::spawn(async move { caller.reduce(Sum(Then::Beside), Box::pin(numbers)).await });
    rule.soon("the first items are sent", more.reached()).await;
    rule.soon("the handler has returned", actor.ask(Ping)).await.unwrap();
    actor.drain();
    rule.let_idle().await;
    assert!(actor.is_alive() == Some(true), "it waits for its input");
    more.open();
    assert_eq!(rule.soon("the reply arrives", reducing).await.unwrap().unwrap(), 13);
    assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Drained));
}

async fn limits(mut rule: RuleContext) {
    let second = Duration::from_secs(1);
    for limit in 0..3 {
        let (actor, journal) = spawn(&rule).await;
        let (upload, dropped) = Upload::new(3);
        let token = CancellationToken::new();
        let (caller, cancel) = (actor.clone(), token.clone());
        let reducing = tokio::spawn(async move {
            let request = caller.reduce(Sum(Then::Finish), upload);
            match limit {
                0 => request.timeout(second).await,
                1 => request.deadline(tokio::time::Instant::now() + second).await,
                _ => request.cancel(cancel).await,
            }
        });
        rule.soon("the handler begins", journal.wait_for("taken")).await;
        if limit == 2 {
            token.cancel();
        } else {
            rule.clock().advance(second).await;
        }
        let kind = if limit == 2 { ErrorKind::Cancelled } else { ErrorKind::Timeout };
        assert_eq!(rule.soon("it is given up", reducing).await.unwrap().unwrap_err().kind(), kind, "{limit}");
        assert!(dropped.load(Ordering::SeqCst));
        rule.soon("the handler learns it", journal.wait_for("input Cancelled")).await;
        let refused = actor.reduce(Sum(Then::Finish), stream::iter(0..3)).buffer(0).await;
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidCapacity);
    }
}

async fn early(rule: RuleContext) {
    let (actor, _) = spawn(&rule).await;
    let (upload, dropped) = Upload::new(u64::MAX);
    let sum = rule.soon("the reply arrives", actor.reduce(Sum(Then::Leave), upload)).await.unwrap();
    assert_eq!((sum, dropped.load(Ordering::SeqCst)), (0, true));
}

async fn forwarded(rule: RuleContext) {
    let system = rule.system();
    let other = system.spawn(Producing::default()).await.unwrap();
    let router = Producing { router_to: Some(other.clone()), ..Producing::default() };
    let router = system.spawn(router).await.unwrap();
    for then in [Then::Finish, Then::Beside] {
        let sum = router.reduce(Sum(then), stream::iter(0..100)).buffer(3);
        assert_eq!(rule.soon("the reply arrives", sum).await.unwrap(), 4950);
    }
    let recipient = other.recipient::<ReduceRequest<Sum>>();
    let sum = recipient.reduce(Sum(Then::Finish), stream::iter(0..3));
    assert_eq!(rule.soon("the reply arrives", sum).await.unwrap(), 3);
    let itself = rule.soon("the handler returns", other.ask(SumAtItself)).await.unwrap_err();
    assert!(format!("{itself:#}").contains("its own reply"), "{itself:#}");
    // The input of a forwarded request does not end with the router.
    let more = Gate::new();
    let gate = more.clone();
    let numbers = stream::once(async move {
        gate.pass().await;
        10
    });
    let caller = router.clone();
    let reducing = tokio::spawn(async move { caller.reduce(Sum(Then::Beside), Box::pin(numbers)).await });
    rule.soon("the caller's stream is polled", more.reached()).await;
    rule.soon("the router has forwarded it", router.ask(Ping)).await.unwrap();
    rule.soon("the other actor has it", other.ask(Ping)).await.unwrap();
    router.stop();
    rule.soon("the router ends", router.wait()).await.unwrap();
    more.open();
    assert_eq!(rule.soon("the reply arrives", reducing).await.unwrap().unwrap(), 10);
    // Nor while it waits in the mailbox of the other actor.
    let mut held = HeldHooks::spawn(&rule).await;
    let router = Producing { router_to: Some(held.actor.clone()), ..Producing::default() };
    let router = system.spawn(router).await.unwrap();
    let caller = router.clone();
    let reducing = tokio::spawn(async move { caller.reduce(Sum(Then::Finish), stream::iter(0..3)).await });
    rule.soon("it waits", until(|| held.actor.queued() == Some(1))).await;
    router.stop();
    rule.soon("the router ends", router.wait()).await.unwrap();
    held.start(&rule).await;
    assert_eq!(rule.soon("the reply arrives", reducing).await.unwrap().unwrap(), 3);
}

async fn hooks(rule: RuleContext) {
    let mut held = HeldHooks::spawn(&rule).await;
    let actor = held.actor.clone();
    let caller = actor.clone();
    let sum = tokio::spawn(async move { caller.reduce(Sum(Then::Finish), stream::iter(0..3)).await });
    rule.let_idle().await;
    held.start(&rule).await;
    assert_eq!(rule.soon("the reply arrives", sum).await.unwrap().unwrap(), 3);
    held.begin_stop(&rule).await;
    let refused = actor.reduce(Sum(Then::Finish), stream::iter(0..3)).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Stopped);
    held.end(&rule).await;
}

async fn native_kill(rule: RuleContext) {
    let (actor, journal) = spawn(&rule).await;
    let begun = waiting(&actor, Then::Finish);
    rule.soon("the handler begins", journal.wait_for("taken")).await;
    rule.native_kill(&actor).await;
    let error = rule.soon("the caller learns it", begun).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted);
}

async fn runtime_dropped(rule: RuleContext) {
    let system = rule.system();
    let (reducing,) = rule
        .on_dropped_runtime(move || async move {
            let actor = Producing::default();
            let journal = actor.journal.clone();
            let actor = system.spawn(actor).await.unwrap();
            let mut reducing =
                Box::pin(async move { actor.reduce(Sum(Then::Finish), Upload::new(3).0).await });
            assert!(futures_util::poll!(&mut reducing).is_pending());
            journal.wait_for("taken").await;
            (reducing,)
        })
        .await;
    let error = rule.soon("the caller learns it", reducing).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted);
}
