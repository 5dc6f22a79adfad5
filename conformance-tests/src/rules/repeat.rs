//! What an error says about the message: whether a handler may have had it, and asking again may repeat what it did.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use dactor_core::interceptors::Retry;
use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Error, ErrorKind, Failure, Overflow, Verdict};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::body;
use super::fixture::{Abortable, Desk, Spy, give, keep, pass, quick};
use crate::{Lab, Pace, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "REPEAT-01",
        Topic::Kill,
        &[(Topic::Kill, State::Handling), (Topic::Ask, State::Killed)],
        "The asker of a handler that a kill drops gets `Interrupted`, which may have been handled; an ask that waits in the mailbox, or in an inbound delay, gets `Stopped`, which was not. Interceptors see the same.",
        "A caller who takes a half-done payment for one that was never begun pays twice.",
        body!(killed),
    ),
    Rule::must(
        "REPEAT-02",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling), (Topic::Ask, State::Handling)],
        "A `Timeout` or `Cancelled` may have been handled when a handler has the message, also an aborted one; not when the ask was never sent, waited for its outbound delay, or was taken back from the mailbox or from the line for room in it.",
        "An ask that was given up in the queue can be repeated; one whose handler runs cannot.",
        body!(given_up),
    )
    .pace(Pace::Driven),
    Rule::must(
        "REPEAT-03",
        Topic::Ask,
        &[(Topic::Ask, State::Handling), (Topic::Failure, State::Handling), (Topic::Panic, State::Handling)],
        "What a handler answers with (`Failed`, `Panicked`, `NoReply`) may have been handled, and so may an ask whose interceptor panicked or dropped it behind the handler; a refusal by the mailbox, or by an interceptor before the handler, was not.",
        "The error alone tells the caller whether it is safe to ask again.",
        body!(answered),
    ),
    Rule::must(
        "REPEAT-04",
        Topic::Later,
        &[(Topic::Later, State::Handling), (Topic::Later, State::Dead)],
        "An ask that a handler forwarded or stashed may have been handled, whatever became of it behind that handler, and `Retry` does not repeat it by default; it repeats a refusal that no handler came before.",
        "The handler that passed the message on may have acted on it.",
        body!(passed_on),
    ),
];

/// What an error tells a caller.
fn told<T: std::fmt::Debug>(answer: Result<T, Error>) -> (ErrorKind, bool) {
    let error = answer.unwrap_err();
    (error.kind(), error.may_have_been_handled())
}

async fn killed(lab: Lab) {
    let system = lab.system();
    for (scoped, interceptors) in [(false, 0), (false, 1), (true, 1)] {
        let (journal, gate) = (Journal::new(), Gate::new());
        let mut spawn = system.spawn(Desk::default());
        for _ in 0..interceptors {
            let spy = Spy::new("a", &journal);
            spawn = spawn.inbound(if scoped { spy.scoped() } else { spy });
        }
        let desk = spawn.await.unwrap();
        let held = desk.ask(pass(&gate)).enqueue().unwrap();
        lab.soon("the handler runs", gate.reached()).await;
        let queued = desk.ask(give(1)).enqueue().unwrap();
        desk.kill();
        let held = lab.soon("the asker of the dropped handler is answered", held).await;
        assert_eq!(told(held), (ErrorKind::Interrupted, true), "{scoped} {interceptors}");
        let queued = lab.soon("the queued asker is answered", queued).await;
        assert_eq!(told(queued), (ErrorKind::Stopped, false), "{scoped} {interceptors}");
        lab.soon("the actor ends", desk.wait()).await.unwrap();
        assert_eq!(journal.count("a< Interrupted"), interceptors);
        assert_eq!(journal.count("a< Stopped"), 0, "{journal:?}");
    }

    let journal = Journal::new();
    let spy = Spy::new("a", &journal).always(Verdict::Delay(Duration::from_secs(60)));
    let desk = system.spawn(Desk::default()).inbound(spy).await.unwrap();
    let delayed = desk.ask(quick(|_, _| panic!("it ran"))).enqueue().unwrap();
    lab.soon("it waits", journal.wait_for("a>")).await;
    desk.kill();
    let delayed = lab.soon("the asker is answered", delayed).await;
    assert_eq!(told(delayed), (ErrorKind::Stopped, false));
    lab.soon("the actor ends", desk.wait()).await.unwrap();
    assert_eq!(journal.entries(), ["a>", "a< Stopped"]);
}

const SECOND: Duration = Duration::from_secs(1);

async fn given_up(mut lab: Lab) {
    let system = lab.system();
    let desk = system.spawn(Desk::default()).bounded(1, Overflow::Block).await.unwrap();
    let never = || quick(|_, _| panic!("it ran"));
    let past = Instant::now();
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    assert_eq!(told(desk.ask(never()).deadline(past).await), (ErrorKind::Timeout, false));
    assert_eq!(told(desk.ask(never()).deadline(past).enqueue()), (ErrorKind::Timeout, false));
    assert_eq!(told(desk.ask(never()).cancel(cancelled.clone()).await), (ErrorKind::Cancelled, false));

    let slow = desk.outbound(Spy::new("a", &Journal::new()).always(Verdict::Delay(60 * SECOND)));
    let start = Instant::now();
    let waiting = tokio::spawn(async move { slow.ask(never()).timeout(SECOND).await });
    tokio::task::yield_now().await;
    lab.clock().advance(SECOND).await;
    assert_eq!(told(waiting.await.unwrap()), (ErrorKind::Timeout, false));
    assert!(start.elapsed() < 60 * SECOND, "the ask had not been sent");

    for cancels in [false, true] {
        let (gate, token) = (Gate::new(), CancellationToken::new());
        let kind = if cancels { ErrorKind::Cancelled } else { ErrorKind::Timeout };
        let limited = |ask: dactor_core::Ask<'_, _>| {
            let ask = if cancels { ask.cancel(token.clone()) } else { ask.timeout(SECOND) };
            ask.enqueue().unwrap()
        };
        let running = limited(desk.ask(pass(&gate)));
        gate.reached().await;
        let [queued, in_line] = [(); 2].map(|()| limited(desk.ask(never())));
        token.cancel();
        lab.clock().advance(SECOND).await;
        assert_eq!(told(running.await), (kind, true), "in its handler");
        assert_eq!(told(queued.await), (kind, false), "in the mailbox");
        assert_eq!(told(in_line.await), (kind, false), "in line");
        gate.open();
        assert_eq!(desk.ask(give(1)).await.unwrap(), 1);
    }

    let (gate, token) = (Gate::new(), CancellationToken::new());
    let aborted = desk.ask(Abortable(pass(&gate))).cancel(token.clone()).enqueue().unwrap();
    gate.reached().await;
    token.cancel();
    assert_eq!(told(aborted.await), (ErrorKind::Cancelled, true), "an aborted handler had begun");
}

async fn answered(lab: Lab) {
    let system = lab.system();
    let desk = system.spawn(Desk::default).await.unwrap();
    let failed = lab.soon("it fails", desk.ask(quick(|_, _| Err(Failure::new("no"))))).await;
    assert_eq!(told(failed), (ErrorKind::Failed, true));
    let kept = desk.ask(keep()).enqueue().unwrap();
    let forget = quick(|desk, _| {
        desk.laters.clear();
        Ok(0)
    });
    lab.soon("it forgets", desk.ask(forget)).await.unwrap();
    assert_eq!(told(lab.soon("it is answered", kept).await), (ErrorKind::NoReply, true));
    let panicked = lab.soon("it panics", desk.ask(quick(|_, _| panic!("bang")))).await;
    assert_eq!(told(panicked), (ErrorKind::Panicked, true));

    let refusals: [(Verdict, ErrorKind); 3] = [
        (Verdict::Drop, ErrorKind::Dropped),
        (Verdict::Reject("no".into()), ErrorKind::Rejected),
        (Verdict::Retry(Duration::ZERO), ErrorKind::RetryLater),
    ];
    for (verdict, kind) in refusals {
        let spy = || Spy::new("a", &Journal::new()).always(verdict.clone());
        let out = desk.outbound(spy());
        assert_eq!(told(lab.soon("it is refused", out.ask(give(1))).await), (kind, false));
        let inside = system.spawn(Desk::default()).inbound(spy()).await.unwrap();
        assert_eq!(told(lab.soon("it is refused", inside.ask(give(1))).await), (kind, false));
    }

    let breaks = || Spy::new("a", &Journal::new()).judge(|_| panic!("before"));
    let ends = || Spy::new("a", &Journal::new()).witness(|_| panic!("behind"));
    for (spy, handled) in [(breaks(), false), (ends(), true)] {
        let expected = (ErrorKind::InterceptorPanicked, handled);
        let out = desk.outbound(spy.clone());
        assert_eq!(told(lab.soon("it is answered", out.ask(give(1))).await), expected);
        let inside = system.spawn(Desk::default()).inbound(spy).await.unwrap();
        assert_eq!(told(lab.soon("it is answered", inside.ask(give(1))).await), expected);
    }

    desk.stop();
    lab.soon("the actor ends", desk.wait()).await.unwrap();
    assert_eq!(told(lab.soon("it is refused", desk.ask(give(1))).await), (ErrorKind::Stopped, false));
}

async fn passed_on(lab: Lab) {
    let system = lab.system();
    let desk = system.spawn(Desk::default()).await.unwrap();
    let gate = Gate::new();
    let full = system.spawn(Desk::default()).bounded(1, Overflow::Reject).await.unwrap();
    full.tell(pass(&gate)).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    full.tell(give(1)).unwrap();

    let asked = Arc::new(AtomicU32::new(0));
    let forward = |to: &ActorRef<Desk>| {
        let (to, asked) = (to.clone(), asked.clone());
        quick(move |_, ctx| {
            asked.fetch_add(1, Ordering::SeqCst);
            ctx.forward(&to, give(1))
        })
    };
    let retry = Retry::default().attempts(3).base(Duration::ZERO);
    let routed = lab.soon("it is refused", retry.ask(&desk, || forward(&full))).await;
    assert_eq!((told(routed), asked.load(Ordering::SeqCst)), ((ErrorKind::MailboxFull, true), 1));
    let count = AtomicU32::new(0);
    let direct = retry.ask(&full, || {
        count.fetch_add(1, Ordering::SeqCst);
        give(1)
    });
    let direct = lab.soon("it is refused", direct).await;
    assert_eq!((told(direct), count.load(Ordering::SeqCst)), ((ErrorKind::MailboxFull, false), 3));

    full.kill();
    lab.soon("the other one ends", full.wait()).await.unwrap();
    let routed = lab.soon("it is refused", desk.ask(forward(&full))).await;
    assert_eq!(told(routed), (ErrorKind::Stopped, true));
    let refusing = Spy::new("a", &Journal::new()).always(Verdict::Reject("no".into()));
    let refusing = system.spawn(Desk::default()).inbound(refusing).await.unwrap();
    let routed = lab.soon("it is refused", desk.ask(forward(&refusing))).await;
    assert_eq!(told(routed), (ErrorKind::Rejected, true));

    let stashed = desk.ask(quick(|_, ctx| ctx.stash(give(1)))).enqueue().unwrap();
    lab.soon("it is stashed", desk.ask(give(1))).await.unwrap();
    desk.stop();
    assert_eq!(told(lab.soon("the asker is told", stashed).await), (ErrorKind::Stopped, true));
}
