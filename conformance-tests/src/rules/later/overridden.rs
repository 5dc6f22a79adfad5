//! Handlers that defer their reply and then return something other than the promise.

use std::fmt;

use dactor_core::{ErrorKind, Failure};

use super::answer_deferred;
use crate::fixtures::scripted::{Script, ScriptedActor, reply_with, script};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "LATER-18",
        Topic::Later,
        &[(Topic::Later, State::Handling)],
        "A handler that defers its reply (`reply_later`, `forward`, `stash`) and maps the returned promise to another `Err` does not fail the asker: the deferred reply stands. The `Err` is reported as a failure that names the actor and the message.",
        "A handler may log or map its errors in one place.",
        body!(mapped),
    ),
    Rule::must(
        "LATER-19",
        Topic::Later,
        &[(Topic::Later, State::Handling)],
        "A handler that defers its reply and returns a reply all the same does not answer the asker: the deferred reply stands. A told message has no reply, and nothing is reported.",
        "An ask has one answer, and the order of two threads does not choose it.",
        body!(replied),
    ),
    Rule::must(
        "LATER-20",
        Topic::Later,
        &[(Topic::Later, State::Handling)],
        "A promise that is wrapped in an error which names it as its source is still a promise: nothing fails, and without a deferred reply the asker gets `NoReply`.",
        "Adding context to an error does not change what it means.",
        body!(wrapped),
    ),
];

/// Defers its reply in one of three ways and gives the promise to `change`.
fn deferring(
    way: &'static str,
    other: dactor_core::ActorRef<ScriptedActor>,
    change: impl FnOnce(Failure) -> dactor_core::Outcome<u32> + Send + 'static,
) -> Script {
    script(move |scripted, ctx| {
        let promised = match way {
            "reply_later" => {
                let (later, promised) = ctx.reply_later::<Script>();
                scripted.deferred.push(later);
                promised
            }
            "forward" => ctx.forward(&other, reply_with(7)),
            _ => ctx.stash(reply_with(7)),
        };
        change(promised.unwrap_err())
    })
}

/// Lets the deferred reply of [`deferring`] come.
fn settle(way: &str) -> Script {
    match way {
        "reply_later" => answer_deferred(7),
        "forward" => reply_with(0),
        _ => script(|_, ctx| {
            ctx.unstash_all();
            Ok(0)
        }),
    }
}

async fn mapped(rule: RuleContext) {
    for way in ["reply_later", "forward", "stash"] {
        let (system, events) = rule.system_with_events();
        let actor = system.spawn(ScriptedActor::default()).name("a").await.unwrap();
        let other = system.spawn(ScriptedActor::default()).await.unwrap();
        let asked = actor.ask(deferring(way, other, |_| Err(Failure::new("mapped")))).enqueue().unwrap();
        rule.soon("the deferred reply comes", actor.ask(settle(way))).await.unwrap();
        assert_eq!(rule.soon("the deferred reply stands", asked).await.unwrap(), 7, "{way}");
        assert_eq!(events.journal().entries(), ["failed Script"], "{way}");
        let [error] = &events.errors()[..] else { panic!("{way}: one error") };
        assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Failed, Some("pekko://test/user/a")));
        assert_eq!(error.get("message"), Some(std::any::type_name::<Script>()));
        assert!(error.get("because").is_some_and(|because| because.contains("deferred")), "{error}");
    }
}

async fn replied(rule: RuleContext) {
    for way in ["reply_later", "forward", "stash"] {
        let (system, events) = rule.system_with_events();
        let actor = system.spawn(ScriptedActor::default()).await.unwrap();
        let other = system.spawn(ScriptedActor::default()).await.unwrap();
        let asked = actor.ask(deferring(way, other.clone(), |_| Ok(1))).enqueue().unwrap();
        rule.soon("the deferred reply comes", actor.ask(settle(way))).await.unwrap();
        assert_eq!(rule.soon("the deferred reply stands", asked).await.unwrap(), 7, "{way}");
        actor.tell(deferring(way, other, |_| Ok(1))).unwrap();
        rule.soon("the actor continues", actor.ask(reply_with(1))).await.unwrap();
        assert_eq!(events.journal().entries(), [""; 0], "{way}");
    }
}

/// An error with a source.
#[derive(Debug)]
struct Wrapped(Failure);

impl fmt::Display for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("wrapped")
    }
}

impl std::error::Error for Wrapped {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(self.0.source())
    }
}

async fn wrapped(rule: RuleContext) {
    let (system, events) = rule.system_with_events();
    let actor = system.spawn(ScriptedActor::default()).await.unwrap();
    let other = system.spawn(ScriptedActor::default()).await.unwrap();
    let wrap = |promise: Failure| Err(Wrapped(promise).into());
    for way in ["reply_later", "forward", "stash"] {
        let asked = actor.ask(deferring(way, other.clone(), wrap)).enqueue().unwrap();
        rule.soon("the deferred reply comes", actor.ask(settle(way))).await.unwrap();
        assert_eq!(rule.soon("the asker is answered", asked).await.unwrap(), 7, "{way}");
    }
    let keeps = script(|scripted, ctx| {
        let (_, promised) = ctx.reply_later::<Script>();
        scripted.promise = promised.err();
        Ok(0)
    });
    actor.tell(keeps).unwrap();
    let borrowed = script(move |scripted, _| wrap(scripted.promise.take().unwrap()));
    let error = rule.soon("the asker gets the error", actor.ask(borrowed)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoReply);
    assert_eq!(events.journal().entries(), [""; 0]);
}
