//! Outbound interceptors of asks whose actor ends.

use dactor_core::ErrorKind;
use dactor_core::testkit::Journal;

use crate::fixtures::ending::{BusyScripted, End, Recorded, end_bodies};
use crate::rules::body;
use crate::{Capability, Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "OUT-09",
        Topic::Outbound,
        &[
            (Topic::Outbound, State::Stopped),
            (Topic::Outbound, State::Drained),
            (Topic::Outbound, State::Killed),
            (Topic::Outbound, State::Failed),
        ],
        "However the actor ends, `on_reply` runs exactly once for every pending ask, with the asker's result.",
        "Counters of pending asks return to zero.",
        body!(ends),
    ),
    Rule::must(
        "OUT-10",
        Topic::Outbound,
        &[(Topic::Outbound, State::NativeStop)],
        "When the actor is stopped natively, `on_reply` runs exactly once for every pending ask (OUT-09).",
        "A native stop is an ordinary end of an actor.",
        body!(native_stop),
    )
    .needs(Capability::NativeStop)
    .spi(&["ignores-stop"]),
    Rule::must(
        "OUT-11",
        Topic::Outbound,
        &[(Topic::Outbound, State::NativeKill)],
        "When the actor is killed natively, `on_reply` runs exactly once for every pending ask (OUT-09).",
        "A native kill is an ordinary end of an actor.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "keeps-cell-after-kill"]),
    Rule::must(
        "OUT-12",
        Topic::Outbound,
        &[(Topic::Outbound, State::RuntimeDropped)],
        "When the runtime of the actor is dropped, `on_reply` runs exactly once for every pending ask (OUT-09).",
        "A dropped runtime is an ordinary end of an actor.",
        body!(runtime_dropped),
    )
    .spi(&["foreign-runtime"]),
];

async fn assert_ended(rule: &RuleContext, journal: &Journal, busy: BusyScripted) {
    let answers = busy.answers(rule).await;
    let how =
        |answer: Result<u32, ErrorKind>| answer.map_or_else(|kind| format!("{kind:?}"), |_| "ok".into());
    let arrived = answers.into_iter().map(|answer| format!("a< {}", how(answer)));
    assert_eq!(
        journal.entries(),
        ["a>".to_owned(), "a>".into(), "a>".into()].into_iter().chain(arrived).collect::<Vec<_>>()
    );
}

async fn end(rule: &RuleContext, end: End) {
    let (journal, patience) = (Journal::new(), rule.settings().patience);
    let busy = BusyScripted::recorded(rule.system(), patience, &journal, Recorded::Outbound).await;
    busy.end(rule, end).await;
    assert_ended(rule, &journal, busy).await;
}

end_bodies!();

async fn runtime_dropped(rule: RuleContext) {
    let (journal, system, patience) = (Journal::new(), rule.system(), rule.settings().patience);
    let notes = journal.clone();
    let busy = rule.on_dropped_runtime(move || async move {
        BusyScripted::recorded(system, patience, &notes, Recorded::Outbound).await
    });
    let busy = rule.soon("the runtime is dropped", busy).await;
    assert_ended(&rule, &journal, busy).await;
}
