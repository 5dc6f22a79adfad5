//! Outbound delays, on a driven clock.

use std::time::Duration;

use dactor_core::testkit::Journal;
use dactor_core::{ActorRef, Deadline, ErrorKind, Verdict};
use tokio_util::sync::CancellationToken;

use crate::fixtures::interceptor::RecordingInterceptor;
use crate::fixtures::producing::{Double, Numbers, Ping, Producing, Sum, Then};
use crate::fixtures::worker::{Note, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "OUT-13",
        Topic::Outbound,
        &[(Topic::Outbound, State::Idle)],
        "`send` and `ask` await an outbound `Delay` for exactly the sum of the interceptors' delays; `tell`, `try_tell` and `enqueue` fail with `Unsupported`, and nothing is sent.",
        "A call that can wait does, a call that cannot gets an error, and no thread is blocked.",
        body!(outbound),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "OUT-14",
        Topic::Outbound,
        &[(Topic::Outbound, State::Idle)],
        "An outbound delay of more than one hour, also as a sum, fails with `Rejected` at once for every way of sending.",
        "A sender that waits for days by mistake would look dead.",
        body!(outbound_limit),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "OUT-15",
        Topic::Outbound,
        &[(Topic::Outbound, State::Idle), (Topic::Cancel, State::Idle)],
        "A delayed ask that times out, is cancelled or dropped, and a delayed send that is dropped, is not sent; `on_reply` sees how it ended.",
        "A caller that gives up before the message leaves has sent nothing.",
        body!(outbound_given_up),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "OUT-16",
        Topic::Outbound,
        &[(Topic::Outbound, State::Dead)],
        "A message whose actor ends during the outbound delay is refused with `Stopped` after the delay, and `on_reply` sees it.",
        "A delayed message is sent after its delay.",
        body!(outbound_dead),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "OUT-18",
        Topic::Outbound,
        &[(Topic::Outbound, State::Idle), (Topic::Streams, State::Idle), (Topic::Cancel, State::Idle)],
        "The limits of a stream request hold during an outbound delay: a request that passes its timeout or its time for the first item, or is cancelled, is not sent, and `on_reply` sees it. A deadline that an interceptor sets limits the whole stream.",
        "A caller that gives up before the request leaves has sent nothing.",
        body!(outbound_streams),
    )
    .runtime(RuntimeMode::DrivenClock),
];

const TWO: Duration = Duration::from_secs(2);
const THREE: Duration = Duration::from_secs(3);
const FIVE: Duration = Duration::from_secs(5);
const ALMOST: Duration = Duration::from_millis(4999);
const TICK: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

/// A reference whose outbound interceptors record and delay messages.
async fn sender(
    rule: &RuleContext,
    delays: [Duration; 2],
    sent: &Journal,
    handled: &Journal,
) -> ActorRef<Worker> {
    let [first, second] = delays;
    let actor = rule.system().spawn(Worker::new(handled)).name("w").await.unwrap();
    actor
        .outbound(RecordingInterceptor::new("a", sent).always(Verdict::Delay(first)))
        .outbound(RecordingInterceptor::new("b", sent).always(Verdict::Delay(second)))
}

async fn outbound(mut rule: RuleContext) {
    let (sent, handled) = (Journal::new(), Journal::new());
    let actor = sender(&rule, [TWO, THREE], &sent, &handled).await;
    let recipient = actor.recipient::<Note>();
    let back = [actor.try_tell(Note(1)).unwrap_err(), recipient.try_tell(Note(1)).unwrap_err()];
    assert_eq!(actor.system().dead_letter_count(), 0, "the messages were returned");
    assert!(back.iter().all(|back| back.message.0 == 1));
    let [first, second] = back.map(|back| back.reason);
    let refused = [
        first,
        second,
        actor.tell(Note(1)).unwrap_err(),
        recipient.tell(Note(1)).unwrap_err(),
        actor.ask(Note(1)).enqueue().unwrap_err(),
        recipient.ask(Note(1)).enqueue().unwrap_err(),
    ];
    for error in refused {
        assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Unsupported, Some("pekko://test/user/w")));
        assert_eq!(error.get("message"), Some(std::any::type_name::<Note>()));
        assert!(error.get("because").is_some_and(|because| because.contains("5s")), "{error}");
        assert_eq!(error.get("interceptor"), Some(std::any::type_name::<RecordingInterceptor>()), "{error}");
    }
    assert_eq!(actor.system().dead_letter_count(), 4);
    let (by_ref, by_recipient) = (actor.clone(), recipient.clone());
    let sends = [
        tokio::spawn(async move { by_ref.send(Note(2)).await }),
        tokio::spawn(async move { by_recipient.send(Note(3)).await }),
    ];
    let asks = [
        tokio::spawn(async move { actor.ask(Note(4)).await }),
        tokio::spawn(async move { recipient.ask(Note(5)).await }),
    ];
    rule.clock().advance(ALMOST).await;
    assert!(!sends.iter().any(|send| send.is_finished()));
    assert_eq!(handled.entries(), ["start"]);
    rule.clock().advance(TICK).await;
    for sent in sends {
        sent.await.unwrap().unwrap();
    }
    for (asked, number) in asks.into_iter().zip(4..) {
        assert_eq!(asked.await.unwrap().unwrap(), number);
    }
    let mut entries = handled.entries();
    entries.sort_unstable();
    assert_eq!(entries, ["2", "3", "4", "5", "start"]);
}

async fn outbound_limit(mut rule: RuleContext) {
    let (sent, handled) = (Journal::new(), Journal::new());
    for delays in [[HOUR + TICK, TWO], [HOUR, TICK], [TICK, Duration::MAX]] {
        let actor = sender(&rule, delays, &sent, &handled).await;
        for error in [
            actor.tell(Note(1)).unwrap_err(),
            actor.try_tell(Note(1)).unwrap_err().reason,
            actor.send(Note(1)).await.unwrap_err(),
            actor.ask(Note(1)).await.unwrap_err(),
            actor.ask(Note(1)).enqueue().unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Rejected);
            assert!(error.get("reason").is_some_and(|reason| reason.contains("too long")), "{error}");
        }
    }
    let actor = sender(&rule, [HOUR - TWO, TWO], &sent, &handled).await;
    let asked = tokio::spawn(async move { actor.ask(Note(2)).await });
    rule.clock().advance(HOUR).await;
    assert_eq!(asked.await.unwrap().unwrap(), 2);
}

async fn outbound_given_up(mut rule: RuleContext) {
    let (sent, handled) = (Journal::new(), Journal::new());
    let actor = sender(&rule, [FIVE, FIVE], &sent, &handled).await;
    let asker = actor.clone();
    let asked = tokio::spawn(async move { asker.ask(Note(1)).timeout(TWO).await });
    rule.clock().advance(TWO).await;
    let error = asked.await.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.get("after")), (ErrorKind::Timeout, Some("2s")));

    let (asker, token) = (actor.clone(), CancellationToken::new());
    let cancel = token.clone();
    let asked = tokio::spawn(async move { asker.ask(Note(2)).cancel(cancel).await });
    sent.wait_len(5).await;
    token.cancel();
    assert_eq!(asked.await.unwrap().unwrap_err().kind(), ErrorKind::Cancelled);

    let (asker, sender) = (actor.clone(), actor.clone());
    let asked = tokio::spawn(async move { asker.ask(Note(3)).await });
    sent.wait_len(10).await;
    asked.abort();
    assert!(asked.await.unwrap_err().is_cancelled());
    let told = tokio::spawn(async move { sender.send(Note(4)).await });
    sent.wait_len(14).await;
    told.abort();
    assert!(told.await.unwrap_err().is_cancelled());
    rule.clock().advance(4 * FIVE).await;
    let seen = |how: &str| ["a>".to_owned(), "b>".to_owned(), format!("a< {how}"), format!("b< {how}")];
    let expected = [seen("Timeout"), seen("Cancelled"), seen("Cancelled"), seen("Cancelled")].concat();
    assert_eq!(sent.entries(), expected);
    assert_eq!(handled.entries(), ["start"]);
    assert_eq!(actor.system().dead_letter_count(), 0);
}

async fn outbound_dead(mut rule: RuleContext) {
    let (sent, handled) = (Journal::new(), Journal::new());
    let actor = sender(&rule, [FIVE, TICK], &sent, &handled).await;
    let (asker, sender) = (actor.clone(), actor.clone());
    let asked = tokio::spawn(async move { asker.ask(Note(1)).await });
    sent.wait_len(2).await;
    let told = tokio::spawn(async move { sender.send(Note(2)).await });
    sent.wait_len(4).await;
    actor.stop();
    actor.wait().await.unwrap();
    assert!(!asked.is_finished() && !told.is_finished());
    rule.clock().advance(FIVE + TICK).await;
    assert_eq!(asked.await.unwrap().unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(told.await.unwrap().unwrap_err().kind(), ErrorKind::Stopped);
    let stopped = ["a< Stopped", "b< Stopped", "a< Stopped", "b< Stopped"];
    assert_eq!(sent.entries(), [&["a>", "b>", "a>", "b>"][..], &stopped].concat());
}

async fn outbound_streams(mut rule: RuleContext) {
    let sent = Journal::new();
    let producing = Producing::default();
    let handled = producing.journal.clone();
    let plain = rule.system().spawn(producing).await.unwrap();
    let actor = plain.outbound(RecordingInterceptor::new("a", &sent).always(Verdict::Delay(FIVE)));
    for (limit, kind, seen) in [
        (0, ErrorKind::Timeout, "a< Timeout"),
        (1, ErrorKind::Timeout, "a< Timeout"),
        (2, ErrorKind::Cancelled, "a< Cancelled"),
        (3, ErrorKind::Cancelled, "a< Cancelled"),
        // Known to the caller alone.
        (4, ErrorKind::Timeout, "a< Cancelled"),
    ] {
        let (caller, token, before) = (actor.clone(), CancellationToken::new(), sent.len());
        let cancel = token.clone();
        let sending = tokio::spawn(async move {
            let numbers = futures_util::stream::iter(0..3);
            match limit {
                0 => caller.reduce(Sum(Then::Finish), numbers).timeout(TWO).await.map(drop),
                1 => caller.transform(Double(Then::Finish), numbers).timeout(TWO).await.map(drop),
                2 => caller.reduce(Sum(Then::Finish), numbers).cancel(cancel).await.map(drop),
                3 => caller.expand(Numbers(3, Then::Finish)).cancel(cancel).await.map(drop),
                _ => caller.expand(Numbers(3, Then::Finish)).first_within(TWO).await.map(drop),
            }
        });
        sent.wait_len(before + 1).await;
        if kind == ErrorKind::Cancelled {
            token.cancel();
        } else {
            rule.clock().advance(TWO).await;
        }
        assert_eq!(rule.soon("it is given up", sending).await.unwrap().unwrap_err().kind(), kind, "{limit}");
        assert_eq!(sent.entries()[before..], ["a>", seen], "{limit}");
    }
    let caller = actor.clone();
    let sum =
        tokio::spawn(async move { caller.reduce(Sum(Then::Finish), futures_util::stream::iter(0..3)).await });
    sent.wait_len(11).await;
    assert!(handled.is_empty(), "nothing was sent before");
    rule.clock().advance(FIVE).await;
    assert_eq!(rule.soon("the delay is over", sum).await.unwrap().unwrap(), 3);

    let actor = plain.outbound(RecordingInterceptor::new("a", &sent).decide(|delivery| {
        delivery.headers_mut().insert(Deadline::after(TWO));
        Verdict::Continue
    }));
    let mut items = actor.expand(Numbers(1, Then::Beside)).await.unwrap();
    assert_eq!(rule.soon("an item arrives", items.next()).await.unwrap().unwrap(), 0);
    rule.soon("the handler has returned", plain.ask(Ping)).await.unwrap();
    rule.clock().advance(TWO).await;
    let error = rule.soon("the stream ends", items.next()).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
}
