//! Inbound interceptors of an actor that ends.

use dactor_core::ErrorKind;
use dactor_core::testkit::Journal;

use crate::fixtures::ending::{BusyScripted, End, Recorded, end_bodies};
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
    let (journal, patience) = (Journal::new(), rule.settings().patience);
    let busy = BusyScripted::recorded(rule.system(), patience, &journal, Recorded::Inbound).await;
    busy.end(rule, end).await;
    assert_ended(rule, Some(end), &journal, busy).await;
}

end_bodies!();

async fn runtime_dropped(rule: RuleContext) {
    let (journal, system, patience) = (Journal::new(), rule.system(), rule.settings().patience);
    let notes = journal.clone();
    let busy = rule.on_dropped_runtime(move || async move {
        BusyScripted::recorded(system, patience, &notes, Recorded::Inbound).await
    });
    let busy = rule.soon("the runtime is dropped", busy).await;
    assert_ended(&rule, None, &journal, busy).await;
}
