//! Askers who do not want the answer any more, and how long they wanted it.

use std::time::Duration;

use dactor_core::ErrorKind;
use dactor_core::testkit::{Gate, Journal};
use tokio_util::sync::CancellationToken;

use super::body;
use super::fixture::{Abortable, Busy, Desk, Do, End, Guard, Spy, give, job, pass, quick};
use crate::{Capability, Lab, Pace, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "CANCEL-01",
        Topic::Cancel,
        &[(Topic::Cancel, State::Idle), (Topic::Cancel, State::Handling)],
        "An ask that is cancelled before its message is handled fails with `Cancelled` at once, naming actor and message; the message is skipped, seen by no interceptor, and is no dead letter.",
        "Nobody works for an asker who does not want the answer.",
        body!(before),
    ),
    Rule::must(
        "CANCEL-02",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling)],
        "An ask that is cancelled while its handler runs fails with `Cancelled` at once; the handler sees it, may finish, and its reply is a dead letter. One that is dropped is seen the same way, one that was told never.",
        "The asker is free, and the handler can save its work or leave it.",
        body!(during),
    ),
    Rule::must(
        "CANCEL-03",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling)],
        "The handler of a message that says so is dropped at its await when its asker cancels or drops the ask, and the actor goes on with its state; of another message it is not.",
        "Work that can be left is left.",
        body!(aborts),
    ),
    Rule::must(
        "CANCEL-04",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling)],
        "A handler that completes in the poll in which its asker cancels has completed: its reply is given, its failure handled.",
        "What has been done is not undone.",
        body!(same_poll),
    )
    .pace(Pace::OneThread),
    Rule::must(
        "CANCEL-05",
        Topic::Cancel,
        &[(Topic::Cancel, State::Starting)],
        "An ask that is cancelled while the actor starts fails at once, and is skipped when it has started.",
        "A slow start is when askers give up.",
        body!(starting),
    ),
    Rule::must(
        "CANCEL-06",
        Topic::Cancel,
        &[(Topic::Cancel, State::Stopping), (Topic::Cancel, State::Dead)],
        "An ask with a deadline and a token to an actor that stops or has ended fails with `Stopped` at once.",
        "Patience does not help where nobody will answer.",
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
        "An asker with a deadline and a token is answered when the actor ends, as any other, and a cancellation after that changes nothing.",
        "Patience is no promise to wait.",
        body!(ends),
    ),
    Rule::must(
        "CANCEL-08",
        Topic::Cancel,
        &[(Topic::Cancel, State::NativeStop)],
        "The same holds for a native stop.",
        "The native end is an end like any other.",
        body!(native_stop),
    )
    .needs(Capability::NativeStop)
    .spi(&["ignores-stop"]),
    Rule::must(
        "CANCEL-09",
        Topic::Cancel,
        &[(Topic::Cancel, State::NativeKill)],
        "The same holds for a native kill.",
        "The native end is an end like any other.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "keeps-cell-after-kill"]),
    Rule::must(
        "CANCEL-10",
        Topic::Cancel,
        &[(Topic::Cancel, State::RuntimeDropped)],
        "The same holds when the runtime of the actor is dropped.",
        "The native end is an end like any other.",
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

/// A handler that must not run.
pub(super) fn never() -> Do {
    quick(|_, _| panic!("it ran"))
}

async fn before(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let desk = system.spawn(Desk::default()).name("d").inbound(Spy::new("a", &journal)).await.unwrap();
    let error = lab.soon("it is over", desk.ask(never()).cancel(cancelled())).await.unwrap_err();
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Cancelled, Some("pekko://lab/user/d")));
    assert_eq!(error.get("message"), Some(std::any::type_name::<Do>()));
    desk.tell(pass(&gate)).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    let token = CancellationToken::new();
    let (asker, cancel) = (desk.clone(), token.clone());
    let asked = tokio::spawn(async move { asker.ask(never()).cancel(cancel).await });
    let enqueued = desk.ask(never()).cancel(token.clone()).enqueue().unwrap();
    let unread = desk.recipient().ask(never()).cancel(token.clone()).enqueue().unwrap();
    let untouched = desk.ask(give(3)).cancel(CancellationToken::new()).enqueue().unwrap();
    lab.rest().await;
    token.cancel();
    for error in [lab.soon("it is over", asked).await.unwrap(), lab.soon("it is over", enqueued).await] {
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Cancelled);
    }
    gate.open();
    assert_eq!(lab.soon("the next is handled", untouched).await.unwrap(), 3);
    let error = lab.soon("it is over", unread).await.unwrap_err();
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Cancelled, Some("pekko://lab/user/d")));
    assert_eq!(journal.entries(), ["a>", "a< ok", "a>", "a< ok"]);
    assert_eq!(system.dead_letters(), 0);
}

/// Notes that its asker is gone, and finishes when the gate opens.
pub(super) fn watches(journal: &Journal, gate: &Gate) -> Do {
    let (journal, gate) = (journal.clone(), gate.clone());
    job(move |_, ctx| {
        Box::pin(async move {
            assert!(!ctx.is_cancelled());
            let token = ctx.cancellation();
            let seen = ctx.cancelled();
            tokio::select! {
                () = seen => {
                    journal.note(format!("gone {} {}", ctx.is_cancelled(), token.is_cancelled()));
                    gate.pass().await;
                }
                () = gate.pass() => journal.note(format!("passed {}", ctx.is_cancelled())),
            }
            Ok(1)
        })
    })
}

async fn during(lab: Lab) {
    for spied in [false, true] {
        let (journal, system) = (Journal::new(), lab.system());
        let spawn = system.spawn(Desk::default());
        let spawn = if spied { spawn.inbound(Spy::new("a", &Journal::new())) } else { spawn };
        let desk = spawn.await.unwrap();
        let (gate, token) = (Gate::new(), CancellationToken::new());
        let asked = desk.ask(watches(&journal, &gate)).cancel(token.clone()).enqueue().unwrap();
        lab.soon("the handler runs", gate.reached()).await;
        token.cancel();
        assert_eq!(lab.soon("the asker is free", asked).await.unwrap_err().kind(), ErrorKind::Cancelled);
        lab.soon("the handler sees it", journal.wait_for("gone true true")).await;
        gate.open();
        lab.soon("the actor goes on", desk.ask(give(1))).await.unwrap();
        assert_eq!(system.dead_letters(), 1, "the reply that nobody wanted");

        let gate = Gate::new();
        let asked = desk.ask(watches(&journal, &gate)).enqueue().unwrap();
        lab.soon("the handler runs", gate.reached()).await;
        drop(asked);
        lab.soon("the handler sees it", journal.wait_len(2)).await;
        gate.open();
        lab.soon("the actor goes on", desk.ask(give(1))).await.unwrap();

        let (gate, token) = (Gate::new(), CancellationToken::new());
        desk.tell(watches(&journal, &gate)).unwrap();
        lab.soon("the handler runs", gate.reached()).await;
        gate.open();
        let kept = desk.ask(watches(&journal, &gate)).cancel(token.clone());
        lab.soon("the ask is answered", kept).await.unwrap();
        token.cancel();
        assert_eq!(journal.entries(), ["gone true true", "gone true true", "passed false", "passed false"]);
        assert_eq!(system.dead_letters(), 2);
    }
}

/// Keeps a guard over an await.
pub(super) fn guarded(journal: &Journal, gate: &Gate) -> Do {
    let (journal, gate) = (journal.clone(), gate.clone());
    job(move |desk, _| {
        Box::pin(async move {
            desk.promise = Some(dactor_core::Failure::new("begun"));
            let _guard = Guard(journal.clone(), "left");
            gate.pass().await;
            journal.note("finished");
            Ok(1)
        })
    })
}

async fn aborts(lab: Lab) {
    for spied in [false, true] {
        let (journal, system) = (Journal::new(), lab.system());
        let spawn = system.spawn(Desk::default());
        let spawn = if spied { spawn.inbound(Spy::new("a", &Journal::new())) } else { spawn };
        let desk = spawn.await.unwrap();
        let (gate, token) = (Gate::new(), CancellationToken::new());
        let asked = desk.ask(Abortable(guarded(&journal, &gate))).cancel(token.clone()).enqueue().unwrap();
        lab.soon("the handler runs", gate.reached()).await;
        token.cancel();
        assert_eq!(lab.soon("the asker is free", asked).await.unwrap_err().kind(), ErrorKind::Cancelled);
        lab.soon("the handler is dropped", journal.wait_for("left")).await;
        let asked = desk.ask(Abortable(guarded(&journal, &gate))).enqueue().unwrap();
        lab.soon("the handler runs again", gate.reached_by(2)).await;
        drop(asked);
        lab.soon("the handler is dropped", journal.wait_len(2)).await;
        assert_eq!(system.dead_letters(), 0, "there was no reply");
        let begun = quick(|desk, _| Ok(u32::from(desk.promise.is_some())));
        assert_eq!(lab.soon("the actor goes on", desk.ask(begun)).await.unwrap(), 1, "with its state");

        let unread = desk.ask(Abortable(guarded(&journal, &gate))).cancel(token.clone());
        assert_eq!(lab.soon("it is over", unread).await.unwrap_err().kind(), ErrorKind::Cancelled);
        let told = Gate::new();
        desk.tell(Abortable(guarded(&journal, &told))).unwrap();
        lab.soon("a told one runs", told.reached()).await;
        told.open();
        let (gate, token) = (Gate::new(), CancellationToken::new());
        let asked = desk.ask(guarded(&journal, &gate)).cancel(token.clone()).enqueue().unwrap();
        lab.soon("one that does not say so runs", gate.reached()).await;
        token.cancel();
        lab.soon("the asker is free", asked).await.unwrap_err();
        gate.open();
        lab.soon("the actor goes on", desk.ask(give(1))).await.unwrap();
        assert_eq!(journal.entries(), ["left", "left", "finished", "left", "finished", "left"]);
    }
}

async fn same_poll(lab: Lab) {
    for spied in [false, true] {
        let (system, events) = lab.observed();
        let spawn = system.spawn(Desk::default());
        let spawn = if spied { spawn.inbound(Spy::new("a", &Journal::new())) } else { spawn };
        let desk = spawn.await.unwrap();
        let completes = |token: CancellationToken, outcome: dactor_core::Outcome<u32>| {
            Abortable(job(move |_, _| {
                Box::pin(async move {
                    tokio::task::yield_now().await;
                    token.cancel();
                    outcome
                })
            }))
        };
        let token = CancellationToken::new();
        let asked = desk.ask(completes(token.clone(), Ok(7))).cancel(token);
        assert_eq!(lab.soon("the reply is given", asked).await.unwrap(), 7);
        let token = CancellationToken::new();
        let asked = desk.ask(completes(token.clone(), Err(dactor_core::Failure::new("no")))).cancel(token);
        assert_eq!(lab.soon("the failure is given", asked).await.unwrap_err().kind(), ErrorKind::Failed);
        assert_eq!(events.journal().entries(), [""; 0]);
    }
}

async fn starting(lab: Lab) {
    let (gate, system, token) = (Gate::new(), lab.system(), CancellationToken::new());
    let spawn = system.spawn(Desk::default().on_start(pass(&gate))).name("d");
    let spawned = tokio::spawn(spawn.into_future());
    lab.soon("the actor is in `on_start`", gate.reached()).await;
    let desk = system.get::<Desk>("d").unwrap();
    let asked = desk.ask(never()).cancel(token.clone()).timeout(HOUR).enqueue().unwrap();
    let unread = desk.ask(never()).cancel(token.clone()).enqueue().unwrap();
    let untouched = desk.ask(give(1)).enqueue().unwrap();
    token.cancel();
    assert_eq!(lab.soon("the asker is free", asked).await.unwrap_err().kind(), ErrorKind::Cancelled);
    gate.open();
    lab.soon("the actor starts", spawned).await.unwrap().unwrap();
    assert_eq!(lab.soon("the next is handled", untouched).await.unwrap(), 1);
    assert_eq!(lab.soon("it is over", unread).await.unwrap_err().kind(), ErrorKind::Cancelled);
}

async fn dead(lab: Lab) {
    let (stopping, system) = (Gate::new(), lab.system());
    let desk = system.spawn(Desk::default().on_stop(pass(&stopping))).await.unwrap();
    desk.stop();
    lab.soon("the actor is in `on_stop`", stopping.reached()).await;
    for _ in 0..2 {
        let ask = || desk.ask(never()).timeout(HOUR).cancel(CancellationToken::new());
        assert_eq!(lab.soon("it is over", ask()).await.unwrap_err().kind(), ErrorKind::Stopped);
        assert_eq!(ask().enqueue().unwrap_err().kind(), ErrorKind::Stopped);
        stopping.open();
        lab.soon("the actor ends", desk.wait()).await.unwrap();
    }
}

async fn end(lab: &Lab, end: End) {
    let (system, token) = (lab.system(), CancellationToken::new());
    let desk = system.spawn(Desk::default()).await.unwrap();
    let cancel = token.clone();
    let busy = Busy::new(desk, lab.settings().patience, move |ask| ask.timeout(HOUR).cancel(cancel.clone()));
    let busy = busy.await;
    busy.end(lab, end).await;
    lab.soon("the actor ends", busy.desk.wait()).await.unwrap();
    token.cancel();
    assert_answered(Some(end), &busy.answers(lab).await);
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

async fn ends(lab: Lab) {
    for way in End::OWN {
        end(&lab, way).await;
    }
}

async fn native_stop(lab: Lab) {
    end(&lab, End::NativeStop).await;
}

async fn native_kill(lab: Lab) {
    end(&lab, End::NativeKill).await;
}

async fn runtime_dropped(lab: Lab) {
    let (system, patience, token) = (lab.system(), lab.settings().patience, CancellationToken::new());
    let cancel = token.clone();
    let busy = lab.elsewhere(move || async move {
        let desk = system.spawn(Desk::default()).await.unwrap();
        Busy::new(desk, patience, move |ask| ask.cancel(cancel.clone())).await
    });
    let busy = lab.soon("the runtime is dropped", busy).await;
    lab.soon("the actor ends", busy.desk.wait()).await.unwrap();
    token.cancel();
    assert_answered(None, &busy.answers(&lab).await);
}
