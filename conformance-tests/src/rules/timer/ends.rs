//! Timers of an actor that is restarted or ends.

use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Directive, StopReason, Supervision};

use crate::fixtures::drop_note::DropNote;
use crate::fixtures::ending::End;
use crate::fixtures::scripted::{Script, ScriptedActor, async_script, note, run_in, script, wait_at};
use crate::rules::body;
use crate::{Capability, Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "TIMER-14",
        Topic::Timers,
        &[(Topic::Timers, State::Handling), (Topic::Panic, State::Handling)],
        "A restart cancels all timers, also those whose tick is in the mailbox; timers that the new instance sets are kept. A failure without a restart keeps all timers.",
        "A fresh instance must not receive ticks of timers that it did not set.",
        body!(restarted),
    )
    .runtime(RuntimeMode::DrivenClock),
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
        "An ending actor cancels its timers: no tick follows, and their messages are dropped without a dead letter. A drain handles the ticks that are in the mailbox, and no others.",
        "A message to the own actor that is no longer needed is not lost.",
        body!(ended),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "TIMER-16",
        Topic::Timers,
        &[(Topic::Timers, State::Stopping)],
        "All timers are cancelled when `on_stop` runs; a timer that `on_stop` sets never fires and delays nothing.",
        "A closed mailbox gets no ticks, and the end of an actor waits for no timer.",
        body!(stopping),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "TIMER-17",
        Topic::Timers,
        &[(Topic::Timers, State::NativeStop)],
        "A native stop cancels the timers.",
        "A native stop is an ordinary end of an actor.",
        body!(native_stop),
    )
    .needs(Capability::NativeStop),
    Rule::must(
        "TIMER-18",
        Topic::Timers,
        &[(Topic::Timers, State::NativeKill)],
        "A native kill cancels the timers.",
        "A native kill is an ordinary end of an actor.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill),
    Rule::must(
        "TIMER-19",
        Topic::Timers,
        &[(Topic::Timers, State::RuntimeDropped)],
        "Dropping the runtime of an actor cancels its timers.",
        "A timer that can no longer fire must not keep its message.",
        body!(runtime_dropped),
    ),
];

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

/// A message that notes when it is handled and when it is dropped.
fn guarded(journal: &Journal) -> Script {
    let guard = DropNote(journal.clone(), "dropped");
    script(move |_, _| {
        guard.0.note("rung");
        Ok(0)
    })
}

async fn restarted(mut rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let noting = journal.clone();
    let factory = move || {
        let (own, quiet) = (note(&noting, "own"), noting.clone());
        ScriptedActor::default().on_start(script(move |_, ctx| {
            ctx.timer("own").after(2 * SECOND, own)?;
            ctx.idle_timeout(HOUR, move || note(&quiet, "idle"))?;
            Ok(0)
        }))
    };
    let scripted = system.spawn(factory).await.unwrap();
    let (ring, again) = (note(&journal, "once"), journal.clone());
    run_in(&rule, &scripted, move |ctx| {
        ctx.after(SECOND, ring).unwrap();
        ctx.every(SECOND, move || note(&again, "every")).unwrap();
    })
    .await;
    scripted.tell(script(|_, _| Err(dactor_core::Failure::new("carry on")))).unwrap();
    scripted.tell(wait_at(&gate)).unwrap();
    gate.reached().await;
    rule.clock().advance(SECOND).await;
    // Both ticks are queued after this message.
    scripted.tell(script(|_, _| panic!("restart"))).unwrap();
    gate.open();
    rule.clock().advance(SECOND).await;
    assert_eq!(journal.entries(), [""; 0]);
    rule.clock().advance(SECOND).await;
    assert_eq!(journal.entries(), ["own"]);
    rule.clock().advance(2 * SECOND).await;
    assert_eq!((journal.len(), system.dead_letter_count()), (1, 0));
    // A panic with `Resume` changes nothing.
    let keeps = Supervision::one_for_one().always(Directive::Resume);
    let scripted = system.spawn(ScriptedActor::default()).supervision(keeps).await.unwrap();
    let ring = note(&journal, "kept");
    run_in(&rule, &scripted, |ctx| drop(ctx.after(SECOND, ring).unwrap())).await;
    scripted.tell(script(|_, _| panic!("carry on"))).unwrap();
    rule.clock().advance(SECOND).await;
    assert_eq!(journal.entries(), ["own", "kept"]);
}

async fn ended(mut rule: RuleContext) {
    for end in End::CORE {
        let (journal, system) = (Journal::new(), rule.system());
        let scripted = system.spawn(ScriptedActor::default()).await.unwrap();
        let (ring, later, again) = (note(&journal, "queued"), guarded(&journal), journal.clone());
        run_in(&rule, &scripted, move |ctx| {
            ctx.timer("queued").after(SECOND, ring).unwrap();
            ctx.after(HOUR, later).unwrap();
            ctx.every(2 * SECOND, move || note(&again, "every")).unwrap();
        })
        .await;
        let [first, second] = [Gate::new(), Gate::new()];
        scripted.tell(wait_at(&first)).unwrap();
        scripted.tell(wait_at(&second)).unwrap();
        first.reached().await;
        rule.clock().advance(SECOND).await;
        first.open();
        // The tick is in the mailbox from here on.
        second.reached().await;
        end.apply(&rule, &scripted).await;
        rule.clock().advance(SECOND).await;
        second.open();
        scripted.wait().await.unwrap();
        let expected: &[&str] = match end {
            End::Drain | End::Failure => &["queued", "dropped"],
            _ => &["dropped"],
        };
        assert_eq!(journal.entries(), expected, "{end:?}");
        rule.clock().advance(HOUR).await;
        assert_eq!(journal.entries(), expected, "{end:?}");
        assert_eq!(system.dead_letter_count(), 0, "{end:?}");
    }
}

async fn stopping(mut rule: RuleContext) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let (ring, hold) = (guarded(&journal), gate.clone());
    let scripted = ScriptedActor::default().on_stop(async_script(move |_, ctx| {
        Box::pin(async move {
            ctx.after(SECOND, ring)?;
            hold.pass().await;
            Ok(0)
        })
    }));
    let scripted = rule.system().spawn(scripted).await.unwrap();
    let before = guarded(&journal);
    run_in(&rule, &scripted, |ctx| drop(ctx.after(HOUR, before).unwrap())).await;
    scripted.stop();
    gate.reached().await;
    assert_eq!(journal.entries(), ["dropped"]);
    rule.clock().advance(2 * SECOND).await;
    assert_eq!(journal.len(), 1);
    gate.open();
    assert!(matches!(scripted.wait().await.unwrap(), StopReason::Stopped));
    assert_eq!(journal.entries(), ["dropped", "dropped"]);
}

/// An actor with a timer.
async fn with_timer(rule: &RuleContext, journal: &Journal) -> ActorRef<ScriptedActor> {
    let scripted = rule.system().spawn(ScriptedActor::default()).await.unwrap();
    let ring = guarded(journal);
    run_in(rule, &scripted, |ctx| drop(ctx.after(HOUR, ring).unwrap())).await;
    scripted
}

async fn native_stop(rule: RuleContext) {
    let journal = Journal::new();
    let scripted = with_timer(&rule, &journal).await;
    rule.native_stop(&scripted).await;
    rule.soon("the actor ends", scripted.wait()).await.unwrap();
    rule.soon("the timer is dropped", journal.wait_for("dropped")).await;
    assert_eq!(scripted.system().dead_letter_count(), 0);
}

async fn native_kill(rule: RuleContext) {
    let journal = Journal::new();
    let scripted = with_timer(&rule, &journal).await;
    rule.native_kill(&scripted).await;
    rule.soon("the actor ends", scripted.wait()).await.unwrap();
    rule.soon("the timer is dropped", journal.wait_for("dropped")).await;
    assert_eq!(scripted.system().dead_letter_count(), 0);
}

async fn runtime_dropped(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let ring = guarded(&journal);
    let spawned = rule.on_dropped_runtime(move || async move {
        let scripted = system.spawn(ScriptedActor::default()).await.unwrap();
        let set = script(move |_, ctx| {
            ctx.after(HOUR, ring)?;
            Ok(0)
        });
        scripted.ask(set).await.unwrap();
        scripted
    });
    let scripted = rule.soon("the runtime is dropped", spawned).await;
    assert!(matches!(rule.soon("the actor ends", scripted.wait()).await.unwrap(), StopReason::Killed));
    rule.soon("the timer is dropped", journal.wait_for("dropped")).await;
    assert_eq!(scripted.system().dead_letter_count(), 0);
}
