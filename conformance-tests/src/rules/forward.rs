//! Messages that an actor hands over, and what it pipes to itself.

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, ErrorKind, Failure};
use tokio_util::sync::CancellationToken;

use super::body;
use super::fixture::{Desk, Do, Tag, give, job, keep, pass, quick};
use super::later::{Words, settle};
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "LATER-10",
        Topic::Later,
        &[(Topic::Later, State::Idle)],
        "A forwarded message is answered to the first asker, over any number of actors and also later, with the headers, the deadline and the cancellation of the ask; one that was told is told.",
        "An actor can hand work over and forget it.",
        body!(forwarded),
    ),
    Rule::must(
        "LATER-11",
        Topic::Later,
        &[(Topic::Later, State::Dead), (Topic::Later, State::Handling)],
        "A forward that the other actor refuses is its error for the asker; one with a reply of another type fails because of `Unsupported`; one that waits when the other actor ends is `Stopped`; one whose asker gave up is skipped.",
        "Wherever a question is, its asker is answered.",
        body!(misdirected),
    ),
    Rule::must(
        "LATER-12",
        Topic::Later,
        &[(Topic::Later, State::Starting), (Topic::Later, State::Idle)],
        "What an actor pipes to itself, from `on_start` or a handler, comes back as a message, each when it is ready, and the actor handles messages meanwhile.",
        "Waiting for the world must not stop an actor.",
        body!(piped),
    ),
];

/// A handler that hands its message over.
fn forward(to: &ActorRef<Desk>, message: Do) -> Do {
    let to = to.clone();
    quick(move |_, ctx| ctx.forward(&to, message))
}

async fn forwarded(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let mut desks = Vec::new();
    for _ in 0..3 {
        desks.push(system.spawn(Desk::default()).await.unwrap());
    }
    let over_all = |message| forward(&desks[1], forward(&desks[2], message));
    let looks = |gate: &Gate| {
        let (journal, gate) = (journal.clone(), gate.clone());
        job(move |_, ctx| {
            Box::pin(async move {
                let tag = ctx.headers().get::<Tag>().map(|tag| tag.0);
                journal.note(format!("{tag:?} {} {}", ctx.deadline().is_some(), ctx.is_cancelled()));
                ctx.set_reply_header(Tag(8));
                tokio::select! {
                    () = ctx.cancelled() => {
                        journal.note("gone");
                        gate.pass().await;
                    }
                    () = gate.pass() => {}
                }
                Ok(7)
            })
        })
    };
    gate.open();
    let hour = std::time::Duration::from_secs(3600);
    let asked = desks[0].ask(over_all(looks(&gate))).header(Tag(5)).timeout(hour).with_headers();
    let (reply, headers) = lab.soon("the last one answers", asked).await.unwrap();
    assert_eq!((reply, headers.get::<Tag>()), (7, Some(&Tag(8))));
    desks[0].header(Tag(6)).tell(over_all(looks(&gate))).unwrap();
    lab.soon("the told one arrives", journal.wait_for("Some(6) false false")).await;
    assert_eq!(journal.entries(), ["Some(5) true false", "Some(6) false false"]);

    let (gate, token) = (Gate::new(), CancellationToken::new());
    let asked = desks[0].ask(over_all(looks(&gate))).cancel(token.clone()).enqueue().unwrap();
    lab.soon("the last one works", gate.reached()).await;
    token.cancel();
    assert_eq!(lab.soon("the asker is free", asked).await.unwrap_err().kind(), ErrorKind::Cancelled);
    lab.soon("the last one sees it", journal.wait_for("gone")).await;
    gate.open();

    let asked = desks[0].ask(over_all(keep())).enqueue().unwrap();
    for desk in &desks {
        lab.soon("the actor goes on", desk.ask(give(1))).await.unwrap();
    }
    lab.soon("the last one settles", desks[2].ask(settle(4))).await.unwrap();
    assert_eq!(lab.soon("the asker is answered", asked).await.unwrap(), 4);
    let fails = quick(|_, _| Err(Failure::new("no")));
    let error = lab.soon("the asker is told", desks[0].ask(over_all(fails))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Failed);
    assert!(format!("{error:#}").contains("no"), "{error}");
}

async fn misdirected(lab: Lab) {
    let (gate, system) = (Gate::new(), lab.system());
    let desk = system.spawn(Desk::default()).name("d").await.unwrap();
    let other = system.spawn(Desk::default()).name("o").await.unwrap();
    let to = other.clone();
    let wrong = quick(move |_, ctx| ctx.forward(&to, Words).map(|_| 0));
    let error = lab.soon("the asker is told", desk.ask(wrong)).await.unwrap_err();
    let because =
        std::error::Error::source(&error).and_then(|source| source.downcast_ref::<dactor_core::Error>());
    assert_eq!(because.map(|error| error.kind()), Some(ErrorKind::Unsupported), "{error:?}");

    other.tell(pass(&gate)).unwrap();
    lab.soon("the other one is busy", gate.reached()).await;
    let token = CancellationToken::new();
    let never = quick(|_, _| panic!("it ran"));
    let cancelled = desk.ask(forward(&other, never)).cancel(token.clone()).enqueue().unwrap();
    lab.soon("it is forwarded", desk.ask(give(1))).await.unwrap();
    token.cancel();
    assert_eq!(lab.soon("the asker is free", cancelled).await.unwrap_err().kind(), ErrorKind::Cancelled);
    gate.open();
    assert_eq!(lab.soon("the other one goes on", other.ask(give(2))).await.unwrap(), 2);

    let gate = Gate::new();
    other.tell(pass(&gate)).unwrap();
    lab.soon("the other one is busy", gate.reached()).await;
    let waiting = desk.ask(forward(&other, give(3))).enqueue().unwrap();
    lab.soon("it is forwarded", desk.ask(give(1))).await.unwrap();
    other.kill();
    let error = lab.soon("the asker is told", waiting).await.unwrap_err();
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Stopped, Some("pekko://lab/user/o")));
    lab.soon("the other one ends", other.wait()).await.unwrap();
    let error = lab.soon("the asker is told", desk.ask(forward(&other, give(4)))).await.unwrap_err();
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Stopped, Some("pekko://lab/user/o")));
    assert_eq!(lab.soon("the actor goes on", desk.ask(give(1))).await.unwrap(), 1);
}

/// Pipes a note to itself, when the gate opens.
fn pipes(journal: &Journal, gate: &Gate, text: &'static str) -> Do {
    let (journal, gate) = (journal.clone(), gate.clone());
    quick(move |_, ctx| {
        ctx.pipe(async move {
            gate.pass().await;
            quick(move |_, ctx| {
                journal.note(format!("{text} {}", ctx.is_cancelled()));
                Ok(0)
            })
        });
        Ok(0)
    })
}

async fn piped(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let gates = [Gate::new(), Gate::new(), Gate::new()];
    let desk = Desk::default().on_start(pipes(&journal, &gates[0], "start"));
    let desk = system.spawn(desk).await.unwrap();
    lab.soon("it is handled", desk.ask(pipes(&journal, &gates[1], "first"))).await.unwrap();
    desk.tell(pipes(&journal, &gates[2], "second")).unwrap();
    for (gate, text) in [(2, "second false"), (0, "start false"), (1, "first false")] {
        lab.soon("it is awaited", gates[gate].reached()).await;
        assert_eq!(lab.soon("the actor goes on", desk.ask(give(1))).await.unwrap(), 1);
        gates[gate].open();
        lab.soon("it comes back", journal.wait_for(text)).await;
    }
    assert_eq!(journal.entries(), ["second false", "start false", "first false"]);
}
