//! Forwarded messages.

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{
    Actor, ActorRef, Context, Directive, ErrorKind, Failure, Handler, Message, Outcome, Overflow, Verdict,
};
use tokio_util::sync::CancellationToken;

use super::{TextRequest, answer_deferred};
use crate::fixtures::header::Tag;
use crate::fixtures::interceptor::RecordingInterceptor;
use crate::fixtures::scripted::{
    Script, ScriptedActor, async_script, defer_reply, note, reply_with, script, wait_at,
};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "LATER-10",
        Topic::Later,
        &[(Topic::Later, State::Idle)],
        "A forwarded message is answered to the original asker, across any number of actors and also with a deferred reply; it keeps the headers, the deadline and the cancellation of the ask. A told message stays a told message.",
        "An actor can hand a message over and forget it.",
        body!(forwarded),
    ),
    Rule::must(
        "LATER-11",
        Topic::Later,
        &[(Topic::Later, State::Dead), (Topic::Later, State::Handling)],
        "A forward that the other actor refuses answers the asker with that error; a forward with a different reply type fails with `Unsupported`; a forward that waits when the other actor ends gets `Stopped`; a forward whose asker gave up is skipped.",
        "The asker is answered wherever its message is.",
        body!(misdirected),
    ),
    Rule::must(
        "LATER-13",
        Topic::Later,
        &[(Topic::Later, State::Dead), (Topic::Later, State::Handling)],
        "A forward to an actor that has ended, is full or sheds load, or that an interceptor of the reference refuses, becomes one dead letter; an asker gets that error, which names the other actor. The forwarding actor has not failed, and its `on_error` does not run.",
        "A router must not fail with the actors behind it, and each refusal is reported once.",
        body!(refused),
    ),
    Rule::must(
        "LATER-14",
        Topic::Later,
        &[(Topic::Later, State::Handling)],
        "A forward to a full mailbox with `Overflow::Block` waits for room, told or asked, in FIFO order; it becomes a dead letter when the other actor ends first.",
        "A told message is treated like an asked one.",
        body!(in_line),
    ),
];

/// A handler that forwards its message.
fn forward(to: &ActorRef<ScriptedActor>, message: Script) -> Script {
    let to = to.clone();
    script(move |_, ctx| ctx.forward(&to, message))
}

async fn forwarded(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let mut actors = Vec::new();
    for _ in 0..3 {
        actors.push(system.spawn(ScriptedActor::default()).await.unwrap());
    }
    let over_all = |message| forward(&actors[1], forward(&actors[2], message));
    let looks = |gate: &Gate| {
        let (journal, gate) = (journal.clone(), gate.clone());
        async_script(move |_, ctx| {
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
    let asked = actors[0].ask(over_all(looks(&gate))).header(Tag(5)).timeout(hour).with_headers();
    let (reply, headers) = rule.soon("the last actor answers", asked).await.unwrap();
    assert_eq!((reply, headers.get::<Tag>()), (7, Some(&Tag(8))));
    actors[0].header(Tag(6)).tell(over_all(looks(&gate))).unwrap();
    rule.soon("the told message is handled", journal.wait_for("Some(6) false false")).await;
    assert_eq!(journal.entries(), ["Some(5) true false", "Some(6) false false"]);

    let (gate, token) = (Gate::new(), CancellationToken::new());
    let asked = actors[0].ask(over_all(looks(&gate))).cancel(token.clone()).enqueue().unwrap();
    rule.soon("the last handler runs", gate.reached()).await;
    token.cancel();
    assert_eq!(rule.soon("the ask fails", asked).await.unwrap_err().kind(), ErrorKind::Cancelled);
    rule.soon("the last handler observes the cancellation", journal.wait_for("gone")).await;
    gate.open();

    let asked = actors[0].ask(over_all(defer_reply())).enqueue().unwrap();
    for scripted in &actors {
        rule.soon("the actor continues", scripted.ask(reply_with(1))).await.unwrap();
    }
    rule.soon("the last actor sends the reply", actors[2].ask(answer_deferred(4))).await.unwrap();
    assert_eq!(rule.soon("the asker is answered", asked).await.unwrap(), 4);
    let fails = script(|_, _| Err(Failure::new("no")));
    let error = rule.soon("the asker gets the error", actors[0].ask(over_all(fails))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Failed);
    assert!(format!("{error:#}").contains("no"), "{error}");
}

async fn misdirected(rule: RuleContext) {
    let (gate, system) = (Gate::new(), rule.system());
    let scripted = system.spawn(ScriptedActor::default()).name("d").await.unwrap();
    let other = system.spawn(ScriptedActor::default()).name("o").await.unwrap();
    let to = other.clone();
    let wrong = script(move |_, ctx| ctx.forward(&to, TextRequest).map(|_| 0));
    let error = rule.soon("the asker gets the error", scripted.ask(wrong)).await.unwrap_err();
    let because =
        std::error::Error::source(&error).and_then(|source| source.downcast_ref::<dactor_core::Error>());
    assert_eq!(because.map(|error| error.kind()), Some(ErrorKind::Unsupported), "{error:?}");

    other.tell(wait_at(&gate)).unwrap();
    rule.soon("the other actor is busy", gate.reached()).await;
    let token = CancellationToken::new();
    let never = script(|_, _| panic!("it ran"));
    let cancelled = scripted.ask(forward(&other, never)).cancel(token.clone()).enqueue().unwrap();
    rule.soon("the message is forwarded", scripted.ask(reply_with(1))).await.unwrap();
    token.cancel();
    assert_eq!(rule.soon("the ask fails", cancelled).await.unwrap_err().kind(), ErrorKind::Cancelled);
    gate.open();
    assert_eq!(rule.soon("the other actor continues", other.ask(reply_with(2))).await.unwrap(), 2);

    let gate = Gate::new();
    other.tell(wait_at(&gate)).unwrap();
    rule.soon("the other actor is busy", gate.reached()).await;
    let waiting = scripted.ask(forward(&other, reply_with(3))).enqueue().unwrap();
    rule.soon("the message is forwarded", scripted.ask(reply_with(1))).await.unwrap();
    other.kill();
    let error = rule.soon("the asker gets the error", waiting).await.unwrap_err();
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Stopped, Some("pekko://test/user/o")));
    rule.soon("the other actor ends", other.wait()).await.unwrap();
    let error = rule
        .soon("the asker gets the error", scripted.ask(forward(&other, reply_with(4))))
        .await
        .unwrap_err();
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Stopped, Some("pekko://test/user/o")));
    assert_eq!(rule.soon("the actor continues", scripted.ask(reply_with(1))).await.unwrap(), 1);
}

/// Forwards its messages and stops when it fails.
struct Router(ActorRef<ScriptedActor>);

impl Actor for Router {
    async fn on_error(&mut self, _: &Failure, _: &mut Context<Self>) -> Directive {
        Directive::Stop
    }
}

/// A message to be forwarded.
struct Task(Script);

impl Message for Task {
    type Reply = u32;
    type Access = dactor_core::Exclusive;
}

/// Answered when all earlier messages have been handled.
struct Ping;

impl Message for Ping {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

impl Handler<Ping> for Router {
    async fn handle(&mut self, Ping: Ping, _: &mut Context<Self>) -> Outcome<()> {
        Ok(())
    }
}

impl Handler<Task> for Router {
    async fn handle(&mut self, Task(inner): Task, ctx: &mut Context<Self>) -> Outcome<u32> {
        ctx.forward(&self.0, inner)
    }
}

async fn refused(rule: RuleContext) {
    for (name, expected) in [
        ("ended", ErrorKind::Stopped),
        ("full", ErrorKind::MailboxFull),
        ("refused", ErrorKind::Rejected),
        ("delayed", ErrorKind::Unsupported),
    ] {
        let (gate, (system, events)) = (Gate::new(), rule.system_with_events());
        let target =
            system.spawn(ScriptedActor::default()).name("o").bounded(1, Overflow::Reject).await.unwrap();
        let mut to = target.clone();
        let verdict = |verdict| RecordingInterceptor::new("a", &Journal::new()).always(verdict);
        match name {
            "ended" => {
                target.stop();
                rule.soon("the watched actor ends", target.wait()).await.unwrap();
            }
            "full" => {
                target.tell(wait_at(&gate)).unwrap();
                rule.soon("the target is busy", gate.reached()).await;
                target.tell(reply_with(0)).unwrap();
            }
            "refused" => to = target.outbound(verdict(Verdict::Reject("no".into()))),
            _ => to = target.outbound(verdict(Verdict::Delay(std::time::Duration::from_secs(1)))),
        }
        let router = system.spawn(Router(to)).name("r").await.unwrap();
        router.tell(Task(reply_with(1))).unwrap();
        let error = rule.soon("the asker gets the error", router.ask(Task(reply_with(2)))).await.unwrap_err();
        assert_eq!((error.kind(), error.get("actor")), (expected, Some("pekko://test/user/o")), "{name}");
        rule.soon("the router continues", router.ask(Task(reply_with(3)))).await.unwrap_err();
        assert!(router.is_alive() == Some(true), "{name}: the router has not failed");
        assert_eq!(events.journal().entries(), ["dead Script"; 3], "{name}: told, asked and asked");
        assert!(events.errors().iter().all(|error| error.kind() == expected), "{name}");
        assert_eq!(events.actors(), ["pekko://test/user/o"; 3], "{name}");
        assert_eq!(system.dead_letter_count(), 3, "{name}");
        gate.open();
    }
}

async fn in_line(rule: RuleContext) {
    let (journal, gate, (system, events)) = (Journal::new(), Gate::new(), rule.system_with_events());
    let target = system.spawn(ScriptedActor::default()).bounded(1, Overflow::Block).await.unwrap();
    let router = system.spawn(Router(target.clone())).await.unwrap();
    target.tell(wait_at(&gate)).unwrap();
    rule.soon("the target is busy", gate.reached()).await;
    target.tell(note(&journal, 1)).unwrap();
    router.tell(Task(note(&journal, 2))).unwrap();
    let asked = router.ask(Task(note(&journal, 3))).enqueue().unwrap();
    router.tell(Task(note(&journal, 4))).unwrap();
    let last = router.ask(Task(reply_with(5))).enqueue().unwrap();
    gate.open();
    rule.soon("the asked message is handled", asked).await.unwrap();
    assert_eq!(rule.soon("the last message is handled", last).await.unwrap(), 5);
    assert_eq!(journal.entries(), ["1", "2", "3", "4"]);
    assert_eq!(events.journal().entries(), [""; 0]);

    let gate = Gate::new();
    target.tell(wait_at(&gate)).unwrap();
    rule.soon("the target is busy", gate.reached()).await;
    target.tell(reply_with(0)).unwrap();
    router.tell(Task(reply_with(1))).unwrap();
    let asked = router.ask(Task(reply_with(2))).enqueue().unwrap();
    rule.soon("both are forwarded", router.ask(Ping)).await.unwrap();
    target.kill();
    let error = rule.soon("the asker gets the error", asked).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stopped);
    rule.soon("the watched actor ends", target.wait()).await.unwrap();
    assert_eq!(events.journal().entries(), ["dead Script"; 3], "one message was queued, two waited for room");
    assert!(router.is_alive() == Some(true));
}
