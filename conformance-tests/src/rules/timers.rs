//! Timers, on a driven clock.

use std::pin::pin;
use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Context, Error, ErrorKind, Overflow, TimerKey};
use futures_util::poll;

use super::body;
use super::fixture::{Desk, Do, Spy, job, note, now, pass, quick};
use crate::{Lab, Pace, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "TIMER-01",
        Topic::Timers,
        &[(Topic::Timers, State::Starting), (Topic::Timers, State::Idle)],
        "The message of a timer comes once, exactly after its time, wherever the idle actor is parked; also when the timer was set in `on_start`.",
        "A timer is a promise about time, and an idle actor must not sleep through it.",
        body!(once),
    )
    .pace(Pace::Driven),
    Rule::must(
        "TIMER-02",
        Topic::Timers,
        &[(Topic::Timers, State::Idle)],
        "To set a key again replaces its timer, and to cancel a key cancels it and says whether there was one; keys are texts, numbers, or given for a timer without one.",
        "An actor that changes its mind must not hear of what it wanted before.",
        body!(keys),
    )
    .pace(Pace::Driven),
    Rule::must(
        "TIMER-03",
        Topic::Timers,
        &[(Topic::Timers, State::Handling)],
        "Cancelling and replacing are final even for a tick that is in the mailbox already: it is skipped, and is no dead letter.",
        "Otherwise every handler of a timer would have to ask whether it is still meant.",
        body!(queued),
    )
    .pace(Pace::Driven),
    Rule::must(
        "TIMER-04",
        Topic::Timers,
        &[(Topic::Timers, State::Idle)],
        "An interval ticks after every period, the first time after one, until it is cancelled: by its own handler, too.",
        "A rhythm is kept without drift and ends when told.",
        body!(interval),
    )
    .pace(Pace::Driven),
    Rule::must(
        "TIMER-05",
        Topic::Timers,
        &[(Topic::Timers, State::Handling), (Topic::Bound, State::Handling)],
        "A tick needs no room in a bounded mailbox, and takes none: a full mailbox is not in its way, and it is in nobody's.",
        "An overloaded actor needs its timeouts most of all.",
        body!(exempt),
    )
    .pace(Pace::Driven),
    Rule::must(
        "TIMER-06",
        Topic::Timers,
        &[(Topic::Timers, State::Handling)],
        "A time of zero is `InvalidTimer`, naming actor, message, timer and why, for all kinds of timers; a timer that was set before stays.",
        "A timer of zero is a mistake in a computation, and would keep an actor busy with itself.",
        body!(zero),
    )
    .pace(Pace::Driven),
    Rule::must(
        "TIMER-07",
        Topic::Timers,
        &[(Topic::Timers, State::Handling), (Topic::Order, State::Handling)],
        "What is due while the actor is busy comes behind the messages that wait by then, in the order of the times; a message of a timer passes the interceptors, and its failure is a failure like others.",
        "A timer sends a message, and nothing else.",
        body!(a_message),
    )
    .pace(Pace::Driven),
    Rule::must(
        "TIMER-08",
        Topic::Timers,
        &[(Topic::Timers, State::Idle)],
        "Ten thousand timers of one actor start no task, and all come in the order of their times.",
        "Who has a timer for every session must not pay for a task each.",
        body!(many),
    )
    .pace(Pace::Driven),
    Rule::must(
        "TIMER-09",
        Topic::Timers,
        &[(Topic::Timers, State::Idle), (Topic::Timers, State::Handling)],
        "On a running clock and any runtime, a timer that rings while its actor parks, is parked or is busy is not lost; nor is one that is set by a handler which has spent its task's budget.",
        "The call of a timer comes from another thread, and at any moment.",
        body!(running_clock),
    ),
];

const SECOND: Duration = Duration::from_secs(1);
const ALMOST: Duration = Duration::from_millis(999);
const TICK: Duration = Duration::from_millis(1);
const NOTHING: [&str; 0] = [];

/// A desk, as its backend likes to park it or in its host.
async fn desk(lab: &Lab, exposed: bool) -> ActorRef<Desk> {
    let desk = lab.system().spawn(Desk::default()).await.unwrap();
    if exposed {
        lab.expose(&desk);
    }
    desk
}

async fn once(mut lab: Lab) {
    for exposed in [false, true] {
        let journal = Journal::new();
        let desk = desk(&lab, exposed).await;
        let ring = note(&journal, "ring");
        now(&lab, &desk, |ctx| ctx.after(SECOND, ring).unwrap()).await;
        lab.clock().advance(ALMOST).await;
        assert_eq!(journal.entries(), NOTHING);
        lab.clock().advance(TICK).await;
        assert_eq!(journal.entries(), ["ring"]);
        lab.clock().advance(10 * SECOND).await;
        assert_eq!(journal.entries(), ["ring"]);
    }
    let (journal, gate) = (Journal::new(), Gate::new());
    let (ring, hold) = (note(&journal, "ring"), gate.clone());
    let starting = Desk::default().on_start(job(move |_, ctx| {
        Box::pin(async move {
            ctx.after(SECOND, ring)?;
            hold.pass().await;
            Ok(0)
        })
    }));
    let system = lab.system();
    let spawned = tokio::spawn(async move { system.spawn(starting).await });
    gate.reached().await;
    lab.clock().advance(SECOND).await;
    assert_eq!(journal.entries(), NOTHING, "nothing is handled before the start is over");
    gate.open();
    spawned.await.unwrap().unwrap();
    journal.wait_for("ring").await;
}

async fn keys(mut lab: Lab) {
    let journal = Journal::new();
    let desk = desk(&lab, false).await;
    let set = |key: TimerKey, text| {
        let ring = note(&journal, text);
        move |ctx: &mut Context<Desk>| ctx.timer(key).after(SECOND, ring).unwrap()
    };
    now(&lab, &desk, set("a".into(), "text")).await;
    now(&lab, &desk, set(7.into(), "number")).await;
    lab.clock().advance(ALMOST).await;
    now(&lab, &desk, set("a".to_owned().into(), "text again")).await;
    lab.clock().advance(TICK).await;
    assert_eq!(journal.entries(), ["number"]);
    lab.clock().advance(ALMOST).await;
    assert_eq!(journal.entries(), ["number", "text again"]);
    let ring = note(&journal, "without a key");
    let key = now(&lab, &desk, |ctx| ctx.after(SECOND, ring).unwrap()).await;
    now(&lab, &desk, set("a".into(), "text")).await;
    let cancelled = now(&lab, &desk, move |ctx| {
        let first = [ctx.cancel_timer(key.clone()), ctx.cancel_timer("a"), ctx.cancel_timer(7)];
        (first, [ctx.cancel_timer(key), ctx.cancel_timer("a"), ctx.cancel_timer("b")])
    });
    assert_eq!(cancelled.await, ([true, true, false], [false; 3]));
    lab.clock().advance(2 * SECOND).await;
    assert_eq!(journal.entries(), ["number", "text again"]);
}

async fn queued(mut lab: Lab) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let desk = desk(&lab, true).await;
    let rings = ["cancelled", "replaced", "kept"].map(|text| (text, note(&journal, text)));
    now(&lab, &desk, move |ctx| rings.map(|(key, ring)| ctx.timer(key).after(SECOND, ring).unwrap())).await;
    desk.tell(pass(&gate)).unwrap();
    gate.reached().await;
    lab.clock().advance(SECOND).await;
    let again = note(&journal, "again");
    desk.tell(quick(move |_, ctx| {
        assert!(ctx.cancel_timer("cancelled"));
        ctx.timer("replaced").after(SECOND, again)?;
        Ok(0)
    }))
    .unwrap();
    gate.open();
    journal.wait_for("kept").await;
    lab.clock().advance(ALMOST).await;
    assert_eq!(journal.entries(), ["kept"]);
    lab.clock().advance(TICK).await;
    assert_eq!(journal.entries(), ["kept", "again"]);
    assert_eq!(desk.system().dead_letters(), 0);
}

async fn interval(mut lab: Lab) {
    for exposed in [false, true] {
        let journal = Journal::new();
        let desk = desk(&lab, exposed).await;
        let (ticking, mut count) = (journal.clone(), 0);
        now(&lab, &desk, move |ctx| {
            ctx.timer("tick").every(SECOND, move || {
                count += 1;
                let (journal, count) = (ticking.clone(), count);
                quick(move |_, ctx| {
                    journal.note(count);
                    assert!(count < 3 || ctx.cancel_timer("tick"));
                    Ok(0)
                })
            })
        })
        .await
        .unwrap();
        let mut ticks = Vec::new();
        for second in 1..=5 {
            lab.clock().advance(ALMOST).await;
            assert_eq!(journal.entries(), ticks);
            lab.clock().advance(TICK).await;
            ticks.extend((second <= 3).then(|| second.to_string()));
            assert_eq!(journal.entries(), ticks);
        }
    }
}

async fn exempt(mut lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let desk = system.spawn(Desk::default()).bounded(1, Overflow::Reject).await.unwrap();
    lab.expose(&desk);
    let rings = [1, 2].map(|number| note(&journal, format!("ring {number}")));
    now(&lab, &desk, move |ctx| rings.map(|ring| drop(ctx.after(SECOND, ring).unwrap()))).await;
    let second = Gate::new();
    desk.tell(pass(&gate)).unwrap();
    gate.reached().await;
    desk.tell(pass(&second)).unwrap();
    assert_eq!(desk.tell(note(&journal, "no")).unwrap_err().kind(), ErrorKind::MailboxFull);
    lab.clock().advance(SECOND).await;
    gate.open();
    second.reached().await;
    // Both ticks are in the mailbox by now.
    desk.tell(note(&journal, "yes")).unwrap();
    assert_eq!(desk.tell(note(&journal, "no")).unwrap_err().kind(), ErrorKind::MailboxFull);
    second.open();
    journal.wait_for("yes").await;
    assert_eq!(journal.entries(), ["ring 1", "ring 2", "yes"]);
}

fn assert_invalid(result: Result<TimerKey, Error>, timer: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidTimer);
    assert_eq!((error.get("actor"), error.get("timer")), (Some("pekko://lab/user/a"), Some(timer)));
    assert_eq!(error.get("message"), Some(std::any::type_name::<Do>()));
    assert!(error.get("because").is_some_and(|why| why.contains("zero")), "{error}");
}

async fn zero(mut lab: Lab) {
    let journal = Journal::new();
    let desk = lab.system().spawn(Desk::default()).name("a").await.unwrap();
    let [kept, refused] = ["kept", "refused"].map(|text| (journal.clone(), text));
    now(&lab, &desk, move |ctx| {
        let make = move || note(&refused.0, refused.1);
        ctx.timer("key").after(SECOND, note(&kept.0, kept.1)).unwrap();
        let unit = |result: Result<(), Error>| result.map(|()| TimerKey::from("set"));
        assert_invalid(ctx.after(Duration::ZERO, make()), "(without a key)");
        assert_invalid(ctx.every(Duration::ZERO, make.clone()), "(without a key)");
        assert_invalid(unit(ctx.timer("key").after(Duration::ZERO, make())), "key");
        assert_invalid(unit(ctx.timer("key").every(Duration::ZERO, make.clone())), "key");
        assert_invalid(unit(ctx.idle_timeout(Duration::ZERO, make)), "(idle timeout)");
    })
    .await;
    lab.clock().advance(SECOND).await;
    assert_eq!(journal.entries(), ["kept"]);
}

async fn a_message(mut lab: Lab) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let (system, events) = lab.observed();
    let desk = system.spawn(Desk::default()).inbound(Spy::new("spy", &journal)).await.unwrap();
    let (first, second) = (note(&journal, "first"), note(&journal, "second"));
    now(&lab, &desk, move |ctx| {
        ctx.after(2 * TICK, second).unwrap();
        ctx.after(TICK, first).unwrap();
        ctx.after(3 * TICK, quick(|_, _| Err(dactor_core::Failure::new("no")))).unwrap();
    })
    .await;
    desk.tell(pass(&gate)).unwrap();
    gate.reached().await;
    lab.clock().advance(SECOND).await;
    desk.tell(note(&journal, "told")).unwrap();
    let before = journal.len();
    gate.open();
    events.journal().wait_for("failed Do").await;
    let expected =
        ["spy< ok", "spy>", "told", "spy< ok", "spy>", "first", "spy< ok", "spy>", "second", "spy< ok"];
    assert_eq!(journal.entries()[before..], [&expected[..], &["spy>", "spy< Failed"]].concat());
}

async fn many(mut lab: Lab) {
    const COUNT: u64 = 10_000;
    let journal = Journal::new();
    let desk = desk(&lab, false).await;
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let last = note(&journal, "last");
    let (send, mut receive) = tokio::sync::mpsc::unbounded_channel();
    now(&lab, &desk, move |ctx| {
        // In no order: 7 and the count have no common factor.
        for number in (0..COUNT).map(|number| number * 7 % COUNT) {
            let send = send.clone();
            let ring = quick(move |_, _| {
                let _ = send.send(number);
                Ok(0)
            });
            ctx.timer(number).after(SECOND + number as u32 * TICK, ring).unwrap();
        }
        ctx.after(SECOND + COUNT as u32 * TICK, last).unwrap();
    })
    .await;
    assert_eq!(tasks(), before);
    lab.clock().advance(2 * SECOND).await;
    lab.clock().advance(SECOND + COUNT as u32 * TICK).await;
    journal.wait_for("last").await;
    let rung = std::iter::from_fn(|| receive.try_recv().ok());
    assert!(rung.eq(0..COUNT));
    assert_eq!(tasks(), before);
}

async fn running_clock(lab: Lab) {
    for exposed in [false, true] {
        let desk = desk(&lab, exposed).await;
        for round in 0..50 {
            let journal = Journal::new();
            let ring = note(&journal, "ring");
            now(&lab, &desk, |ctx| drop(ctx.after(TICK, ring).unwrap())).await;
            if round % 2 == 0 {
                // Busy about when it rings.
                for _ in 0..8 {
                    lab.soon("an answer", desk.ask(note(&Journal::new(), "x"))).await.unwrap();
                }
            }
            lab.soon("the timer rings", journal.wait_for("ring")).await;
        }
        let journal = Journal::new();
        let ring = note(&journal, "ring");
        let spent = job(move |_, ctx| {
            Box::pin(async move {
                for _ in 0..200 {
                    let _ = poll!(pin!(tokio::task::coop::consume_budget()));
                }
                ctx.after(TICK, ring)?;
                Ok(0)
            })
        });
        lab.soon("it is set", desk.ask(spent)).await.unwrap();
        lab.soon("the timer rings", journal.wait_for("ring")).await;
    }
}
