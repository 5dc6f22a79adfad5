//! Whether an error says that the message may have been handled, so that repeating the ask may repeat its effects.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use dactor_core::interceptors::Retry;
use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Error, ErrorKind, Failure, Overflow, Verdict};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::fixtures::interceptor::RecordingInterceptor;
use crate::fixtures::scripted::{Abortable, ScriptedActor, defer_reply, reply_with, script, wait_at};
use crate::rules::body;
use crate::{Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "REPEAT-01",
        Topic::Kill,
        &[(Topic::Kill, State::Handling), (Topic::Ask, State::Killed)],
        "The asker of a handler that a kill drops gets `Interrupted`, which may have been handled. An ask that waits in the mailbox, or in an inbound delay, gets `Stopped`, which was not handled. Interceptors see the same errors.",
        "A caller that mistakes a half-done payment for a payment that never began pays twice.",
        body!(killed),
    ),
    Rule::must(
        "REPEAT-02",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling), (Topic::Ask, State::Handling)],
        "`Timeout` and `Cancelled` say that the message may have been handled if a handler has received it, also if that handler was aborted. They say that it was not handled if the ask was never sent, waited for its outbound delay, or was withdrawn from the mailbox or from the queue of senders waiting for room.",
        "An ask that was given up in the queue can be repeated; one whose handler runs cannot.",
        body!(given_up),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "REPEAT-03",
        Topic::Ask,
        &[(Topic::Ask, State::Handling), (Topic::Failure, State::Handling), (Topic::Panic, State::Handling)],
        "`Failed`, `Panicked` and `NoReply` from a handler may have been handled, and so may an ask whose interceptor panicked or dropped it after the handler. A refusal by the mailbox, or by an interceptor before the handler, was not handled.",
        "The error alone tells the caller whether it is safe to ask again.",
        body!(answered),
    ),
    Rule::must(
        "REPEAT-04",
        Topic::Later,
        &[(Topic::Later, State::Handling), (Topic::Later, State::Dead)],
        "An ask that a handler forwarded or stashed may have been handled, whatever happens to it afterwards, and `Retry` does not repeat it by default. `Retry` repeats an ask that was refused before any handler.",
        "The handler that passed the message on may have acted on it.",
        body!(passed_on),
    ),
];

/// The kind of an error, and whether the message may have been handled.
fn told<T: std::fmt::Debug>(answer: Result<T, Error>) -> (ErrorKind, bool) {
    let error = answer.unwrap_err();
    (error.kind(), error.may_have_been_handled())
}

async fn killed(rule: RuleContext) {
    let system = rule.system();
    for (scoped, interceptors) in [(false, 0), (false, 1), (true, 1)] {
        let (journal, gate) = (Journal::new(), Gate::new());
        let mut spawn = system.spawn(ScriptedActor::default());
        for _ in 0..interceptors {
            let recorder = RecordingInterceptor::new("a", &journal);
            spawn = spawn.inbound(if scoped { recorder.scoped() } else { recorder });
        }
        let scripted = spawn.await.unwrap();
        let held = scripted.ask(wait_at(&gate)).enqueue().unwrap();
        rule.soon("the handler runs", gate.reached()).await;
        let queued = scripted.ask(reply_with(1)).enqueue().unwrap();
        scripted.kill();
        let held = rule.soon("the asker of the dropped handler is answered", held).await;
        assert_eq!(told(held), (ErrorKind::Interrupted, true), "{scoped} {interceptors}");
        let queued = rule.soon("the queued asker is answered", queued).await;
        assert_eq!(told(queued), (ErrorKind::Stopped, false), "{scoped} {interceptors}");
        rule.soon("the actor ends", scripted.wait()).await.unwrap();
        assert_eq!(journal.count("a< Interrupted"), interceptors);
        assert_eq!(journal.count("a< Stopped"), 0, "{journal:?}");
    }

    let journal = Journal::new();
    let recorder = RecordingInterceptor::new("a", &journal).always(Verdict::Delay(Duration::from_secs(60)));
    let scripted = system.spawn(ScriptedActor::default()).inbound(recorder).await.unwrap();
    let delayed = scripted.ask(script(|_, _| panic!("it ran"))).enqueue().unwrap();
    rule.soon("the message is delayed", journal.wait_for("a>")).await;
    scripted.kill();
    let delayed = rule.soon("the asker is answered", delayed).await;
    assert_eq!(told(delayed), (ErrorKind::Stopped, false));
    rule.soon("the actor ends", scripted.wait()).await.unwrap();
    assert_eq!(journal.entries(), ["a>", "a< Stopped"]);
}

const SECOND: Duration = Duration::from_secs(1);

async fn given_up(mut rule: RuleContext) {
    let system = rule.system();
    let scripted = system.spawn(ScriptedActor::default()).bounded(1, Overflow::Block).await.unwrap();
    let never = || script(|_, _| panic!("it ran"));
    let past = Instant::now();
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    assert_eq!(told(scripted.ask(never()).deadline(past).await), (ErrorKind::Timeout, false));
    assert_eq!(told(scripted.ask(never()).deadline(past).enqueue()), (ErrorKind::Timeout, false));
    assert_eq!(told(scripted.ask(never()).cancel(cancelled.clone()).await), (ErrorKind::Cancelled, false));

    let slow = scripted
        .outbound(RecordingInterceptor::new("a", &Journal::new()).always(Verdict::Delay(60 * SECOND)));
    let start = Instant::now();
    let waiting = tokio::spawn(async move { slow.ask(never()).timeout(SECOND).await });
    tokio::task::yield_now().await;
    rule.clock().advance(SECOND).await;
    assert_eq!(told(waiting.await.unwrap()), (ErrorKind::Timeout, false));
    assert!(start.elapsed() < 60 * SECOND, "the ask had not been sent");

    for cancels in [false, true] {
        let (gate, token) = (Gate::new(), CancellationToken::new());
        let kind = if cancels { ErrorKind::Cancelled } else { ErrorKind::Timeout };
        let limited = |ask: dactor_core::Ask<'_, _>| {
            let ask = if cancels { ask.cancel(token.clone()) } else { ask.timeout(SECOND) };
            ask.enqueue().unwrap()
        };
        let running = limited(scripted.ask(wait_at(&gate)));
        gate.reached().await;
        let [queued, waiting_for_room] = [(); 2].map(|()| limited(scripted.ask(never())));
        token.cancel();
        rule.clock().advance(SECOND).await;
        assert_eq!(told(running.await), (kind, true), "in its handler");
        assert_eq!(told(queued.await), (kind, false), "in the mailbox");
        assert_eq!(told(waiting_for_room.await), (kind, false), "waiting for room");
        gate.open();
        assert_eq!(scripted.ask(reply_with(1)).await.unwrap(), 1);
    }

    let (gate, token) = (Gate::new(), CancellationToken::new());
    let aborted = scripted.ask(Abortable(wait_at(&gate))).cancel(token.clone()).enqueue().unwrap();
    gate.reached().await;
    token.cancel();
    assert_eq!(
        told(aborted.await),
        (ErrorKind::Cancelled, true),
        "an aborted handler has received the message"
    );
}

async fn answered(rule: RuleContext) {
    let system = rule.system();
    let scripted = system.spawn(ScriptedActor::default).await.unwrap();
    let failed = rule.soon("the handler fails", scripted.ask(script(|_, _| Err(Failure::new("no"))))).await;
    assert_eq!(told(failed), (ErrorKind::Failed, true));
    let kept = scripted.ask(defer_reply()).enqueue().unwrap();
    let forget = script(|scripted, _| {
        scripted.deferred.clear();
        Ok(0)
    });
    rule.soon("the deferred reply is dropped", scripted.ask(forget)).await.unwrap();
    assert_eq!(told(rule.soon("the ask is answered", kept).await), (ErrorKind::NoReply, true));
    let panicked = rule.soon("the handler panics", scripted.ask(script(|_, _| panic!("bang")))).await;
    assert_eq!(told(panicked), (ErrorKind::Panicked, true));

    let refusals: [(Verdict, ErrorKind); 3] = [
        (Verdict::Drop, ErrorKind::Dropped),
        (Verdict::Reject("no".into()), ErrorKind::Rejected),
        (Verdict::Retry(Duration::ZERO), ErrorKind::RetryLater),
    ];
    for (verdict, kind) in refusals {
        let recorder = || RecordingInterceptor::new("a", &Journal::new()).always(verdict.clone());
        let out = scripted.outbound(recorder());
        assert_eq!(told(rule.soon("the message is refused", out.ask(reply_with(1))).await), (kind, false));
        let inside = system.spawn(ScriptedActor::default()).inbound(recorder()).await.unwrap();
        assert_eq!(told(rule.soon("the message is refused", inside.ask(reply_with(1))).await), (kind, false));
    }

    let breaks = || RecordingInterceptor::new("a", &Journal::new()).decide(|_| panic!("before"));
    let ends = || RecordingInterceptor::new("a", &Journal::new()).on_end(|_| panic!("behind"));
    for (recorder, handled) in [(breaks(), false), (ends(), true)] {
        let expected = (ErrorKind::InterceptorPanicked, handled);
        let out = scripted.outbound(recorder.clone());
        assert_eq!(told(rule.soon("the ask is answered", out.ask(reply_with(1))).await), expected);
        let inside = system.spawn(ScriptedActor::default()).inbound(recorder).await.unwrap();
        assert_eq!(told(rule.soon("the ask is answered", inside.ask(reply_with(1))).await), expected);
    }

    scripted.stop();
    rule.soon("the actor ends", scripted.wait()).await.unwrap();
    assert_eq!(
        told(rule.soon("the message is refused", scripted.ask(reply_with(1))).await),
        (ErrorKind::Stopped, false)
    );
}

async fn passed_on(rule: RuleContext) {
    let system = rule.system();
    let scripted = system.spawn(ScriptedActor::default()).await.unwrap();
    let gate = Gate::new();
    let full = system.spawn(ScriptedActor::default()).bounded(1, Overflow::Reject).await.unwrap();
    full.tell(wait_at(&gate)).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    full.tell(reply_with(1)).unwrap();

    let asked = Arc::new(AtomicU32::new(0));
    let forward = |to: &ActorRef<ScriptedActor>| {
        let (to, asked) = (to.clone(), asked.clone());
        script(move |_, ctx| {
            asked.fetch_add(1, Ordering::SeqCst);
            ctx.forward(&to, reply_with(1))
        })
    };
    let retry = Retry::default().attempts(3).base(Duration::ZERO);
    let routed = rule.soon("the message is refused", retry.ask(&scripted, || forward(&full))).await;
    assert_eq!((told(routed), asked.load(Ordering::SeqCst)), ((ErrorKind::MailboxFull, true), 1));
    let count = AtomicU32::new(0);
    let direct = retry.ask(&full, || {
        count.fetch_add(1, Ordering::SeqCst);
        reply_with(1)
    });
    let direct = rule.soon("the message is refused", direct).await;
    assert_eq!((told(direct), count.load(Ordering::SeqCst)), ((ErrorKind::MailboxFull, false), 3));

    full.kill();
    rule.soon("the other actor ends", full.wait()).await.unwrap();
    let routed = rule.soon("the message is refused", scripted.ask(forward(&full))).await;
    assert_eq!(told(routed), (ErrorKind::Stopped, true));
    let refusing = RecordingInterceptor::new("a", &Journal::new()).always(Verdict::Reject("no".into()));
    let refusing = system.spawn(ScriptedActor::default()).inbound(refusing).await.unwrap();
    let routed = rule.soon("the message is refused", scripted.ask(forward(&refusing))).await;
    assert_eq!(told(routed), (ErrorKind::Rejected, true));

    let stashed = scripted.ask(script(|_, ctx| ctx.stash(reply_with(1)))).enqueue().unwrap();
    rule.soon("the message is stashed", scripted.ask(reply_with(1))).await.unwrap();
    scripted.stop();
    assert_eq!(told(rule.soon("the asker gets the error", stashed).await), (ErrorKind::Stopped, true));
}
