//! Inbound interceptors of an actor that ends.

use dactor_core::ErrorKind;
use dactor_core::testkit::Journal;

use crate::fixtures::ending::{BusyScripted, End};
use crate::fixtures::interceptor::RecordingInterceptor;
use crate::fixtures::scripted::ScriptedActor;
use crate::rules::body;
use crate::{Capability, Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "IN-07",
        Topic::Inbound,
        &[
            (Topic::Inbound, State::Stopped),
            (Topic::Inbound, State::Drained),
            (Topic::Inbound, State::Killed),
            (Topic::Inbound, State::Failed),
        ],
        "However the actor ends, every message that an interceptor saw ends exactly once for it, with the asker's result: a handler that a kill drops as `Interrupted`, and the messages that a drain handles as handled.",
        "Counters of messages in progress return to zero.",
        body!(ends),
    ),
    Rule::must(
        "IN-08",
        Topic::Inbound,
        &[(Topic::Inbound, State::NativeStop)],
        "When the actor is stopped natively, every message that an interceptor saw ends exactly once for it (IN-07).",
        "A native stop is an ordinary end of an actor.",
        body!(native_stop),
    )
    .needs(Capability::NativeStop)
    .spi(&["ignores-stop"]),
    Rule::must(
        "IN-09",
        Topic::Inbound,
        &[(Topic::Inbound, State::NativeKill)],
        "When the actor is killed natively, every message that an interceptor saw ends exactly once for it (IN-07).",
        "A native kill is an ordinary end of an actor.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "keeps-cell-after-kill"]),
    Rule::must(
        "IN-10",
        Topic::Inbound,
        &[(Topic::Inbound, State::RuntimeDropped)],
        "When the runtime of the actor is dropped, every message that an interceptor saw ends exactly once for it (IN-07).",
        "A dropped runtime is an ordinary end of an actor.",
        body!(runtime_dropped),
    )
    .spi(&["foreign-runtime"]),
];

/// The interceptor has seen the asker's result of every handled message, and no other message.
async fn assert_ended(rule: &RuleContext, end: Option<End>, journal: &Journal, busy: BusyScripted) {
    let mut expected = Vec::new();
    for (index, answer) in busy.answers(rule).await.into_iter().enumerate() {
        match answer {
            Ok(_) => expected.extend(["a>", "a< ok"]),
            Err(ErrorKind::Interrupted) if index == 0 => expected.extend(["a>", "a< Interrupted"]),
            Err(kind) => assert_eq!(kind, ErrorKind::Stopped),
        }
    }
    match end {
        Some(End::Drain) => assert_eq!(expected.len(), 6),
        Some(End::Failure) => expected.extend(["a>", "a< Panicked"]),
        _ => {}
    }
    assert_eq!(journal.entries(), expected, "{end:?}");
}

async fn end(rule: &RuleContext, end: End) {
    let (journal, system) = (Journal::new(), rule.system());
    let scripted = system
        .spawn(ScriptedActor::default())
        .inbound(RecordingInterceptor::new("a", &journal))
        .await
        .unwrap();
    let busy = BusyScripted::new(scripted, rule.settings().patience, |ask| ask).await;
    busy.end(rule, end).await;
    assert_ended(rule, Some(end), &journal, busy).await;
}

async fn ends(rule: RuleContext) {
    for way in End::CORE {
        end(&rule, way).await;
    }
}

async fn native_stop(rule: RuleContext) {
    end(&rule, End::NativeStop).await;
}

async fn native_kill(rule: RuleContext) {
    end(&rule, End::NativeKill).await;
}

async fn runtime_dropped(rule: RuleContext) {
    let (journal, system, patience) = (Journal::new(), rule.system(), rule.settings().patience);
    let recorder = RecordingInterceptor::new("a", &journal);
    let busy = rule.on_dropped_runtime(move || async move {
        BusyScripted::new(
            system.spawn(ScriptedActor::default()).inbound(recorder).await.unwrap(),
            patience,
            |ask| ask,
        )
        .await
    });
    let busy = rule.soon("the runtime is dropped", busy).await;
    assert_ended(&rule, None, &journal, busy).await;
}
