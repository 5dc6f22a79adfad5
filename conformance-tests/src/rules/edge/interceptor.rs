//! Interceptors together with delays, panics and forwards.

use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{About, Around, ErrorKind, Inbound, Next, Verdict};
use tokio_util::sync::CancellationToken;

use crate::fixtures::hooks::Hooks;
use crate::fixtures::interceptor::RecordingInterceptor;
use crate::fixtures::scripted::{ScriptedActor, async_script, defer_reply, reply_with, script};
use crate::fixtures::worker::{Count, Fail, Note, PanicWith, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "EDGE-05",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling)],
        "A handler that has panicked counts as panicked even if a scope around it panics afterwards.",
        "An inconsistent instance must not continue.",
        body!(scope_hides_panic),
    ),
    Rule::must(
        "EDGE-06",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling)],
        "A handler that has failed counts as failed even if a scope around it panics afterwards.",
        "`on_error` sees every failure.",
        body!(scope_hides_failure),
    ),
    Rule::must(
        "EDGE-07",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling)],
        "A panic in `on_complete` of a message with a deferred reply answers the asker with `InterceptorPanicked`.",
        "No asker is left waiting.",
        body!(promise_complete_panics),
    ),
    Rule::must(
        "EDGE-08",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling)],
        "A forwarded message is answered after the interceptors of every actor on its way have seen its end.",
        "The reply leaves last, whichever actor sends it.",
        body!(forward_hold),
    ),
    Rule::must(
        "EDGE-09",
        Topic::Inbound,
        &[(Topic::Inbound, State::Killed)],
        "A told message that waits for an inbound delay when its actor is killed becomes a dead letter.",
        "No message is lost silently.",
        body!(kill_in_delay),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "EDGE-10",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling)],
        "An ask cancelled during an inbound delay is not handled.",
        "No handler runs for an asker that gave up.",
        body!(cancel_in_delay),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "EDGE-11",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling)],
        "An ask that expires during an inbound delay is not handled and fails with `Timeout`.",
        "No handler runs for an answer that would be late.",
        body!(expired_in_delay),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "EDGE-12",
        Topic::Outbound,
        &[(Topic::Outbound, State::Handling)],
        "The outbound interceptors of a reference see messages forwarded through it and may refuse them.",
        "A forward does not bypass interceptors.",
        body!(forward_outbound),
    ),
    Rule::must(
        "EDGE-13",
        Topic::Outbound,
        &[(Topic::Outbound, State::Idle)],
        "When an enqueued ask fails because an interceptor requires a delay, `on_reply` sees the asker's error.",
        "The interceptor and the asker get the same result.",
        body!(enqueue_on_reply),
    ),
];

struct PanickingScope;

impl Inbound for PanickingScope {
    fn scope(&self) -> Option<&dyn Around> {
        Some(self)
    }
}

impl Around for PanickingScope {
    fn around<'a>(&'a self, about: &'a About<'a>, next: Next<'a>) -> Next<'a> {
        let message = about.message_type();
        Box::pin(async move {
            next.await;
            assert!(message.ends_with("Note") || message.ends_with("Count"), "broken");
        })
    }
}

async fn scope_hides_panic(rule: RuleContext) {
    let journal = Journal::new();
    let system = rule.system();
    let actor =
        system.spawn(Worker::factory(&journal, Hooks::default())).inbound(PanickingScope).await.unwrap();
    rule.soon("the note is answered", actor.ask(Note(1))).await.unwrap();
    rule.soon("the asker is answered", actor.ask(PanicWith("bang"))).await.unwrap_err();
    assert_eq!(rule.soon("the restarted actor answers", actor.ask(Count())).await.unwrap(), 0, "{journal:?}");
}

async fn scope_hides_failure(rule: RuleContext) {
    let journal = Journal::new();
    let system = rule.system();
    let actor =
        system.spawn(Worker::factory(&journal, Hooks::default())).inbound(PanickingScope).await.unwrap();
    rule.soon("the asker is answered", actor.ask(Fail("no"))).await.unwrap_err();
    rule.soon("the actor continues", actor.ask(Count())).await.unwrap();
    assert_eq!(journal.count("error: no"), 1, "{journal:?}");
}

async fn promise_complete_panics(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let recorder = RecordingInterceptor::new("a", &journal)
        .on_end(|completion| assert!(completion.reply::<u32>().is_some()));
    let scripted = system.spawn(ScriptedActor::default()).inbound(recorder).await.unwrap();
    let asked = scripted.ask(defer_reply()).enqueue().unwrap();
    rule.soon("the actor continues", scripted.ask(reply_with(1))).await.unwrap();
    assert_eq!(
        rule.soon("the asker is answered", asked).await.unwrap_err().kind(),
        ErrorKind::InterceptorPanicked
    );
}

async fn forward_hold(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let scripted = system
        .spawn(ScriptedActor::default())
        .inbound(RecordingInterceptor::new("a", &journal))
        .await
        .unwrap();
    let other = system
        .spawn(ScriptedActor::default())
        .inbound(RecordingInterceptor::new("b", &journal))
        .await
        .unwrap();
    let (to, inner) = (other.clone(), gate.clone());
    let forwards = async_script(move |_, ctx| {
        Box::pin(async move {
            let promised = ctx.forward(&to, reply_with(1));
            inner.pass().await;
            promised
        })
    });
    let mut asked = scripted.ask(forwards).enqueue().unwrap();
    rule.soon("the second interceptor sees the end", journal.wait_for("b< ok")).await;
    rule.never("the answer left before the interceptors finished", &mut asked).await;
    gate.open();
    rule.soon("the forwarded ask is answered", asked).await.unwrap();
}

const FIVE: Duration = Duration::from_secs(5);

async fn kill_in_delay(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let scripted = system.spawn(ScriptedActor::default());
    let scripted = scripted
        .inbound(RecordingInterceptor::new("a", &journal).always(Verdict::Delay(FIVE)))
        .await
        .unwrap();
    scripted.tell(reply_with(1)).unwrap();
    journal.wait_for("a>").await;
    scripted.kill();
    scripted.wait().await.unwrap();
    assert_eq!(system.dead_letter_count(), 1, "the told message was never handled");
}

async fn cancel_in_delay(mut rule: RuleContext) {
    let (journal, system, token) = (Journal::new(), rule.system(), CancellationToken::new());
    let ran = Journal::new();
    let scripted = system.spawn(ScriptedActor::default());
    let scripted = scripted
        .inbound(RecordingInterceptor::new("a", &journal).always(Verdict::Delay(FIVE)))
        .await
        .unwrap();
    let noted = ran.clone();
    let asked = scripted.ask(script(move |_, _| {
        noted.note("ran");
        Ok(1)
    }));
    let asked = asked.cancel(token.clone()).enqueue().unwrap();
    journal.wait_for("a>").await;
    token.cancel();
    assert_eq!(asked.await.unwrap_err().kind(), ErrorKind::Cancelled);
    rule.clock().advance(FIVE).await;
    assert_eq!(ran.entries(), [""; 0], "the message was handled without an asker");
}

async fn expired_in_delay(mut rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let ran = Journal::new();
    let scripted = system.spawn(ScriptedActor::default());
    let scripted = scripted
        .inbound(RecordingInterceptor::new("a", &journal).always(Verdict::Delay(FIVE)))
        .await
        .unwrap();
    let noted = ran.clone();
    let asked = scripted.ask(script(move |_, _| {
        noted.note("ran");
        Ok(1)
    }));
    let asked = asked.timeout(FIVE / 2).enqueue().unwrap();
    journal.wait_for("a>").await;
    rule.clock().advance(FIVE).await;
    let answer = asked.await.map_err(|error| error.kind());
    assert_eq!(
        (answer, ran.entries()),
        (Err(ErrorKind::Timeout), vec![]),
        "the message was handled after its deadline"
    );
}

async fn forward_outbound(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let scripted = system.spawn(ScriptedActor::default()).await.unwrap();
    let other = system.spawn(ScriptedActor::default()).await.unwrap();
    let to = other.outbound(RecordingInterceptor::new("a", &journal).always(Verdict::Reject("no".into())));
    let again = to.clone();
    scripted.tell(script(move |_, ctx| ctx.forward(&to, reply_with(1)))).unwrap();
    rule.soon("the actor continues", scripted.ask(reply_with(1))).await.unwrap();
    assert_eq!(journal.count("a>"), 1, "told");
    let asked = rule
        .soon("the asker is answered", scripted.ask(script(move |_, ctx| ctx.forward(&again, reply_with(1)))))
        .await;
    assert_eq!(journal.count("a>"), 2, "asked");
    asked.unwrap_err();
}

async fn enqueue_on_reply(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let scripted = system.spawn(ScriptedActor::default()).await.unwrap();
    let scripted = scripted
        .outbound(RecordingInterceptor::new("a", &journal).always(Verdict::Delay(Duration::from_secs(1))));
    assert_eq!(scripted.ask(reply_with(1)).enqueue().unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(journal.entries(), ["a>", "a< Unsupported"]);
}
