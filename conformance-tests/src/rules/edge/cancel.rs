//! Askers that give up while a handler panics, a message is skipped or a scope waits.

use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{
    About, Around, Context, Directive, ErrorKind, Handler, Inbound, Message, Next, Outcome, Supervision,
};
use tokio_util::sync::CancellationToken;

use crate::fixtures::drop_note::DropNote;
use crate::fixtures::interceptor::RecordingInterceptor;
use crate::fixtures::scripted::{Abortable, ScriptedActor, async_script, reply_with, script, wait_at};
use crate::rules::body;
use crate::{Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "EDGE-01",
        Topic::Cancel,
        &[(Topic::Cancel, State::Idle)],
        "A skipped message of a cancelled ask whose destructor panics does not affect the actor.",
        "A message that is not handled must do no harm.",
        body!(skipped_drop_panics),
    ),
    Rule::must(
        "EDGE-02",
        Topic::Cancel,
        &[(Topic::Cancel, State::Idle)],
        "A skipped forwarded message whose destructor panics does not affect the actor.",
        "A message that is not handled must do no harm.",
        body!(forward_skipped_drop_panics),
    ),
    Rule::must(
        "EDGE-03",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling)],
        "A handler that panics while it is dropped because its asker gave up has panicked, with all consequences of a panic.",
        "An inconsistent instance must not continue.",
        body!(abort_guard_panics),
    ),
    Rule::must(
        "EDGE-04",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling)],
        "A handler that has panicked counts as panicked even if its asker gives up before the scopes around it have returned.",
        "An inconsistent instance must not continue.",
        body!(abort_hides_panic),
    ),
    Rule::must(
        "EDGE-14",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling)],
        "A pending reply that timed out has given up, even if it is not dropped.",
        "The handler's reply becomes a dead letter.",
        body!(by_reference),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "EDGE-15",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling)],
        "A forwarded ask that expires in the queue is not handled and fails with `Timeout`.",
        "No handler runs for an answer that would be late.",
        body!(forward_late),
    )
    .runtime(RuntimeMode::DrivenClock),
];

struct PanicsOnDrop;

impl Message for PanicsOnDrop {
    type Reply = u32;
    type Access = dactor_core::Exclusive;
}

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("fragile");
        }
    }
}

impl Handler<PanicsOnDrop> for ScriptedActor {
    async fn handle(&mut self, message: PanicsOnDrop, _: &mut Context<Self>) -> Outcome<u32> {
        std::mem::forget(message);
        Ok(0)
    }
}

async fn skipped_drop_panics(rule: RuleContext) {
    let (gate, system, token) = (Gate::new(), rule.system(), CancellationToken::new());
    let scripted = system.spawn(ScriptedActor::default()).await.unwrap();
    scripted.tell(wait_at(&gate)).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    let asked = scripted.ask(PanicsOnDrop).cancel(token.clone()).enqueue().unwrap();
    token.cancel();
    gate.open();
    assert_eq!(rule.soon("the actor continues", scripted.ask(reply_with(1))).await.unwrap(), 1);
    assert_eq!(rule.soon("the asker is answered", asked).await.unwrap_err().kind(), ErrorKind::Cancelled);
}

async fn forward_skipped_drop_panics(rule: RuleContext) {
    let (gate, system) = (Gate::new(), rule.system());
    let scripted = system.spawn(ScriptedActor::default()).await.unwrap();
    let other = system.spawn(ScriptedActor::default()).await.unwrap();
    other.tell(wait_at(&gate)).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    let to = other.clone();
    let asked = scripted.ask(script(move |_, ctx| ctx.forward(&to, PanicsOnDrop))).enqueue().unwrap();
    rule.soon("the message is forwarded", scripted.ask(reply_with(1))).await.unwrap();
    drop(asked);
    gate.open();
    assert_eq!(rule.soon("the actor continues", other.ask(reply_with(1))).await.unwrap(), 1);
}

struct PanickingGuard;

impl Drop for PanickingGuard {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("bad guard");
        }
    }
}

async fn abort_guard_panics(rule: RuleContext) {
    for intercepted in [false, true] {
        let (gate, system, token) = (Gate::new(), rule.system(), CancellationToken::new());
        let spawn = system
            .spawn(ScriptedActor::default)
            .supervision(Supervision::one_for_one().always(Directive::Restart));
        let spawn =
            if intercepted { spawn.inbound(RecordingInterceptor::new("a", &Journal::new())) } else { spawn };
        let scripted = spawn.await.unwrap();
        let inner = gate.clone();
        let guarded = Abortable(async_script(move |_, _| {
            Box::pin(async move {
                let _bad = PanickingGuard;
                inner.pass().await;
                Ok(1)
            })
        }));
        let asked = scripted.ask(guarded).cancel(token.clone()).enqueue().unwrap();
        rule.soon("the handler runs", gate.reached()).await;
        token.cancel();
        rule.soon("the asker is answered", asked).await.unwrap_err();
        assert_eq!(
            rule.soon("the actor continues", scripted.ask(reply_with(1))).await.map_err(|e| e.to_string()),
            Ok(1),
            "{intercepted}"
        );
    }
}

struct WaitingScope(Gate);

impl Inbound for WaitingScope {
    fn scope(&self) -> Option<&dyn Around> {
        Some(self)
    }
}

impl Around for WaitingScope {
    fn around<'a>(&'a self, about: &'a About<'a>, next: Next<'a>) -> Next<'a> {
        let message = about.message_type();
        Box::pin(async move {
            next.await;
            if message.ends_with("Abortable") {
                self.0.pass().await;
            }
        })
    }
}

async fn abort_hides_panic(rule: RuleContext) {
    let (gate, journal, token) = (Gate::new(), Journal::new(), CancellationToken::new());
    let (system, events) = rule.system_with_events();
    let scripted = system.spawn(ScriptedActor::default).inbound(WaitingScope(gate.clone())).await.unwrap();
    let guard = DropNote(journal.clone(), "x");
    let panics = Abortable(script(move |_, _| {
        drop(guard);
        panic!("bang")
    }));
    let asked = scripted.ask(panics).cancel(token.clone()).enqueue().unwrap();
    rule.soon("the scope waits", gate.reached()).await;
    token.cancel();
    rule.soon("the asker is answered", asked).await.unwrap_err();
    rule.soon("the actor continues", scripted.ask(reply_with(1))).await.unwrap();
    assert_eq!(events.journal().entries(), ["failed Abortable", "restarted"], "the handler had panicked");
}

const FIVE: Duration = Duration::from_secs(5);

async fn by_reference(mut rule: RuleContext) {
    let (gate, system) = (Gate::new(), rule.system());
    let scripted = system.spawn(ScriptedActor::default()).await.unwrap();
    scripted.tell(wait_at(&gate)).unwrap();
    gate.reached().await;
    let inner = Gate::new();
    let mut asked = scripted.ask(wait_at(&inner)).timeout(FIVE).enqueue().unwrap();
    let mut feed = system.dead_letter_feed();
    let waits = async { (&mut asked).await };
    let (answer, ()) = tokio::join!(waits, async { rule.clock().advance(FIVE).await });
    assert_eq!(answer.unwrap_err().kind(), ErrorKind::Timeout);
    gate.open();
    scripted.ask(reply_with(1)).await.unwrap();
    assert_eq!(inner.arrivals(), 0, "the message is skipped although the pending reply is kept");
    let _ = &mut feed;
    drop(asked);

    let inner = Gate::new();
    let mut asked = scripted.ask(wait_at(&inner)).timeout(FIVE).enqueue().unwrap();
    inner.reached().await;
    let waits = async { (&mut asked).await };
    let (answer, ()) = tokio::join!(waits, async { rule.clock().advance(FIVE).await });
    assert_eq!(answer.unwrap_err().kind(), ErrorKind::Timeout);
    inner.open();
    scripted.ask(reply_with(1)).await.unwrap();
    assert_eq!(system.dead_letter_count(), 1, "the unread reply");
}

async fn forward_late(mut rule: RuleContext) {
    let (gate, journal, system) = (Gate::new(), Journal::new(), rule.system());
    let scripted = system.spawn(ScriptedActor::default()).await.unwrap();
    let other = system.spawn(ScriptedActor::default()).await.unwrap();
    other.tell(wait_at(&gate)).unwrap();
    gate.reached().await;
    let (to, noted) = (other.clone(), journal.clone());
    let inner = script(move |_, _| {
        noted.note("ran");
        Ok(1)
    });
    let unread = scripted.ask(script(move |_, ctx| ctx.forward(&to, inner))).timeout(FIVE).enqueue().unwrap();
    scripted.ask(reply_with(1)).await.unwrap();
    rule.clock().advance(FIVE).await;
    gate.open();
    other.ask(reply_with(1)).await.unwrap();
    assert_eq!(journal.entries(), [""; 0], "the expired message was not skipped");
    assert_eq!(unread.await.unwrap_err().kind(), ErrorKind::Timeout);
}
