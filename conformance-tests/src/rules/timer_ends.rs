//! Timers of an actor that is restarted or ends.

use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Directive, StopReason, Supervision};

use super::body;
use super::fixture::{Desk, Do, End, Guard, job, note, now, pass, quick};
use crate::{Capability, Lab, Pace, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "TIMER-14",
        Topic::Timers,
        &[(Topic::Timers, State::Handling), (Topic::Panic, State::Handling)],
        "A restart cancels all timers, also those whose tick is in the mailbox; those that the new instance sets stand. A failure without a restart keeps them.",
        "A fresh instance must not hear of what it never set.",
        body!(restarted),
    )
    .pace(Pace::Driven),
    Rule::must(
        "TIMER-15",
        Topic::Timers,
        &[
            (Topic::Timers, State::Dead),
            (Topic::Timers, State::Stopped),
            (Topic::Timers, State::Drained),
            (Topic::Timers, State::Killed),
            (Topic::Timers, State::Failed),
        ],
        "An actor that ends cancels its timers: nothing comes after, their messages are dropped and are no dead letters. A drain handles the ticks that are in the mailbox, and no others.",
        "Nothing of an actor is left behind, and a message to oneself that is not wanted any more is no loss.",
        body!(ended),
    )
    .pace(Pace::Driven),
    Rule::must(
        "TIMER-16",
        Topic::Timers,
        &[(Topic::Timers, State::Stopping)],
        "The timers are gone when `on_stop` runs; one that is set in it never rings and holds nothing up.",
        "A mailbox that is closed gets no ticks, and an end waits for nobody.",
        body!(stopping),
    )
    .pace(Pace::Driven),
    Rule::must(
        "TIMER-17",
        Topic::Timers,
        &[(Topic::Timers, State::NativeStop)],
        "A native stop cancels the timers.",
        "It is an end like others.",
        body!(native_stop),
    )
    .needs(Capability::NativeStop),
    Rule::must(
        "TIMER-18",
        Topic::Timers,
        &[(Topic::Timers, State::NativeKill)],
        "A native kill cancels the timers.",
        "It is an end like others.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill),
    Rule::must(
        "TIMER-19",
        Topic::Timers,
        &[(Topic::Timers, State::RuntimeDropped)],
        "The timers of an actor end with its runtime.",
        "A timer that cannot ring any more must not keep its message.",
        body!(runtime_dropped),
    ),
];

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

/// A message that notes its end.
fn guarded(journal: &Journal) -> Do {
    let guard = Guard(journal.clone(), "dropped");
    quick(move |_, _| {
        guard.0.note("rung");
        Ok(0)
    })
}

async fn restarted(mut lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let noting = journal.clone();
    let factory = move || {
        let (own, quiet) = (note(&noting, "own"), noting.clone());
        Desk::default().on_start(quick(move |_, ctx| {
            ctx.timer("own").after(2 * SECOND, own)?;
            ctx.idle_timeout(HOUR, move || note(&quiet, "idle"))?;
            Ok(0)
        }))
    };
    let desk = system.spawn(factory).await.unwrap();
    let (ring, again) = (note(&journal, "once"), journal.clone());
    now(&lab, &desk, move |ctx| {
        ctx.after(SECOND, ring).unwrap();
        ctx.every(SECOND, move || note(&again, "every")).unwrap();
    })
    .await;
    desk.tell(quick(|_, _| Err(dactor_core::Failure::new("carry on")))).unwrap();
    desk.tell(pass(&gate)).unwrap();
    gate.reached().await;
    lab.clock().advance(SECOND).await;
    // Both ticks are behind this.
    desk.tell(quick(|_, _| panic!("restart"))).unwrap();
    gate.open();
    lab.clock().advance(SECOND).await;
    assert_eq!(journal.entries(), [""; 0]);
    lab.clock().advance(SECOND).await;
    assert_eq!(journal.entries(), ["own"]);
    lab.clock().advance(2 * SECOND).await;
    assert_eq!((journal.len(), system.dead_letters()), (1, 0));
    // An `Err` that is not fatal changes nothing.
    let keeps = Supervision::one_for_one().always(Directive::Resume);
    let desk = system.spawn(Desk::default()).supervision(keeps).await.unwrap();
    let ring = note(&journal, "kept");
    now(&lab, &desk, |ctx| drop(ctx.after(SECOND, ring).unwrap())).await;
    desk.tell(quick(|_, _| panic!("carry on"))).unwrap();
    lab.clock().advance(SECOND).await;
    assert_eq!(journal.entries(), ["own", "kept"]);
}

async fn ended(mut lab: Lab) {
    for end in End::OWN {
        let (journal, system) = (Journal::new(), lab.system());
        let desk = system.spawn(Desk::default()).await.unwrap();
        let (ring, later, again) = (note(&journal, "queued"), guarded(&journal), journal.clone());
        now(&lab, &desk, move |ctx| {
            ctx.timer("queued").after(SECOND, ring).unwrap();
            ctx.after(HOUR, later).unwrap();
            ctx.every(2 * SECOND, move || note(&again, "every")).unwrap();
        })
        .await;
        let [first, second] = [Gate::new(), Gate::new()];
        desk.tell(pass(&first)).unwrap();
        desk.tell(pass(&second)).unwrap();
        first.reached().await;
        lab.clock().advance(SECOND).await;
        first.open();
        // The tick is in the mailbox from here on.
        second.reached().await;
        end.of(&lab, &desk).await;
        lab.clock().advance(SECOND).await;
        second.open();
        desk.wait().await.unwrap();
        let expected: &[&str] = match end {
            End::Drain | End::Failure => &["queued", "dropped"],
            _ => &["dropped"],
        };
        assert_eq!(journal.entries(), expected, "{end:?}");
        lab.clock().advance(HOUR).await;
        assert_eq!(journal.entries(), expected, "{end:?}");
        assert_eq!(system.dead_letters(), 0, "{end:?}");
    }
}

async fn stopping(mut lab: Lab) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let (ring, hold) = (guarded(&journal), gate.clone());
    let desk = Desk::default().on_stop(job(move |_, ctx| {
        Box::pin(async move {
            ctx.after(SECOND, ring)?;
            hold.pass().await;
            Ok(0)
        })
    }));
    let desk = lab.system().spawn(desk).await.unwrap();
    let before = guarded(&journal);
    now(&lab, &desk, |ctx| drop(ctx.after(HOUR, before).unwrap())).await;
    desk.stop();
    gate.reached().await;
    assert_eq!(journal.entries(), ["dropped"]);
    lab.clock().advance(2 * SECOND).await;
    assert_eq!(journal.len(), 1);
    gate.open();
    assert!(matches!(desk.wait().await.unwrap(), StopReason::Stopped));
    assert_eq!(journal.entries(), ["dropped", "dropped"]);
}

/// A desk with a timer, and one that has just ended it.
async fn with_timer(lab: &Lab, journal: &Journal) -> ActorRef<Desk> {
    let desk = lab.system().spawn(Desk::default()).await.unwrap();
    let ring = guarded(journal);
    now(lab, &desk, |ctx| drop(ctx.after(HOUR, ring).unwrap())).await;
    desk
}

async fn native_stop(lab: Lab) {
    let journal = Journal::new();
    let desk = with_timer(&lab, &journal).await;
    lab.native_stop(&desk).await;
    lab.soon("the actor ends", desk.wait()).await.unwrap();
    lab.soon("its timer is gone", journal.wait_for("dropped")).await;
    assert_eq!(desk.system().dead_letters(), 0);
}

async fn native_kill(lab: Lab) {
    let journal = Journal::new();
    let desk = with_timer(&lab, &journal).await;
    lab.native_kill(&desk).await;
    lab.soon("the actor ends", desk.wait()).await.unwrap();
    lab.soon("its timer is gone", journal.wait_for("dropped")).await;
    assert_eq!(desk.system().dead_letters(), 0);
}

async fn runtime_dropped(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let ring = guarded(&journal);
    let born = lab.elsewhere(move || async move {
        let desk = system.spawn(Desk::default()).await.unwrap();
        let set = quick(move |_, ctx| {
            ctx.after(HOUR, ring)?;
            Ok(0)
        });
        desk.ask(set).await.unwrap();
        desk
    });
    let desk = lab.soon("the runtime is dropped", born).await;
    assert!(matches!(lab.soon("the actor ends", desk.wait()).await.unwrap(), StopReason::Killed));
    lab.soon("its timer is gone", journal.wait_for("dropped")).await;
    assert_eq!(desk.system().dead_letters(), 0);
}
