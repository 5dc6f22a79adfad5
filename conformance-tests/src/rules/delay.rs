//! Interceptors that make messages wait, on a driven clock.

use std::time::Duration;

use dactor_core::testkit::Journal;
use dactor_core::{ActorRef, Delivery, ErrorKind, Priority, Verdict};
use tokio_util::sync::CancellationToken;

use super::body;
use super::fixture::Spy;
use crate::actors::{Note, Worker};
use crate::{Lab, Pace, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "IN-15",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling), (Topic::Order, State::Handling)],
        "An inbound `Delay` holds the message and all that its actor has still to handle, for exactly the sum of what the interceptors want; other actors go on.",
        "A slowed actor keeps the order of its messages, and slows nobody else.",
        body!(holds),
    )
    .pace(Pace::Driven),
    Rule::must(
        "IN-16",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling)],
        "An inbound delay of an hour is waited for; a longer one, also by the sum, is `Rejected` at once, saying so.",
        "An actor that waits for days by mistake would look dead.",
        body!(limit),
    )
    .pace(Pace::Driven),
    Rule::must(
        "IN-17",
        Topic::Inbound,
        &[(Topic::Inbound, State::Stopped), (Topic::Inbound, State::Drained), (Topic::Inbound, State::Killed)],
        "A stop ends an inbound delay at once: the message is refused with `Stopped`, to its asker or as a dead letter, and its interceptors see that; a kill does so for an asker. A drain waits for the delay.",
        "Nobody waits for an actor that waits.",
        body!(ends),
    )
    .pace(Pace::Driven),
    Rule::must(
        "IN-18",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling), (Topic::Cancel, State::Handling)],
        "An ask that is dropped, cancelled or late during an inbound delay ends the delay at once: its interceptors see that it did not get through, it is no dead letter, and the actor goes on with the next message.",
        "A message that is not wanted any more holds nothing up.",
        body!(withdrawn),
    )
    .pace(Pace::Driven),
    Rule::must(
        "OUT-13",
        Topic::Outbound,
        &[(Topic::Outbound, State::Idle)],
        "An outbound `Delay` is awaited by `send` and `ask`, for exactly the sum of what the interceptors want; for tell, try_tell and enqueue it is `Unsupported`, and nothing is sent.",
        "Who can wait waits, who cannot is told, and nobody's thread is blocked.",
        body!(outbound),
    )
    .pace(Pace::Driven),
    Rule::must(
        "OUT-14",
        Topic::Outbound,
        &[(Topic::Outbound, State::Idle)],
        "An outbound delay of more than an hour, also by the sum, is `Rejected` at once for every way of sending.",
        "A sender that waits for days by mistake would look dead.",
        body!(outbound_limit),
    )
    .pace(Pace::Driven),
    Rule::must(
        "OUT-15",
        Topic::Outbound,
        &[(Topic::Outbound, State::Idle), (Topic::Cancel, State::Idle)],
        "A delayed ask that times out, is cancelled or dropped, and a delayed send that is dropped, is not sent; `on_reply` sees how it ended.",
        "Whoever gives up before the message left has sent nothing.",
        body!(outbound_given_up),
    )
    .pace(Pace::Driven),
    Rule::must(
        "OUT-16",
        Topic::Outbound,
        &[(Topic::Outbound, State::Dead)],
        "A message whose actor ends while it is delayed is refused with `Stopped` after the delay, and `on_reply` sees it.",
        "A message is sent when it leaves, not when it was meant to.",
        body!(outbound_dead),
    )
    .pace(Pace::Driven),
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

async fn holds(mut lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let actor = system
        .spawn(Worker::new(&journal))
        .inbound(Spy::new("a", &journal).judge(first(TWO)).scoped())
        .inbound(Spy::new("b", &journal).judge(first(THREE)))
        .await
        .unwrap();
    let other = system.spawn(Worker::new(&Journal::new())).inbound(Spy::new("c", &journal)).await.unwrap();
    let asked = actor.ask(Note(1)).enqueue().unwrap();
    actor.tell(Note(2)).unwrap();
    journal.wait_for("b>").await;
    actor.at(Priority::High).tell(Note(3)).unwrap();
    assert_eq!(other.ask(Note(7)).await.unwrap(), 7);
    lab.clock().advance(ALMOST).await;
    assert_eq!(journal.entries(), ["start", "a>", "b>", "c>", "c< ok"]);
    lab.clock().advance(TICK).await;
    assert_eq!(asked.await.unwrap(), 1);
    assert_eq!(actor.ask(Note(4)).await.unwrap(), 4);
    let handled = |number: &str| {
        ["a(".to_owned(), number.to_owned(), "a)".to_owned(), "a< ok".to_owned(), "b< ok".to_owned()]
    };
    let next = |number| ["a>".to_owned(), "b>".to_owned()].into_iter().chain(handled(number));
    let expected: Vec<_> =
        handled("1").into_iter().chain(next("3")).chain(next("2")).chain(next("4")).collect();
    assert_eq!(journal.entries()[5..], expected);
    assert_eq!(lab.clock().elapsed(), FIVE);
}

async fn limit(mut lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let spawn = |delays: [Duration; 2]| {
        let [first, second] = delays.map(|delay| Spy::new("a", &journal).always(Verdict::Delay(delay)));
        system.spawn(Worker::new(&journal)).inbound(first).inbound(second)
    };
    let (most, zero) = (HOUR - FIVE, Duration::ZERO);
    let asked = spawn([most, FIVE]).await.unwrap().ask(Note(1)).enqueue().unwrap();
    lab.clock().advance(HOUR - TICK).await;
    assert_eq!(journal.entries(), ["start", "a>", "a>"]);
    lab.clock().advance(TICK).await;
    assert_eq!(asked.await.unwrap(), 1);
    for delays in [[HOUR + TICK, zero], [zero, HOUR + TICK], [most, FIVE + TICK], [HOUR, Duration::MAX]] {
        let error = spawn(delays).await.unwrap().ask(Note(2)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Rejected);
        assert!(error.get("reason").is_some_and(|reason| reason.contains("too long")), "{error}");
    }
    assert_eq!(lab.clock().elapsed(), HOUR);
}

/// An actor whose interceptor delays a message that was asked or told.
async fn delayed(lab: &Lab, journal: &Journal) -> (ActorRef<Worker>, dactor_core::System) {
    let system = lab.system();
    let spy = Spy::new("a", journal).always(Verdict::Delay(FIVE));
    (system.spawn(Worker::new(journal)).inbound(spy).await.unwrap(), system)
}

async fn ends(mut lab: Lab) {
    let journal = Journal::new();
    let (actor, system) = delayed(&lab, &journal).await;
    let asked = actor.ask(Note(1)).enqueue().unwrap();
    actor.tell(Note(2)).unwrap();
    journal.wait_for("a>").await;
    actor.stop();
    assert_eq!(asked.await.unwrap_err().kind(), ErrorKind::Stopped);
    actor.wait().await.unwrap();
    assert_eq!(journal.entries(), ["start", "a>", "a< Stopped", "stop: stopped", "drop"]);
    assert_eq!(system.dead_letters(), 1, "the one that waited");

    let journal = Journal::new();
    let (actor, system) = delayed(&lab, &journal).await;
    let mut feed = system.dead_letter_feed();
    actor.tell(Note(1)).unwrap();
    journal.wait_for("a>").await;
    actor.stop();
    actor.wait().await.unwrap();
    assert_eq!(journal.entries(), ["start", "a>", "a< Stopped", "stop: stopped", "drop"]);
    assert_eq!(feed.next().await.unwrap().error.kind(), ErrorKind::Stopped);
    assert_eq!(system.dead_letters(), 1);

    let journal = Journal::new();
    let (actor, _) = delayed(&lab, &journal).await;
    let asked = actor.ask(Note(1)).enqueue().unwrap();
    journal.wait_for("a>").await;
    actor.kill();
    assert_eq!(asked.await.unwrap_err().kind(), ErrorKind::Stopped);
    actor.wait().await.unwrap();
    assert_eq!(journal.entries(), ["start", "a>", "a< Stopped", "drop"]);
    assert_eq!(lab.clock().elapsed(), Duration::ZERO);

    let journal = Journal::new();
    let (actor, _) = delayed(&lab, &journal).await;
    actor.tell(Note(1)).unwrap();
    journal.wait_for("a>").await;
    actor.drain();
    lab.clock().advance(ALMOST).await;
    assert!(actor.is_alive(), "a drain waits for the delay");
    lab.clock().advance(TICK).await;
    actor.wait().await.unwrap();
    assert_eq!(journal.entries(), ["start", "a>", "1", "a< ok", "stop: drained", "drop"]);
}

async fn withdrawn(mut lab: Lab) {
    for way in ["dropped", "cancelled", "timed out", "late"] {
        let (journal, handled, system) = (Journal::new(), Journal::new(), lab.system());
        let noted = journal.clone();
        let spy = Spy::new("a", &journal)
            .judge(first(HOUR))
            .witness(move |completion| noted.note(completion.got_through()));
        let actor = system.spawn(Worker::new(&handled)).inbound(spy).await.unwrap();
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
        let started = lab.clock().elapsed();
        // The one that is late is kept, and not looked at.
        let (mut kept, mut awaited) = (None, None);
        match way {
            "dropped" => drop(pending),
            "timed out" => awaited = Some(tokio::spawn(pending)),
            _ => kept = Some(pending),
        }
        token.cancel();
        lab.clock().advance(if way == "timed out" || way == "late" { TWO } else { Duration::ZERO }).await;
        assert_eq!(next.await.unwrap(), 2, "{way}");
        assert!(lab.clock().elapsed() - started <= TWO, "{way}: the rest of the delay was waited for");
        let kind = match way {
            "dropped" | "cancelled" => "a< Cancelled",
            _ => "a< Timeout",
        };
        let seen = journal.entries();
        assert_eq!(seen[0], "a>");
        assert!(seen[1] == kind || way == "timed out" && seen[1] == "a< Cancelled", "{way}: {seen:?}");
        assert_eq!(seen[2..], ["false", "a>", "a< ok", "true"], "{way}");
        assert_eq!(
            (handled.entries(), system.dead_letters()),
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
}

/// Notes what is sent, and sends after these delays.
async fn sender(lab: &Lab, delays: [Duration; 2], sent: &Journal, handled: &Journal) -> ActorRef<Worker> {
    let [first, second] = delays;
    let actor = lab.system().spawn(Worker::new(handled)).name("w").await.unwrap();
    actor
        .outbound(Spy::new("a", sent).always(Verdict::Delay(first)))
        .outbound(Spy::new("b", sent).always(Verdict::Delay(second)))
}

async fn outbound(mut lab: Lab) {
    let (sent, handled) = (Journal::new(), Journal::new());
    let actor = sender(&lab, [TWO, THREE], &sent, &handled).await;
    let recipient = actor.recipient::<Note>();
    let back = [actor.try_tell(Note(1)).unwrap_err(), recipient.try_tell(Note(1)).unwrap_err()];
    assert_eq!(actor.system().dead_letters(), 0, "they were handed back");
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
        assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Unsupported, Some("pekko://lab/user/w")));
        assert_eq!(error.get("message"), Some(std::any::type_name::<Note>()));
        assert!(error.get("because").is_some_and(|because| because.contains("5s")), "{error}");
        assert_eq!(error.get("interceptor"), Some(std::any::type_name::<Spy>()), "{error}");
    }
    assert_eq!(actor.system().dead_letters(), 4);
    let (by_ref, by_recipient) = (actor.clone(), recipient.clone());
    let sends = [
        tokio::spawn(async move { by_ref.send(Note(2)).await }),
        tokio::spawn(async move { by_recipient.send(Note(3)).await }),
    ];
    let asks = [
        tokio::spawn(async move { actor.ask(Note(4)).await }),
        tokio::spawn(async move { recipient.ask(Note(5)).await }),
    ];
    lab.clock().advance(ALMOST).await;
    assert!(!sends.iter().any(|send| send.is_finished()));
    assert_eq!(handled.entries(), ["start"]);
    lab.clock().advance(TICK).await;
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

async fn outbound_limit(mut lab: Lab) {
    let (sent, handled) = (Journal::new(), Journal::new());
    for delays in [[HOUR + TICK, TWO], [HOUR, TICK], [TICK, Duration::MAX]] {
        let actor = sender(&lab, delays, &sent, &handled).await;
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
    let actor = sender(&lab, [HOUR - TWO, TWO], &sent, &handled).await;
    let asked = tokio::spawn(async move { actor.ask(Note(2)).await });
    lab.clock().advance(HOUR).await;
    assert_eq!(asked.await.unwrap().unwrap(), 2);
}

async fn outbound_given_up(mut lab: Lab) {
    let (sent, handled) = (Journal::new(), Journal::new());
    let actor = sender(&lab, [FIVE, FIVE], &sent, &handled).await;
    let asker = actor.clone();
    let asked = tokio::spawn(async move { asker.ask(Note(1)).timeout(TWO).await });
    lab.clock().advance(TWO).await;
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
    lab.clock().advance(4 * FIVE).await;
    let seen = |how: &str| ["a>".to_owned(), "b>".to_owned(), format!("a< {how}"), format!("b< {how}")];
    let expected = [seen("Timeout"), seen("Cancelled"), seen("Cancelled"), seen("Cancelled")].concat();
    assert_eq!(sent.entries(), expected);
    assert_eq!(handled.entries(), ["start"]);
    assert_eq!(actor.system().dead_letters(), 0);
}

async fn outbound_dead(mut lab: Lab) {
    let (sent, handled) = (Journal::new(), Journal::new());
    let actor = sender(&lab, [FIVE, TICK], &sent, &handled).await;
    let (asker, sender) = (actor.clone(), actor.clone());
    let asked = tokio::spawn(async move { asker.ask(Note(1)).await });
    sent.wait_len(2).await;
    let told = tokio::spawn(async move { sender.send(Note(2)).await });
    sent.wait_len(4).await;
    actor.stop();
    actor.wait().await.unwrap();
    assert!(!asked.is_finished() && !told.is_finished());
    lab.clock().advance(FIVE + TICK).await;
    assert_eq!(asked.await.unwrap().unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(told.await.unwrap().unwrap_err().kind(), ErrorKind::Stopped);
    let stopped = ["a< Stopped", "b< Stopped", "a< Stopped", "b< Stopped"];
    assert_eq!(sent.entries(), [&["a>", "b>", "a>", "b>"][..], &stopped].concat());
}
