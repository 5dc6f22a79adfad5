//! Asks that are cancelled.

use std::time::Duration;

use dactor_core::ErrorKind;
use dactor_core::testkit::{Gate, Journal};
use tokio_util::sync::CancellationToken;

use crate::fixtures::cancellation::{guarded, never, watches};
use crate::fixtures::ending::{BusyScripted, End, end_bodies};
use crate::fixtures::interceptor::RecordingInterceptor;
use crate::fixtures::scripted::{
    Abortable, Script, ScriptedActor, async_script, reply_with, script, wait_at,
};
use crate::rules::body;
use crate::{Capability, Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "CANCEL-01",
        Topic::Cancel,
        &[(Topic::Cancel, State::Idle), (Topic::Cancel, State::Handling)],
        "An ask cancelled before its message is handled fails with `Cancelled` at once, naming the actor and the message; the message is skipped, seen by no interceptor, and no dead letter.",
        "No handler runs for an asker that gave up.",
        body!(before),
    ),
    Rule::must(
        "CANCEL-02",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling)],
        "An ask cancelled while its handler runs fails with `Cancelled` at once. The handler can observe it and may finish; its reply becomes a dead letter. Dropping the ask has the same effect; a told message is never cancelled.",
        "The asker is free, and the handler can save or abandon its work.",
        body!(during),
    ),
    Rule::must(
        "CANCEL-03",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling)],
        "The handler of a message with `ABORT` is dropped at its await when the asker cancels or drops the ask, and the actor continues with its state; the handler of another message is not dropped.",
        "Work that can be abandoned is abandoned.",
        body!(aborts),
    ),
    Rule::must(
        "CANCEL-04",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling)],
        "A handler that completes in the same poll in which its asker cancels has completed: its reply is returned, and its failure is handled.",
        "Completed work is not discarded.",
        body!(same_poll),
    )
    .runtime(RuntimeMode::CurrentThread),
    Rule::must(
        "CANCEL-05",
        Topic::Cancel,
        &[(Topic::Cancel, State::Starting)],
        "An ask cancelled while the actor starts fails at once and is skipped after the start.",
        "Askers give up during a slow start.",
        body!(starting),
    ),
    Rule::must(
        "CANCEL-06",
        Topic::Cancel,
        &[(Topic::Cancel, State::Stopping), (Topic::Cancel, State::Dead)],
        "An ask with a deadline and a token to a stopping or ended actor fails with `Stopped` at once.",
        "Waiting does not help when the actor has ended.",
        body!(dead),
    ),
    Rule::must(
        "CANCEL-07",
        Topic::Cancel,
        &[
            (Topic::Cancel, State::Stopped),
            (Topic::Cancel, State::Drained),
            (Topic::Cancel, State::Killed),
            (Topic::Cancel, State::Failed),
        ],
        "An asker with a deadline and a token is answered when the actor ends, like any other asker, and a later cancellation has no effect.",
        "A deadline does not delay the answer.",
        body!(ends),
    ),
    Rule::must(
        "CANCEL-08",
        Topic::Cancel,
        &[(Topic::Cancel, State::NativeStop)],
        "An asker with a deadline and a token is answered when the actor is stopped natively (CANCEL-07).",
        "A native stop is an ordinary end of an actor.",
        body!(native_stop),
    )
    .needs(Capability::NativeStop)
    .spi(&["ignores-stop"]),
    Rule::must(
        "CANCEL-09",
        Topic::Cancel,
        &[(Topic::Cancel, State::NativeKill)],
        "An asker with a deadline and a token is answered when the actor is killed natively (CANCEL-07).",
        "A native kill is an ordinary end of an actor.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "keeps-cell-after-kill"]),
    Rule::must(
        "CANCEL-10",
        Topic::Cancel,
        &[(Topic::Cancel, State::RuntimeDropped)],
        "An asker with a token is answered when the runtime of the actor is dropped (CANCEL-07).",
        "A dropped runtime is an ordinary end of an actor.",
        body!(runtime_dropped),
    )
    .spi(&["foreign-runtime"]),
];

const HOUR: Duration = Duration::from_secs(3600);

fn cancelled() -> CancellationToken {
    let token = CancellationToken::new();
    token.cancel();
    token
}

async fn before(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let scripted = system
        .spawn(ScriptedActor::default())
        .name("d")
        .inbound(RecordingInterceptor::new("a", &journal))
        .await
        .unwrap();
    let error = rule.soon("the ask fails", scripted.ask(never()).cancel(cancelled())).await.unwrap_err();
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Cancelled, Some("pekko://test/user/d")));
    assert_eq!(error.get("message"), Some(std::any::type_name::<Script>()));
    scripted.tell(wait_at(&gate)).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    let token = CancellationToken::new();
    let (asker, cancel) = (scripted.clone(), token.clone());
    let asked = tokio::spawn(async move { asker.ask(never()).cancel(cancel).await });
    let enqueued = scripted.ask(never()).cancel(token.clone()).enqueue().unwrap();
    let unread = scripted.recipient().ask(never()).cancel(token.clone()).enqueue().unwrap();
    let untouched = scripted.ask(reply_with(3)).cancel(CancellationToken::new()).enqueue().unwrap();
    rule.let_idle().await;
    token.cancel();
    for error in
        [rule.soon("the ask fails", asked).await.unwrap(), rule.soon("the ask fails", enqueued).await]
    {
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Cancelled);
    }
    gate.open();
    assert_eq!(rule.soon("the next message is handled", untouched).await.unwrap(), 3);
    let error = rule.soon("the ask fails", unread).await.unwrap_err();
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Cancelled, Some("pekko://test/user/d")));
    assert_eq!(journal.entries(), ["a>", "a< ok", "a>", "a< ok"]);
    assert_eq!(system.dead_letter_count(), 0);
}

async fn during(rule: RuleContext) {
    for intercepted in [false, true] {
        let (journal, system) = (Journal::new(), rule.system());
        let spawn = system.spawn(ScriptedActor::default());
        let spawn =
            if intercepted { spawn.inbound(RecordingInterceptor::new("a", &Journal::new())) } else { spawn };
        let scripted = spawn.await.unwrap();
        let (gate, token) = (Gate::new(), CancellationToken::new());
        let asked = scripted.ask(watches(&journal, &gate)).cancel(token.clone()).enqueue().unwrap();
        rule.soon("the handler runs", gate.reached()).await;
        token.cancel();
        assert_eq!(rule.soon("the ask fails", asked).await.unwrap_err().kind(), ErrorKind::Cancelled);
        rule.soon("the handler observes that the asker gave up", journal.wait_for("gone true true")).await;
        gate.open();
        rule.soon("the actor continues", scripted.ask(reply_with(1))).await.unwrap();
        assert_eq!(system.dead_letter_count(), 1, "the reply without an asker");

        let gate = Gate::new();
        let asked = scripted.ask(watches(&journal, &gate)).enqueue().unwrap();
        rule.soon("the handler runs", gate.reached()).await;
        drop(asked);
        rule.soon("the handler observes that the asker gave up", journal.wait_len(2)).await;
        gate.open();
        rule.soon("the actor continues", scripted.ask(reply_with(1))).await.unwrap();

        let (gate, token) = (Gate::new(), CancellationToken::new());
        scripted.tell(watches(&journal, &gate)).unwrap();
        rule.soon("the handler runs", gate.reached()).await;
        gate.open();
        let kept = scripted.ask(watches(&journal, &gate)).cancel(token.clone());
        rule.soon("the ask is answered", kept).await.unwrap();
        token.cancel();
        assert_eq!(journal.entries(), ["gone true true", "gone true true", "passed false", "passed false"]);
        assert_eq!(system.dead_letter_count(), 2);
    }
}

async fn aborts(rule: RuleContext) {
    for intercepted in [false, true] {
        let (journal, system) = (Journal::new(), rule.system());
        let spawn = system.spawn(ScriptedActor::default());
        let spawn =
            if intercepted { spawn.inbound(RecordingInterceptor::new("a", &Journal::new())) } else { spawn };
        let scripted = spawn.await.unwrap();
        let (gate, token) = (Gate::new(), CancellationToken::new());
        let asked =
            scripted.ask(Abortable(guarded(&journal, &gate))).cancel(token.clone()).enqueue().unwrap();
        rule.soon("the handler runs", gate.reached()).await;
        token.cancel();
        assert_eq!(rule.soon("the ask fails", asked).await.unwrap_err().kind(), ErrorKind::Cancelled);
        rule.soon("the handler is dropped", journal.wait_for("left")).await;
        let asked = scripted.ask(Abortable(guarded(&journal, &gate))).enqueue().unwrap();
        rule.soon("the handler runs again", gate.reached_by(2)).await;
        drop(asked);
        rule.soon("the handler is dropped", journal.wait_len(2)).await;
        assert_eq!(system.dead_letter_count(), 0, "no reply was sent");
        let begun = script(|scripted, _| Ok(u32::from(scripted.promise.is_some())));
        assert_eq!(
            rule.soon("the actor continues", scripted.ask(begun)).await.unwrap(),
            1,
            "the state is kept"
        );

        let unread = scripted.ask(Abortable(guarded(&journal, &gate))).cancel(token.clone());
        assert_eq!(rule.soon("the ask fails", unread).await.unwrap_err().kind(), ErrorKind::Cancelled);
        let told = Gate::new();
        scripted.tell(Abortable(guarded(&journal, &told))).unwrap();
        rule.soon("the handler of a told message runs", told.reached()).await;
        told.open();
        let (gate, token) = (Gate::new(), CancellationToken::new());
        let asked = scripted.ask(guarded(&journal, &gate)).cancel(token.clone()).enqueue().unwrap();
        rule.soon("the handler of a message without `ABORT` runs", gate.reached()).await;
        token.cancel();
        rule.soon("the ask fails", asked).await.unwrap_err();
        gate.open();
        rule.soon("the actor continues", scripted.ask(reply_with(1))).await.unwrap();
        assert_eq!(journal.entries(), ["left", "left", "finished", "left", "finished", "left"]);
    }
}

async fn same_poll(rule: RuleContext) {
    for intercepted in [false, true] {
        let (system, events) = rule.system_with_events();
        let spawn = system.spawn(ScriptedActor::default());
        let spawn =
            if intercepted { spawn.inbound(RecordingInterceptor::new("a", &Journal::new())) } else { spawn };
        let scripted = spawn.await.unwrap();
        let completes = |token: CancellationToken, outcome: dactor_core::Outcome<u32>| {
            Abortable(async_script(move |_, _| {
                Box::pin(async move {
                    tokio::task::yield_now().await;
                    token.cancel();
                    outcome
                })
            }))
        };
        let token = CancellationToken::new();
        let asked = scripted.ask(completes(token.clone(), Ok(7))).cancel(token);
        assert_eq!(rule.soon("the reply is sent", asked).await.unwrap(), 7);
        let token = CancellationToken::new();
        let asked =
            scripted.ask(completes(token.clone(), Err(dactor_core::Failure::new("no")))).cancel(token);
        assert_eq!(rule.soon("the failure is sent", asked).await.unwrap_err().kind(), ErrorKind::Failed);
        assert_eq!(events.journal().entries(), [""; 0]);
    }
}

async fn starting(rule: RuleContext) {
    let (gate, system, token) = (Gate::new(), rule.system(), CancellationToken::new());
    let spawn = system.spawn(ScriptedActor::default().on_start(wait_at(&gate))).name("d");
    let spawned = tokio::spawn(spawn.into_future());
    rule.soon("the actor is in `on_start`", gate.reached()).await;
    let scripted = system.get::<ScriptedActor>("d").unwrap();
    let asked = scripted.ask(never()).cancel(token.clone()).timeout(HOUR).enqueue().unwrap();
    let unread = scripted.ask(never()).cancel(token.clone()).enqueue().unwrap();
    let untouched = scripted.ask(reply_with(1)).enqueue().unwrap();
    token.cancel();
    assert_eq!(rule.soon("the ask fails", asked).await.unwrap_err().kind(), ErrorKind::Cancelled);
    gate.open();
    rule.soon("the actor starts", spawned).await.unwrap().unwrap();
    assert_eq!(rule.soon("the next message is handled", untouched).await.unwrap(), 1);
    assert_eq!(rule.soon("the ask fails", unread).await.unwrap_err().kind(), ErrorKind::Cancelled);
}

async fn dead(rule: RuleContext) {
    let (stopping, system) = (Gate::new(), rule.system());
    let scripted = system.spawn(ScriptedActor::default().on_stop(wait_at(&stopping))).await.unwrap();
    scripted.stop();
    rule.soon("the actor is in `on_stop`", stopping.reached()).await;
    for _ in 0..2 {
        let ask = || scripted.ask(never()).timeout(HOUR).cancel(CancellationToken::new());
        assert_eq!(rule.soon("the ask fails", ask()).await.unwrap_err().kind(), ErrorKind::Stopped);
        assert_eq!(ask().enqueue().unwrap_err().kind(), ErrorKind::Stopped);
        stopping.open();
        rule.soon("the actor ends", scripted.wait()).await.unwrap();
    }
}

async fn end(rule: &RuleContext, end: End) {
    let (system, token) = (rule.system(), CancellationToken::new());
    let scripted = system.spawn(ScriptedActor::default()).await.unwrap();
    let cancel = token.clone();
    let busy = BusyScripted::new(scripted, rule.settings().patience, move |ask| {
        ask.timeout(HOUR).cancel(cancel.clone())
    });
    let busy = busy.await;
    busy.end(rule, end).await;
    rule.soon("the actor ends", busy.scripted.wait()).await.unwrap();
    token.cancel();
    assert_answered(Some(end), &busy.answers(rule).await);
}

fn assert_answered(end: Option<End>, answers: &[Result<u32, ErrorKind>]) {
    let stopped = Err(ErrorKind::Stopped);
    match end {
        Some(End::Drain | End::Failure) => assert_eq!(answers, [Ok(0), Ok(1), Ok(2)]),
        Some(End::Stop) => assert_eq!(answers, [Ok(0), stopped, stopped]),
        Some(End::NativeStop) => {
            assert!(answers.iter().zip(0..).all(|(answer, number)| [Ok(number), stopped].contains(answer)));
        }
        Some(End::Kill | End::NativeKill) | None => {
            assert_eq!(answers, [Err(ErrorKind::Interrupted), stopped, stopped])
        }
    }
}

end_bodies!();

async fn runtime_dropped(rule: RuleContext) {
    let (system, patience, token) = (rule.system(), rule.settings().patience, CancellationToken::new());
    let cancel = token.clone();
    let busy = rule.on_dropped_runtime(move || async move {
        let scripted = system.spawn(ScriptedActor::default()).await.unwrap();
        BusyScripted::new(scripted, patience, move |ask| ask.cancel(cancel.clone())).await
    });
    let busy = rule.soon("the runtime is dropped", busy).await;
    rule.soon("the actor ends", busy.scripted.wait()).await.unwrap();
    token.cancel();
    assert_answered(None, &busy.answers(&rule).await);
}
