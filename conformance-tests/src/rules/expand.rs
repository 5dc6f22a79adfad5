//! Requests that are answered by a stream of items.

use std::time::Duration;

use dactor_core::testkit::Gate;
use dactor_core::{ErrorKind, ExpandRequest, StopReason};
use tokio_util::sync::CancellationToken;

use crate::fixtures::producing::{Crash, HeldHooks, LAST, Numbers, Ping, Producing, Then, all, spawn};
use crate::rules::body;
use crate::{Capability, Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "EXPAND-01",
        Topic::Streams,
        &[(Topic::Streams, State::Idle), (Topic::Streams, State::Handling)],
        "The items of an `expand` request arrive in order, through a buffer and batches of any size, and then the stream ends.",
        "A stream of items is one answer in parts.",
        body!(in_order),
    )
    .spi(&["wakes-once-per-turn"]),
    Rule::must(
        "EXPAND-02",
        Topic::Streams,
        &[(Topic::Streams, State::Handling), (Topic::Failure, State::Handling), (Topic::Panic, State::Handling)],
        "A stream that is not whole ends with exactly one error after its items: `Unfinished` when the producer was dropped, `Failed` when the handler failed, `Panicked` when it panicked.",
        "A consumer can tell a short stream from a whole one.",
        body!(not_whole),
    ),
    Rule::must(
        "EXPAND-03",
        Topic::Streams,
        &[
            (Topic::Streams, State::Dead),
            (Topic::Streams, State::Stopped),
            (Topic::Streams, State::Killed),
            (Topic::Streams, State::Failed),
        ],
        "When the actor ends, a stream whose handler had begun ends with `Interrupted`, a request in the mailbox with `Stopped`, and a new request is refused with `Stopped`.",
        "The consumer always learns that the producer is gone.",
        body!(ended),
    ),
    Rule::must(
        "EXPAND-04",
        Topic::Streams,
        &[(Topic::Streams, State::Handling), (Topic::Panic, State::Handling)],
        "A producer may outlive its handler, and the actor handles other messages meanwhile. A restart ends the streams of the old instance with `Interrupted`.",
        "A long stream does not occupy the actor, and belongs to one instance.",
        body!(outlives),
    ),
    Rule::must(
        "EXPAND-05",
        Topic::Streams,
        &[(Topic::Streams, State::Drained)],
        "A drain asks producers to finish and waits for them; the consumer gets all items and the end.",
        "A drain loses nothing that was accepted.",
        body!(drained),
    ),
    Rule::must(
        "EXPAND-06",
        Topic::Streams,
        &[(Topic::Streams, State::Handling), (Topic::Failure, State::Handling)],
        "When the consumer is dropped, the next send of the producer fails with `ConsumerGone`. A handler that returns this error has not failed, and there is no dead letter.",
        "A consumer that loses interest is no fault of the producer.",
        body!(dropped),
    ),
    Rule::must(
        "EXPAND-07",
        Topic::Streams,
        &[(Topic::Streams, State::Handling), (Topic::Cancel, State::Handling)],
        "A limit for the first item, between items or for the whole stream ends the stream with `Timeout`, a cancelled token with `Cancelled`. A buffer of 0 is `InvalidCapacity`.",
        "No consumer waits longer than it wants to.",
        body!(limits),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "EXPAND-08",
        Topic::Streams,
        &[(Topic::Streams, State::Handling), (Topic::Later, State::Handling)],
        "A stream request can be forwarded to another actor, which produces the items, and can be sent through a `Recipient`.",
        "A router need not copy the items.",
        body!(forwarded),
    ),
    Rule::must(
        "EXPAND-09",
        Topic::Streams,
        &[(Topic::Streams, State::Starting), (Topic::Streams, State::Stopping)],
        "A request that is sent while the actor starts is answered after the start; a request during `on_stop` is refused with `Stopped`.",
        "Stream requests are messages like others.",
        body!(hooks),
    ),
    Rule::must(
        "EXPAND-10",
        Topic::Streams,
        &[(Topic::Streams, State::NativeStop)],
        "A native stop ends streams with `Interrupted`; a native stop that drains lets their producers finish.",
        "A native stop is an ordinary end of an actor.",
        body!(native_stop),
    )
    .needs(Capability::NativeStop)
    .spi(&["ignores-stop"]),
    Rule::must(
        "EXPAND-11",
        Topic::Streams,
        &[(Topic::Streams, State::NativeKill)],
        "A native kill ends streams with `Interrupted`.",
        "A native kill is an ordinary end of an actor.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "keeps-cell-after-kill"]),
    Rule::must(
        "EXPAND-12",
        Topic::Streams,
        &[(Topic::Streams, State::RuntimeDropped)],
        "When the runtime of the actor is dropped, its streams end with `Interrupted`.",
        "A consumer on another runtime does not hang.",
        body!(runtime_dropped),
    )
    .spi(&["foreign-runtime"]),
    Rule::must(
        "EXPAND-13",
        Topic::Streams,
        &[(Topic::Streams, State::Idle), (Topic::Streams, State::NativeStop), (Topic::Streams, State::Drained)],
        "A native drain asks producers to finish and waits for them, like a drain of dactor; the consumer gets all items and the end.",
        "An idle actor with an open stream has accepted a request that it has not answered completely.",
        body!(native_drain),
    )
    .needs(Capability::NativeDrain)
    .spi(&["drain-stops", "drains-one-turn"]),
    Rule::must(
        "EXPAND-14",
        Topic::Streams,
        &[(Topic::Streams, State::Handling), (Topic::Cancel, State::Handling)],
        "A handler that goes on after it has finished its stream is not cancelled when the consumer has read the stream to its end, and there is no dead letter.",
        "The consumer has its answer, and does not wait for the handler.",
        body!(handler_goes_on),
    ),
];

async fn in_order(rule: RuleContext) {
    let (actor, _) = spawn(&rule).await;
    for (buffer, batch) in [(1, 1), (2, 1), (32, 1), (4, 3), (32, 32), (500, 7)] {
        let items = actor.expand(Numbers(100, Then::Finish)).buffer(buffer).batch(batch).await.unwrap();
        let (items, error) = all(&rule, items).await;
        assert!(error.is_none() && items.into_iter().eq(0..100), "buffer {buffer}, batch {batch}");
    }
}

async fn not_whole(rule: RuleContext) {
    let (actor, _) = spawn(&rule).await;
    let ends = [
        (Then::Leave, ErrorKind::Unfinished),
        (Then::Fail, ErrorKind::Failed),
        (Then::Panic, ErrorKind::Panicked),
    ];
    for (then, kind) in ends {
        let items = actor.expand(Numbers(40, then)).await.unwrap();
        let (items, error) = all(&rule, items).await;
        assert_eq!((items.len(), error), (40, Some(kind)), "{then:?}");
    }
}

async fn ended(rule: RuleContext) {
    for end in 0..3 {
        let (actor, _) = spawn(&rule).await;
        let then = if end == 0 { Then::Hang } else { Then::Beside };
        let mut begun = actor.expand(Numbers(1, then)).await.unwrap();
        assert_eq!(rule.soon("the first item arrives", begun.next()).await.unwrap().unwrap(), 0);
        if end == 0 {
            let waiting = actor.expand(Numbers(1, Then::Finish)).await.unwrap();
            actor.kill();
            assert_eq!(all(&rule, waiting).await, (vec![], Some(ErrorKind::Stopped)));
        } else if end == 1 {
            actor.stop();
        } else {
            let failing = rule.system().spawn(Producing::default()).await.unwrap();
            let mut items = failing.expand(Numbers(1, Then::Beside)).await.unwrap();
            assert_eq!(rule.soon("the first item arrives", items.next()).await.unwrap().unwrap(), 0);
            // Spawned from a value, it cannot be restarted.
            failing.tell(Crash).unwrap();
            assert_eq!(all(&rule, items).await.1, Some(ErrorKind::Interrupted));
            actor.stop();
        }
        assert_eq!(all(&rule, begun).await.1, Some(ErrorKind::Interrupted));
        rule.soon("the actor ends", actor.wait()).await.unwrap();
        let refused = actor.expand(Numbers(1, Then::Finish)).await;
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Stopped);
    }
}

async fn outlives(rule: RuleContext) {
    let (actor, _) = spawn(&rule).await;
    let mut items = actor.expand(Numbers(3, Then::Beside)).await.unwrap();
    for number in 0..3 {
        assert_eq!(rule.soon("an item arrives", items.next()).await.unwrap().unwrap(), number);
    }
    rule.soon("the actor is free", actor.ask(Ping)).await.unwrap();
    actor.tell(Crash).unwrap();
    assert_eq!(all(&rule, items).await, (vec![], Some(ErrorKind::Interrupted)));
    let items = actor.expand(Numbers(3, Then::Finish)).await.unwrap();
    assert_eq!(all(&rule, items).await, (vec![0, 1, 2], None), "the next instance answers");
}

async fn drained(rule: RuleContext) {
    let (actor, _) = spawn(&rule).await;
    let items = actor.expand(Numbers(3, Then::Beside)).await.unwrap();
    rule.soon("the handler has returned", actor.ask(Ping)).await.unwrap();
    actor.drain();
    assert_eq!(all(&rule, items).await, (vec![0, 1, 2, LAST], None));
    assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Drained));
}

async fn dropped(rule: RuleContext) {
    let system = rule.system();
    let actor = system.spawn(Producing::default()).await.unwrap();
    let mut items = actor.expand(Numbers(u64::MAX, Then::Finish)).buffer(4).await.unwrap();
    assert_eq!(rule.soon("an item arrives", items.next()).await.unwrap().unwrap(), 0);
    drop(items);
    rule.soon("the actor goes on", actor.ask(Ping)).await.unwrap();
    assert!(actor.is_alive() == Some(true));
    assert_eq!(system.dead_letter_count(), 0);
}

async fn limits(mut rule: RuleContext) {
    let system = rule.system();
    let second = Duration::from_secs(1);
    for limit in 0..4 {
        let actor = system.spawn(Producing::default()).await.unwrap();
        let count = if limit == 0 { 0 } else { 2 };
        let request = actor.expand(Numbers(count, Then::Hang));
        let token = CancellationToken::new();
        let request = match limit {
            0 => request.first_within(second),
            1 => request.item_within(second),
            2 => request.timeout(second),
            _ => request.cancel(token.clone()),
        };
        let mut items = request.await.unwrap();
        for number in 0..count {
            assert_eq!(rule.soon("an item arrives", items.next()).await.unwrap().unwrap(), number);
        }
        token.cancel();
        rule.clock().advance(2 * second).await;
        let kind = if limit == 3 { ErrorKind::Cancelled } else { ErrorKind::Timeout };
        assert_eq!(all(&rule, items).await, (vec![], Some(kind)), "limit {limit}");
        let refused = actor.expand(Numbers(1, Then::Finish)).buffer(0).await;
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidCapacity);
        actor.kill();
    }
}

async fn forwarded(rule: RuleContext) {
    let system = rule.system();
    let other = system.spawn(Producing::default()).await.unwrap();
    let router = Producing { router_to: Some(other.clone()), ..Producing::default() };
    let router = system.spawn(router).await.unwrap();
    let items = router.expand(Numbers(3, Then::Finish)).await.unwrap();
    assert_eq!(all(&rule, items).await, (vec![0, 1, 2], None));
    let recipient = other.recipient::<ExpandRequest<Numbers>>();
    let items = recipient.expand(Numbers(3, Then::Finish)).await.unwrap();
    assert_eq!(all(&rule, items).await, (vec![0, 1, 2], None));
    other.kill();
    rule.soon("the other actor ends", other.wait()).await.unwrap();
    let items = router.expand(Numbers(3, Then::Finish)).await.unwrap();
    assert_eq!(all(&rule, items).await, (vec![], Some(ErrorKind::Stopped)));
    rule.soon("the router goes on", router.ask(Ping)).await.unwrap();
}

async fn hooks(rule: RuleContext) {
    let mut held = HeldHooks::spawn(&rule).await;
    let actor = held.actor.clone();
    let items = actor.expand(Numbers(3, Then::Finish)).await.unwrap();
    held.start(&rule).await;
    assert_eq!(all(&rule, items).await, (vec![0, 1, 2], None));
    held.begin_stop(&rule).await;
    assert_eq!(actor.expand(Numbers(3, Then::Finish)).await.unwrap_err().kind(), ErrorKind::Stopped);
    held.end(&rule).await;
}

async fn native_stop(rule: RuleContext) {
    let (actor, _) = spawn(&rule).await;
    let mut items = actor.expand(Numbers(1, Then::Beside)).await.unwrap();
    assert_eq!(rule.soon("an item arrives", items.next()).await.unwrap().unwrap(), 0);
    rule.native_stop(&actor).await;
    // A runtime whose only stop drains asks the producer to finish.
    let end = all(&rule, items).await;
    let (interrupted, finished) = ((vec![], Some(ErrorKind::Interrupted)), (vec![LAST], None));
    assert!(end == interrupted || end == finished, "{end:?}");
}

async fn native_drain(rule: RuleContext) {
    for idle in [true, false] {
        let (actor, _) = spawn(&rule).await;
        let items = actor.expand(Numbers(3, Then::Beside)).await.unwrap();
        if idle {
            rule.soon("the handler has returned", actor.ask(Ping)).await.unwrap();
            rule.take_native_handle(&actor);
            rule.let_idle().await;
        }
        rule.native_drain(&actor).await;
        assert_eq!(
            all(&rule, items).await,
            (vec![0, 1, 2, LAST], None),
            "idle: {idle}: on a native drain call `Cell::end` with `NativeEnd::Drain` and run the cell to its end"
        );
        let reason = rule.soon("the actor ends", actor.wait()).await.unwrap();
        assert!(matches!(reason, StopReason::Drained), "idle: {idle}: {reason}");
    }
}

async fn native_kill(rule: RuleContext) {
    let (actor, _) = spawn(&rule).await;
    let mut items = actor.expand(Numbers(1, Then::Hang)).await.unwrap();
    assert_eq!(rule.soon("an item arrives", items.next()).await.unwrap().unwrap(), 0);
    rule.native_kill(&actor).await;
    assert_eq!(all(&rule, items).await, (vec![], Some(ErrorKind::Interrupted)));
}

async fn handler_goes_on(rule: RuleContext) {
    let (system, gate) = (rule.system(), Gate::new());
    let actor = Producing { finished: Some(gate.clone()), ..Producing::default() };
    let journal = actor.journal.clone();
    let actor = system.spawn(actor).await.unwrap();
    let items = actor.expand(Numbers(3, Then::Finish)).await.unwrap();
    assert_eq!(all(&rule, items).await, (vec![0, 1, 2], None));
    rule.soon("the handler runs", gate.reached()).await;
    gate.open();
    rule.soon("the handler returns", actor.ask(Ping)).await.unwrap();
    assert_eq!(journal.entries(), [""; 0]);
    assert_eq!(system.dead_letter_count(), 0);
}

async fn runtime_dropped(rule: RuleContext) {
    let system = rule.system();
    let items = rule
        .on_dropped_runtime(move || async move {
            let actor = system.spawn(Producing::default()).await.unwrap();
            let mut items = actor.expand(Numbers(1, Then::Hang)).await.unwrap();
            assert_eq!(items.next().await.unwrap().unwrap(), 0);
            items
        })
        .await;
    assert_eq!(all(&rule, items).await, (vec![], Some(ErrorKind::Interrupted)));
}
