//! Deferred replies, reply headers and hooks.

use std::time::Duration;

use dactor_core::ErrorKind;
use dactor_core::testkit::{Gate, Journal};
use tokio_util::sync::CancellationToken;

use crate::fixtures::header::Tag;
use crate::fixtures::scripted::{Script, ScriptedActor, async_script, reply_with, script};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "EDGE-16",
        Topic::Headers,
        &[(Topic::Headers, State::Stopping)],
        "In `on_stop` there is no current message: no headers and no deadline.",
        "Headers and deadline end with their message.",
        body!(stop_headers),
    ),
    Rule::must(
        "EDGE-17",
        Topic::Later,
        &[(Topic::Later, State::Handling)],
        "Returning a promise for a forwarded message without having deferred its reply answers the asker with `NoReply`.",
        "No asker is left waiting.",
        body!(forward_promise),
    ),
    Rule::must(
        "EDGE-18",
        Topic::Later,
        &[(Topic::Later, State::Handling)],
        "A handler that has deferred its reply can still set reply headers.",
        "Reply headers do not depend on who sends the reply.",
        body!(late_reply_header),
    ),
    Rule::must(
        "EDGE-19",
        Topic::Later,
        &[(Topic::Later, State::Handling)],
        "A handler that has deferred its reply still observes that its asker gave up.",
        "Work without an asker can be abandoned.",
        body!(later_cancelled),
    ),
];

const FIVE: Duration = Duration::from_secs(5);

async fn stop_headers(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let seen = journal.clone();
    let scripted = ScriptedActor::default().on_stop(script(move |_, ctx| {
        seen.note(format!("{:?} {}", ctx.headers(), ctx.deadline().is_some()));
        Ok(0)
    }));
    let scripted = system.spawn(scripted).await.unwrap();
    rule.soon("the message is handled", scripted.ask(reply_with(1)).header(Tag(1)).timeout(FIVE))
        .await
        .unwrap();
    scripted.stop();
    rule.soon("the actor ends", scripted.wait()).await.unwrap();
    assert_eq!(journal.entries(), ["[] false"]);
}

async fn forward_promise(rule: RuleContext) {
    let system = rule.system();
    let scripted = system.spawn(ScriptedActor::default()).await.unwrap();
    let other = system.spawn(ScriptedActor::default()).await.unwrap();
    other
        .tell(script(|scripted, ctx| {
            scripted.promise = ctx.reply_later::<Script>().1.err();
            Ok(0)
        }))
        .unwrap();
    let to = other.clone();
    let borrowed = script(|scripted, _| Err(scripted.promise.take().unwrap()));
    let asked = scripted.ask(script(move |_, ctx| ctx.forward(&to, borrowed)));
    assert_eq!(rule.soon("the asker is answered", asked).await.unwrap_err().kind(), ErrorKind::NoReply);
}

async fn late_reply_header(rule: RuleContext) {
    let system = rule.system();
    let scripted = system.spawn(ScriptedActor::default()).await.unwrap();
    let sets = script(|_, ctx| {
        let (later, promised) = ctx.reply_later::<Script>();
        ctx.set_reply_header(Tag(1));
        later.reply(1);
        promised
    });
    let (_, headers) = rule.soon("the reply arrives", scripted.ask(sets).with_headers()).await.unwrap();
    assert_eq!(headers.get::<Tag>(), Some(&Tag(1)));
}

async fn later_cancelled(rule: RuleContext) {
    let system = rule.system();
    let (gate, journal, token) = (Gate::new(), Journal::new(), CancellationToken::new());
    let scripted = system.spawn(ScriptedActor::default()).await.unwrap();
    let (inner, seen) = (gate.clone(), journal.clone());
    let keeps = async_script(move |scripted, ctx| {
        Box::pin(async move {
            let (later, promised) = ctx.reply_later::<Script>();
            scripted.deferred.push(later);
            inner.pass().await;
            seen.note(ctx.is_cancelled());
            promised
        })
    });
    let asked = scripted.ask(keeps).cancel(token.clone()).enqueue().unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    token.cancel();
    gate.open();
    rule.soon("the asker is answered", asked).await.unwrap_err();
    rule.soon("the handler observes the cancellation", journal.wait_for("true")).await;
}
