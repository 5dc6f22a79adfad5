//! The streams of an actor that is restarted or ends.

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ErrorKind, StopReason};

use crate::fixtures::ending::End;
use crate::fixtures::scripted::{ScriptedActor, async_script, script};
use crate::fixtures::streams::{QueuedItem, attach, channel, numbers};
use crate::rules::body;
use crate::{Capability, Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "STREAM-05",
        Topic::Inflow,
        &[(Topic::Inflow, State::Handling), (Topic::Panic, State::Handling)],
        "A restart detaches the streams of the old instance.",
        "A fresh instance attaches its own streams.",
        body!(restarted),
    ),
    Rule::must(
        "STREAM-07",
        Topic::Inflow,
        &[
            (Topic::Inflow, State::Dead),
            (Topic::Inflow, State::Stopped),
            (Topic::Inflow, State::Drained),
            (Topic::Inflow, State::Killed),
            (Topic::Inflow, State::Failed),
        ],
        "A stream ends with its actor, however the actor ends; an item in the mailbox is handled in a drain and is a dead letter otherwise.",
        "Nothing of an ended actor remains.",
        body!(ended),
    ),
    Rule::must(
        "STREAM-08",
        Topic::Inflow,
        &[(Topic::Inflow, State::Starting), (Topic::Inflow, State::Stopping)],
        "A stream may be attached in `on_start`; its items are handled afterwards. Streams are detached when `on_stop` runs; a stream attached in `on_stop` ends with the actor and delays nothing.",
        "Hooks may use streams like handlers.",
        body!(hooks),
    ),
    Rule::must(
        "STREAM-09",
        Topic::Inflow,
        &[(Topic::Inflow, State::NativeStop)],
        "A native stop ends the streams.",
        "A native stop is an ordinary end of an actor.",
        body!(native_stop),
    )
    .needs(Capability::NativeStop),
    Rule::must(
        "STREAM-10",
        Topic::Inflow,
        &[(Topic::Inflow, State::NativeKill)],
        "A native kill ends the streams.",
        "A native kill is an ordinary end of an actor.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill),
    Rule::must(
        "STREAM-11",
        Topic::Inflow,
        &[(Topic::Inflow, State::RuntimeDropped)],
        "Dropping the runtime of an actor ends its streams.",
        "No task polls them afterwards.",
        body!(runtime_dropped),
    ),
];

async fn restarted(rule: RuleContext) {
    let journal = Journal::new();
    let (system, events) = rule.system_with_events();
    let noting = journal.clone();
    let factory = move || {
        let again = numbers(&noting, 7..=7);
        ScriptedActor::default().on_start(script(|_, ctx| {
            ctx.attach(again);
            Ok(0)
        }))
    };
    let scripted = system.spawn(factory).await.unwrap();
    rule.soon("the first stream ends", journal.wait_for("dropped")).await;
    let waiting = QueuedItem::new(&rule, scripted, &journal).await;
    // High priority, so handled before the item.
    waiting.scripted.at(dactor_core::Priority::High).tell(script(|_, _| panic!("restart"))).unwrap();
    let before = journal.len();
    waiting.gate.open();
    rule.soon("the item is a dead letter", events.journal().wait_for("dead Script")).await;
    assert!(waiting.attached.is_finished());
    rule.soon("the new stream ends", journal.wait_len(before + 4)).await;
    let mut entries = journal.entries()[before..].to_vec();
    entries.sort_unstable();
    assert_eq!(entries, ["7", "dropped", "dropped", "take 7"]);
    assert_eq!(events.journal().entries(), ["failed Script", "restarted", "dead Script"]);
    assert_eq!(events.errors()[2].kind(), ErrorKind::Detached);
}

async fn ended(rule: RuleContext) {
    for end in End::CORE {
        let (journal, system) = (Journal::new(), rule.system());
        let scripted = system.spawn(ScriptedActor::default()).await.unwrap();
        let waiting = QueuedItem::new(&rule, scripted, &journal).await;
        end.apply(&rule, &waiting.scripted).await;
        waiting.gate.open();
        rule.soon("the actor ends", waiting.scripted.wait()).await.unwrap();
        rule.soon("the stream is dropped", journal.wait_for("dropped")).await;
        assert!(waiting.attached.is_finished(), "{end:?}");
        // The failure comes after the item.
        let handled = matches!(end, End::Drain | End::Failure);
        assert_eq!(journal.count("item"), usize::from(handled), "{end:?}");
        assert_eq!(system.dead_letter_count(), u64::from(!handled), "{end:?}");
    }
}

async fn hooks(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let (first, last) = (numbers(&journal, 1..=2), numbers(&journal, 3..=3));
    let (hold, noting) = (gate.clone(), journal.clone());
    let starting = async_script(move |_, ctx| {
        Box::pin(async move {
            ctx.attach(first);
            hold.pass().await;
            noting.note("started");
            Ok(0)
        })
    });
    let stopped = Gate::new();
    let hold_stop = stopped.clone();
    let stopping = async_script(move |_, ctx| {
        Box::pin(async move {
            ctx.attach(last);
            hold_stop.pass().await;
            Ok(0)
        })
    });
    let scripted = ScriptedActor::default().on_start(starting).on_stop(stopping);
    let spawned = {
        let system = system.clone();
        tokio::spawn(async move { system.spawn(scripted).await })
    };
    rule.soon("the actor starts", gate.reached()).await;
    rule.soon("an item is polled", journal.wait_for("take 1")).await;
    gate.open();
    let scripted = rule.soon("the actor has started", spawned).await.unwrap().unwrap();
    rule.soon("the stream ends", journal.wait_for("dropped")).await;
    assert_eq!(journal.entries(), ["take 1", "started", "1", "take 2", "2", "dropped"]);
    let (_source, items) = channel(&journal);
    let attached = attach(&rule, &scripted, items).await;
    scripted.stop();
    rule.soon("the actor stops", stopped.reached()).await;
    assert!(attached.is_finished());
    rule.soon("both streams are dropped", journal.wait_len(8)).await;
    assert_eq!(journal.count("dropped"), 3, "no item is polled for a stopping actor");
    stopped.open();
    assert!(matches!(rule.soon("the actor ends", scripted.wait()).await.unwrap(), StopReason::Stopped));
}

async fn native_stop(rule: RuleContext) {
    let journal = Journal::new();
    let scripted = rule.system().spawn(ScriptedActor::default()).await.unwrap();
    let (_source, items) = channel(&journal);
    attach(&rule, &scripted, items).await;
    rule.native_stop(&scripted).await;
    rule.soon("the actor ends", scripted.wait()).await.unwrap();
    rule.soon("the stream is dropped", journal.wait_for("dropped")).await;
}

async fn native_kill(rule: RuleContext) {
    let journal = Journal::new();
    let scripted = rule.system().spawn(ScriptedActor::default()).await.unwrap();
    let waiting = QueuedItem::new(&rule, scripted, &journal).await;
    rule.native_kill(&waiting.scripted).await;
    rule.soon("the actor ends", waiting.scripted.wait()).await.unwrap();
    rule.soon("the stream is dropped", journal.wait_for("dropped")).await;
    assert_eq!((journal.len(), waiting.scripted.system().dead_letter_count()), (1, 1));
}

async fn runtime_dropped(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let (_source, items) = channel(&journal);
    let spawned = rule.on_dropped_runtime(move || async move {
        let scripted = system.spawn(ScriptedActor::default()).await.unwrap();
        let attach = script(|_, ctx| {
            ctx.attach(items);
            Ok(0)
        });
        scripted.ask(attach).await.unwrap();
        scripted
    });
    let scripted = rule.soon("the runtime is dropped", spawned).await;
    rule.soon("the actor ends", scripted.wait()).await.unwrap();
    rule.soon("the stream is dropped", journal.wait_for("dropped")).await;
}
