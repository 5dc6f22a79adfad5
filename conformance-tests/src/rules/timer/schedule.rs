//! Timers, on a driven clock.

use std::pin::pin;
use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Context, Error, ErrorKind, Overflow, TimerKey};
use futures_util::poll;

use crate::fixtures::interceptor::RecordingInterceptor;
use crate::fixtures::scripted::{Script, ScriptedActor, async_script, note, run_in, script, wait_at};
use crate::rules::body;
use crate::{Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "TIMER-01",
        Topic::Timers,
        &[(Topic::Timers, State::Starting), (Topic::Timers, State::Idle)],
        "A timer's message arrives once, exactly after its delay, also when the actor is idle, however its backend parks it, and when the timer was set in `on_start`.",
        "An idle actor must not miss its timers.",
        body!(once),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "TIMER-02",
        Topic::Timers,
        &[(Topic::Timers, State::Idle)],
        "Setting a key again replaces its timer; cancelling a key cancels its timer and returns whether there was one. Keys are texts or numbers, or are generated for a timer without a key.",
        "An actor must not receive the messages of timers that it replaced or cancelled.",
        body!(keys),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "TIMER-03",
        Topic::Timers,
        &[(Topic::Timers, State::Handling)],
        "Cancelling or replacing a timer also applies to a tick that is already in the mailbox: the tick is skipped and is no dead letter.",
        "Otherwise every timer handler would have to check whether its timer is still set.",
        body!(queued),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "TIMER-04",
        Topic::Timers,
        &[(Topic::Timers, State::Idle)],
        "An interval ticks after every period, first after one period, until it is cancelled, also by its own handler.",
        "An interval does not drift and ends when it is cancelled.",
        body!(interval),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "TIMER-05",
        Topic::Timers,
        &[(Topic::Timers, State::Handling), (Topic::Bound, State::Handling)],
        "A tick needs no room in a bounded mailbox and takes none: a full mailbox accepts it, and it does not displace other messages.",
        "An overloaded actor needs its timeouts most.",
        body!(exempt),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "TIMER-06",
        Topic::Timers,
        &[(Topic::Timers, State::Handling)],
        "A duration of zero fails with `InvalidTimer`, which names the actor, the message, the timer and the reason, for all kinds of timers; an existing timer is kept.",
        "A zero duration is a mistake and would keep the actor busy.",
        body!(zero),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "TIMER-07",
        Topic::Timers,
        &[(Topic::Timers, State::Handling), (Topic::Order, State::Handling)],
        "Ticks that are due while the actor is busy are handled after the messages queued by then, in the order of their times; a tick passes the interceptors, and its failure is handled like any other.",
        "A tick is an ordinary message.",
        body!(a_message),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "TIMER-08",
        Topic::Timers,
        &[(Topic::Timers, State::Idle)],
        "Ten thousand timers of one actor spawn no task, and all tick in the order of their times.",
        "A timer per session must not cost a task per session.",
        body!(many),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "TIMER-09",
        Topic::Timers,
        &[(Topic::Timers, State::Idle), (Topic::Timers, State::Handling)],
        "In real time and on any runtime, no tick is lost: neither a tick that is due while its actor parks, is parked or is busy, nor a tick of a timer set by a handler that has spent its task's budget.",
        "A timer wakes its actor from another thread at any moment.",
        body!(running_clock),
    ),
];

const SECOND: Duration = Duration::from_secs(1);
const ALMOST: Duration = Duration::from_millis(999);
const TICK: Duration = Duration::from_millis(1);
const NOTHING: [&str; 0] = [];

/// A scripted actor, with or without its native handle taken.
async fn scripted(rule: &RuleContext, native_handle_taken: bool) -> ActorRef<ScriptedActor> {
    let scripted = rule.system().spawn(ScriptedActor::default()).await.unwrap();
    if native_handle_taken {
        rule.take_native_handle(&scripted);
    }
    scripted
}

async fn once(mut rule: RuleContext) {
    for native_handle_taken in [false, true] {
        let journal = Journal::new();
        let scripted = scripted(&rule, native_handle_taken).await;
        let ring = note(&journal, "ring");
        run_in(&rule, &scripted, |ctx| ctx.after(SECOND, ring).unwrap()).await;
        rule.clock().advance(ALMOST).await;
        assert_eq!(journal.entries(), NOTHING);
        rule.clock().advance(TICK).await;
        assert_eq!(journal.entries(), ["ring"]);
        rule.clock().advance(10 * SECOND).await;
        assert_eq!(journal.entries(), ["ring"]);
    }
    let (journal, gate) = (Journal::new(), Gate::new());
    let (ring, hold) = (note(&journal, "ring"), gate.clone());
    let starting = ScriptedActor::default().on_start(async_script(move |_, ctx| {
        Box::pin(async move {
            ctx.after(SECOND, ring)?;
            hold.pass().await;
            Ok(0)
        })
    }));
    let system = rule.system();
    let spawned = tokio::spawn(async move { system.spawn(starting).await });
    gate.reached().await;
    rule.clock().advance(SECOND).await;
    assert_eq!(journal.entries(), NOTHING, "no message is handled before `on_start` finishes");
    gate.open();
    spawned.await.unwrap().unwrap();
    journal.wait_for("ring").await;
}

async fn keys(mut rule: RuleContext) {
    let journal = Journal::new();
    let scripted = scripted(&rule, false).await;
    let set = |key: TimerKey, text| {
        let ring = note(&journal, text);
        move |ctx: &mut Context<ScriptedActor>| ctx.timer(key).after(SECOND, ring).unwrap()
    };
    run_in(&rule, &scripted, set("a".into(), "text")).await;
    run_in(&rule, &scripted, set(7.into(), "number")).await;
    rule.clock().advance(ALMOST).await;
    run_in(&rule, &scripted, set("a".to_owned().into(), "text again")).await;
    rule.clock().advance(TICK).await;
    assert_eq!(journal.entries(), ["number"]);
    rule.clock().advance(ALMOST).await;
    assert_eq!(journal.entries(), ["number", "text again"]);
    let ring = note(&journal, "without a key");
    let key = run_in(&rule, &scripted, |ctx| ctx.after(SECOND, ring).unwrap()).await;
    run_in(&rule, &scripted, set("a".into(), "text")).await;
    let cancelled = run_in(&rule, &scripted, move |ctx| {
        let first = [ctx.cancel_timer(key.clone()), ctx.cancel_timer("a"), ctx.cancel_timer(7)];
        (first, [ctx.cancel_timer(key), ctx.cancel_timer("a"), ctx.cancel_timer("b")])
    });
    assert_eq!(cancelled.await, ([true, true, false], [false; 3]));
    rule.clock().advance(2 * SECOND).await;
    assert_eq!(journal.entries(), ["number", "text again"]);
}

async fn queued(mut rule: RuleContext) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let scripted = scripted(&rule, true).await;
    let rings = ["cancelled", "replaced", "kept"].map(|text| (text, note(&journal, text)));
    run_in(&rule, &scripted, move |ctx| rings.map(|(key, ring)| ctx.timer(key).after(SECOND, ring).unwrap()))
        .await;
    scripted.tell(wait_at(&gate)).unwrap();
    gate.reached().await;
    rule.clock().advance(SECOND).await;
    let again = note(&journal, "again");
    scripted
        .tell(script(move |_, ctx| {
            assert!(ctx.cancel_timer("cancelled"));
            ctx.timer("replaced").after(SECOND, again)?;
            Ok(0)
        }))
        .unwrap();
    gate.open();
    journal.wait_for("kept").await;
    rule.clock().advance(ALMOST).await;
    assert_eq!(journal.entries(), ["kept"]);
    rule.clock().advance(TICK).await;
    assert_eq!(journal.entries(), ["kept", "again"]);
    assert_eq!(scripted.system().dead_letter_count(), 0);
}

async fn interval(mut rule: RuleContext) {
    for native_handle_taken in [false, true] {
        let journal = Journal::new();
        let scripted = scripted(&rule, native_handle_taken).await;
        let (ticking, mut count) = (journal.clone(), 0);
        run_in(&rule, &scripted, move |ctx| {
            ctx.timer("tick").every(SECOND, move || {
                count += 1;
                let (journal, count) = (ticking.clone(), count);
                script(move |_, ctx| {
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
            rule.clock().advance(ALMOST).await;
            assert_eq!(journal.entries(), ticks);
            rule.clock().advance(TICK).await;
            ticks.extend((second <= 3).then(|| second.to_string()));
            assert_eq!(journal.entries(), ticks);
        }
    }
}

async fn exempt(mut rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let scripted = system.spawn(ScriptedActor::default()).bounded(1, Overflow::Reject).await.unwrap();
    rule.take_native_handle(&scripted);
    let rings = [1, 2].map(|number| note(&journal, format!("ring {number}")));
    run_in(&rule, &scripted, move |ctx| rings.map(|ring| drop(ctx.after(SECOND, ring).unwrap()))).await;
    let second = Gate::new();
    scripted.tell(wait_at(&gate)).unwrap();
    gate.reached().await;
    scripted.tell(wait_at(&second)).unwrap();
    assert_eq!(scripted.tell(note(&journal, "no")).unwrap_err().kind(), ErrorKind::MailboxFull);
    rule.clock().advance(SECOND).await;
    gate.open();
    second.reached().await;
    // Both ticks are in the mailbox.
    scripted.tell(note(&journal, "yes")).unwrap();
    assert_eq!(scripted.tell(note(&journal, "no")).unwrap_err().kind(), ErrorKind::MailboxFull);
    second.open();
    journal.wait_for("yes").await;
    assert_eq!(journal.entries(), ["ring 1", "ring 2", "yes"]);
}

fn assert_invalid(result: Result<TimerKey, Error>, timer: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidTimer);
    assert_eq!((error.get("actor"), error.get("timer")), (Some("pekko://test/user/a"), Some(timer)));
    assert_eq!(error.get("message"), Some(std::any::type_name::<Script>()));
    assert!(error.get("because").is_some_and(|why| why.contains("zero")), "{error}");
}

async fn zero(mut rule: RuleContext) {
    let journal = Journal::new();
    let scripted = rule.system().spawn(ScriptedActor::default()).name("a").await.unwrap();
    let [kept, refused] = ["kept", "refused"].map(|text| (journal.clone(), text));
    run_in(&rule, &scripted, move |ctx| {
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
    rule.clock().advance(SECOND).await;
    assert_eq!(journal.entries(), ["kept"]);
}

async fn a_message(mut rule: RuleContext) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let (system, events) = rule.system_with_events();
    let scripted = system
        .spawn(ScriptedActor::default())
        .inbound(RecordingInterceptor::new("in", &journal))
        .await
        .unwrap();
    let (first, second) = (note(&journal, "first"), note(&journal, "second"));
    run_in(&rule, &scripted, move |ctx| {
        ctx.after(2 * TICK, second).unwrap();
        ctx.after(TICK, first).unwrap();
        ctx.after(3 * TICK, script(|_, _| Err(dactor_core::Failure::new("no")))).unwrap();
    })
    .await;
    scripted.tell(wait_at(&gate)).unwrap();
    gate.reached().await;
    rule.clock().advance(SECOND).await;
    scripted.tell(note(&journal, "told")).unwrap();
    let before = journal.len();
    gate.open();
    events.journal().wait_for("failed Script").await;
    let expected = ["in< ok", "in>", "told", "in< ok", "in>", "first", "in< ok", "in>", "second", "in< ok"];
    assert_eq!(journal.entries()[before..], [&expected[..], &["in>", "in< Failed"]].concat());
}

async fn many(mut rule: RuleContext) {
    const COUNT: u64 = 10_000;
    let journal = Journal::new();
    let scripted = scripted(&rule, false).await;
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let last = note(&journal, "last");
    let (send, mut receive) = tokio::sync::mpsc::unbounded_channel();
    run_in(&rule, &scripted, move |ctx| {
        // In mixed order: 7 and the count have no common factor.
        for number in (0..COUNT).map(|number| number * 7 % COUNT) {
            let send = send.clone();
            let ring = script(move |_, _| {
                let _ = send.send(number);
                Ok(0)
            });
            ctx.timer(number).after(SECOND + number as u32 * TICK, ring).unwrap();
        }
        ctx.after(SECOND + COUNT as u32 * TICK, last).unwrap();
    })
    .await;
    assert_eq!(tasks(), before);
    rule.clock().advance(2 * SECOND).await;
    rule.clock().advance(SECOND + COUNT as u32 * TICK).await;
    journal.wait_for("last").await;
    let rung = std::iter::from_fn(|| receive.try_recv().ok());
    assert!(rung.eq(0..COUNT));
    assert_eq!(tasks(), before);
}

async fn running_clock(rule: RuleContext) {
    for native_handle_taken in [false, true] {
        let scripted = scripted(&rule, native_handle_taken).await;
        for round in 0..50 {
            let journal = Journal::new();
            let ring = note(&journal, "ring");
            run_in(&rule, &scripted, |ctx| drop(ctx.after(TICK, ring).unwrap())).await;
            if round % 2 == 0 {
                // Keeps the actor busy around the time of the tick.
                for _ in 0..8 {
                    rule.soon("the actor answers", scripted.ask(note(&Journal::new(), "x"))).await.unwrap();
                }
            }
            rule.soon("the timer fires", journal.wait_for("ring")).await;
        }
        let journal = Journal::new();
        let ring = note(&journal, "ring");
        let spent = async_script(move |_, ctx| {
            Box::pin(async move {
                for _ in 0..200 {
                    let _ = poll!(pin!(tokio::task::coop::consume_budget()));
                }
                ctx.after(TICK, ring)?;
                Ok(0)
            })
        });
        rule.soon("the timer is set", scripted.ask(spent)).await.unwrap();
        rule.soon("the timer fires", journal.wait_for("ring")).await;
    }
}
