//! Futures that an actor pipes to itself.

use std::future::pending;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Directive, ErrorKind, Overflow, Supervision};

use crate::fixtures::drop_note::DropNote;
use crate::fixtures::scripted::{Script, ScriptedActor, async_script, note, reply_with, script, wait_at};
use crate::fixtures::until;
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "LATER-12",
        Topic::Later,
        &[(Topic::Later, State::Starting), (Topic::Later, State::Idle)],
        "The result of a future that an actor pipes to itself, from `on_start` or a handler, arrives as a message when it is ready, and the actor handles messages meanwhile.",
        "Waiting for I/O must not block an actor.",
        body!(piped),
    ),
    Rule::must(
        "LATER-15",
        Topic::Later,
        &[(Topic::Later, State::Handling)],
        "A piped result needs no room in the actor's own bounded mailbox, whatever the overflow policy, and takes none.",
        "An actor must not be refused the result that it waits for.",
        body!(piped_without_room),
    ),
    Rule::must(
        "LATER-16",
        Topic::Later,
        &[(Topic::Later, State::Idle), (Topic::Later, State::Handling)],
        "A restart drops the piped futures of the old instance; a piped result that is already in the mailbox becomes a dead letter with `Detached`.",
        "A fresh instance did not ask for the result, as with timers and streams.",
        body!(piped_over_restart),
    ),
    Rule::must(
        "LATER-17",
        Topic::Later,
        &[(Topic::Later, State::Idle)],
        "A piped future that panics, in its body or in its destructor, causes one event that names the actor and the message, and the actor continues.",
        "A missing result must not go unnoticed.",
        body!(piped_panics),
    ),
];

/// Pipes a note when the gate opens.
fn pipes_note(journal: &Journal, gate: &Gate, text: &'static str) -> Script {
    let (journal, gate) = (journal.clone(), gate.clone());
    script(move |_, ctx| {
        ctx.pipe(async move {
            gate.pass().await;
            script(move |_, ctx| {
                journal.note(format!("{text} {}", ctx.is_cancelled()));
                Ok(0)
            })
        });
        Ok(0)
    })
}

async fn piped(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let gates = [Gate::new(), Gate::new(), Gate::new()];
    let scripted = ScriptedActor::default().on_start(pipes_note(&journal, &gates[0], "start"));
    let scripted = system.spawn(scripted).await.unwrap();
    rule.soon("the message is handled", scripted.ask(pipes_note(&journal, &gates[1], "first")))
        .await
        .unwrap();
    scripted.tell(pipes_note(&journal, &gates[2], "second")).unwrap();
    for (gate, text) in [(2, "second false"), (0, "start false"), (1, "first false")] {
        rule.soon("the piped future is polled", gates[gate].reached()).await;
        assert_eq!(rule.soon("the actor continues", scripted.ask(reply_with(1))).await.unwrap(), 1);
        gates[gate].open();
        rule.soon("the piped message arrives", journal.wait_for(text)).await;
    }
    assert_eq!(journal.entries(), ["second false", "start false", "first false"]);
}

/// Keeps the actor busy in a handler that waits at the returned gate.
async fn busy(rule: &RuleContext, scripted: &ActorRef<ScriptedActor>) -> Gate {
    let gate = Gate::new();
    scripted.tell(wait_at(&gate)).unwrap();
    rule.soon("the actor is busy", gate.reached()).await;
    gate
}

/// Pipes the message when the gate opens, and notes `given up` if the future is dropped before.
fn pipes(gate: &Gate, journal: &Journal, make: impl FnOnce() -> Script + Send + 'static) -> Script {
    let (gate, journal) = (gate.clone(), journal.clone());
    script(move |_, ctx| {
        ctx.pipe(async move {
            let guard = DropNote(journal, "given up");
            gate.pass().await;
            std::mem::forget(guard);
            make()
        });
        Ok(0)
    })
}

async fn piped_without_room(rule: RuleContext) {
    for overflow in [Overflow::Reject, Overflow::Block, Overflow::DropNewest, Overflow::DropOldest] {
        let (journal, result, (system, events)) = (Journal::new(), Gate::new(), rule.system_with_events());
        let scripted = system.spawn(ScriptedActor::default()).bounded(1, overflow).await.unwrap();
        let notes = journal.clone();
        let piped = pipes(&result, &journal, move || note(&notes, "piped"));
        rule.soon("the handler pipes a future", scripted.ask(piped)).await.unwrap();
        rule.soon("the piped future is polled", result.reached()).await;
        let gate = busy(&rule, &scripted).await;
        scripted.tell(note(&journal, "waits")).unwrap();
        result.open();
        rule.soon("the result is in the mailbox", until(|| scripted.queued() == Some(2))).await;
        gate.open();
        rule.soon("the piped message arrives", journal.wait_for("piped")).await;
        assert_eq!(journal.entries(), ["waits", "piped"], "{overflow:?}");
        assert_eq!(events.journal().entries(), [""; 0], "{overflow:?}");
    }
}

async fn piped_over_restart(rule: RuleContext) {
    let (journal, result, (system, events)) = (Journal::new(), Gate::new(), rule.system_with_events());
    let scripted = system.spawn(ScriptedActor::default).name("d").await.unwrap();
    rule.soon(
        "the handler pipes a future",
        scripted.ask(pipes(&result, &journal, || panic!("the piped message was made"))),
    )
    .await
    .unwrap();
    rule.soon("the piped future is polled", result.reached()).await;
    scripted.tell(script(|_, _| panic!("over"))).unwrap();
    rule.soon("the piped future is dropped", journal.wait_for("given up")).await;
    rule.soon("the actor continues", scripted.ask(reply_with(1))).await.unwrap();
    assert_eq!(events.journal().entries(), ["failed Script", "restarted"]);

    let result = Gate::new();
    let ran = journal.clone();
    rule.soon(
        "the handler pipes a future",
        scripted.ask(pipes(&result, &journal, move || note(&ran, "ran"))),
    )
    .await
    .unwrap();
    rule.soon("the piped future is polled", result.reached()).await;
    let gate = Gate::new();
    let inner = gate.clone();
    let fails = async_script(move |_, _| {
        Box::pin(async move {
            inner.pass().await;
            panic!("over")
        })
    });
    scripted.tell(fails).unwrap();
    rule.soon("the actor is busy", gate.reached()).await;
    result.open();
    rule.soon("the result is in the mailbox", until(|| scripted.queued() == Some(1))).await;
    gate.open();
    rule.soon("the actor continues", scripted.ask(reply_with(1))).await.unwrap();
    assert_eq!(
        events.journal().entries(),
        ["failed Script", "restarted", "failed Script", "restarted", "dead Script"]
    );
    assert_eq!(events.errors().last().unwrap().kind(), ErrorKind::Detached);
    assert_eq!(journal.entries(), ["given up"]);
}

async fn piped_panics(rule: RuleContext) {
    let (journal, open, (system, events)) = (Journal::new(), Gate::new(), rule.system_with_events());
    let scripted = system
        .spawn(ScriptedActor::default())
        .name("d")
        .supervision(Supervision::one_for_one().always(Directive::Stop))
        .await
        .unwrap();
    open.open();
    scripted.tell(pipes(&open, &journal, || panic!("in a pipe"))).unwrap();
    rule.soon("the event is emitted", events.journal().wait_for("failed Script")).await;
    let (error, journal) = (events.errors().remove(0), Journal::new());
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Panicked, Some("pekko://test/user/d")));
    assert_eq!(error.get("message"), Some(std::any::type_name::<Script>()));
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("in a pipe"), "{error}");
    let dropped = journal.clone();
    rule.soon(
        "the handler pipes a future",
        scripted.ask(script(move |_, ctx| {
            ctx.pipe(PanicsOnDrop(dropped));
            Ok(0)
        })),
    )
    .await
    .unwrap();
    rule.soon("the future is dropped", journal.wait_for("dropped")).await;
    assert_eq!(rule.soon("the actor continues", scripted.ask(reply_with(1))).await.unwrap(), 1);
    rule.soon("the event is emitted", until(|| events.journal().count("failed Script") == 2)).await;
    scripted
        .tell(script(|_, ctx| {
            ctx.pipe(pending::<Script>());
            Ok(0)
        }))
        .unwrap();
    assert_eq!(rule.soon("the actor continues", scripted.ask(reply_with(2))).await.unwrap(), 2);
    assert_eq!(system.dead_letter_count(), 0);
}

/// A future that is ready at once and panics when it is dropped.
struct PanicsOnDrop(Journal);

impl std::future::Future for PanicsOnDrop {
    type Output = Script;

    fn poll(self: std::pin::Pin<&mut Self>, _: &mut std::task::Context<'_>) -> std::task::Poll<Script> {
        std::task::Poll::Ready(reply_with(0))
    }
}

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        self.0.note("dropped");
        panic!("in a destructor");
    }
}
