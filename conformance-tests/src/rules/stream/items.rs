//! The items of attached streams.

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ErrorKind, Failure, Overflow};
use futures_util::stream::{self, StreamExt};

use crate::fixtures::scripted::{ScriptedActor, note, script, wait_at};
use crate::fixtures::streams::{QueuedItem, attach, channel, numbers};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "STREAM-01",
        Topic::Inflow,
        &[(Topic::Inflow, State::Idle), (Topic::Inflow, State::Handling)],
        "The items of an attached stream are handled in order, and the next item is polled after the last one was handled; other messages of the actor are handled in between. An ended stream is finished and dropped.",
        "A fast stream must neither fill the mailbox of a slow actor nor starve other senders.",
        body!(one_by_one),
    ),
    Rule::must(
        "STREAM-02",
        Topic::Inflow,
        &[(Topic::Inflow, State::Idle)],
        "A stream that becomes ready wakes the idle actor with its item, however the actor is parked.",
        "Most streams are pending most of the time.",
        body!(wakes),
    ),
    Rule::must(
        "STREAM-03",
        Topic::Inflow,
        &[(Topic::Inflow, State::Handling), (Topic::Bound, State::Handling)],
        "An item needs no room in a bounded mailbox and takes none.",
        "At most one item waits, and dropping it would leave a gap in the stream.",
        body!(exempt),
    ),
    Rule::must(
        "STREAM-04",
        Topic::Inflow,
        &[(Topic::Inflow, State::Handling)],
        "Detaching a stream drops it; an item that is already in the mailbox becomes a dead letter with `Detached`, and other streams continue.",
        "A detached stream sends no more items, and an unhandled item is not lost silently.",
        body!(detached),
    ),
    Rule::must(
        "STREAM-06",
        Topic::Inflow,
        &[(Topic::Inflow, State::Handling), (Topic::Failure, State::Handling)],
        "An item whose handler fails causes an event, and the stream continues. A stream that panics ends, the panic causes an event, and the actor continues.",
        "A failing stream must be visible and must not end the actor.",
        body!(failing),
    ),
];

async fn one_by_one(rule: RuleContext) {
    let journal = Journal::new();
    let scripted = rule.system().spawn(ScriptedActor::default()).await.unwrap();
    let gate = Gate::new();
    scripted.tell(wait_at(&gate)).unwrap();
    rule.soon("the actor is busy", gate.reached()).await;
    let items = numbers(&journal, 1..=3);
    let attach_it = script(|_, ctx| {
        ctx.attach(items);
        Ok(0)
    });
    scripted.tell(attach_it).unwrap();
    let second = Gate::new();
    scripted.tell(wait_at(&second)).unwrap();
    gate.open();
    rule.soon("an item is polled", journal.wait_for("take 1")).await;
    rule.soon("the actor is busy", second.reached()).await;
    rule.let_idle().await;
    assert_eq!(journal.entries(), ["take 1"], "only one item is polled");
    scripted.tell(note(&journal, "told")).unwrap();
    second.open();
    rule.soon("the stream ends", journal.wait_for("dropped")).await;
    let mut entries = journal.entries();
    // Its position depends on the order in the mailbox.
    entries.retain(|entry| entry != "told");
    assert_eq!(entries, ["take 1", "1", "take 2", "2", "take 3", "3", "dropped"]);
    rule.soon("the other message is handled", journal.wait_for("told")).await;
    let attached = attach(&rule, &scripted, Box::pin(stream::empty())).await;
    rule.soon("the stream is finished", async {
        while !attached.is_finished() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

async fn wakes(rule: RuleContext) {
    for native_handle_taken in [false, true] {
        let journal = Journal::new();
        let scripted = rule.system().spawn(ScriptedActor::default()).await.unwrap();
        if native_handle_taken {
            rule.take_native_handle(&scripted);
        }
        let (send, items) = channel(&journal);
        let attached = attach(&rule, &scripted, items).await;
        for number in 0..5 {
            rule.let_idle().await;
            send.send(note(&journal, number)).unwrap();
            rule.soon("the item is handled", journal.wait_for(&number.to_string())).await;
        }
        assert!(!attached.is_finished());
        drop(send);
        rule.soon("the stream ends", journal.wait_for("dropped")).await;
    }
}

async fn exempt(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let scripted = system.spawn(ScriptedActor::default()).bounded(1, Overflow::Reject).await.unwrap();
    let (send, items) = channel(&journal);
    attach(&rule, &scripted, items).await;
    scripted.tell(wait_at(&gate)).unwrap();
    rule.soon("the actor is busy", gate.reached()).await;
    send.send(note(&journal, "item")).unwrap();
    rule.soon("the item is in the mailbox", async {
        while scripted.queued() == Some(0) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let second = Gate::new();
    scripted.tell(wait_at(&second)).unwrap();
    assert_eq!(scripted.tell(note(&journal, "no")).unwrap_err().kind(), ErrorKind::MailboxFull);
    gate.open();
    rule.soon("the actor is busy again", second.reached()).await;
    scripted.tell(note(&journal, "told")).unwrap();
    send.send(note(&journal, "another")).unwrap();
    rule.soon("the full mailbox takes the item", async {
        while scripted.queued() == Some(1) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    second.open();
    rule.soon("the item is handled", journal.wait_for("another")).await;
    assert_eq!(journal.entries(), ["item", "told", "another"]);
}

async fn detached(rule: RuleContext) {
    let journal = Journal::new();
    let (system, events) = rule.system_with_events();
    let scripted = system.spawn(ScriptedActor::default()).await.unwrap();
    let QueuedItem { scripted, gate, attached, .. } = QueuedItem::new(&rule, scripted, &journal).await;
    attached.detach();
    assert!(attached.is_finished());
    rule.soon("the stream is dropped", journal.wait_for("dropped")).await;
    let items = numbers(&journal, 1..=1);
    scripted
        .tell(script(|_, ctx| {
            ctx.attach(items);
            Ok(0)
        }))
        .unwrap();
    gate.open();
    rule.soon("the other actor continues", journal.wait_for("1")).await;
    assert_eq!(journal.entries()[..3], ["dropped", "take 1", "1"]);
    assert_eq!(events.journal().entries(), ["dead Script"]);
    assert_eq!(events.errors()[0].kind(), ErrorKind::Detached);
    attached.detach();
}

async fn failing(rule: RuleContext) {
    let journal = Journal::new();
    let (system, events) = rule.system_with_events();
    let scripted = system.spawn(ScriptedActor::default()).name("reader").await.unwrap();
    let (fails, fine) = (script(|_, _| Err(Failure::new("no"))), note(&journal, "fine"));
    let panics = stream::poll_fn(|_| panic!("the source broke"));
    let attached = attach(&rule, &scripted, Box::pin(stream::iter([fails, fine]).chain(panics))).await;
    rule.soon("the panic is reported", async {
        while events.errors().len() < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(journal.entries(), ["fine"]);
    let errors = events.errors();
    assert_eq!(errors[0].kind(), ErrorKind::Failed);
    assert_eq!(
        (errors[1].kind(), errors[1].get("actor")),
        (ErrorKind::Panicked, Some("pekko://test/user/reader"))
    );
    assert!(format!("{:#}", errors[1]).contains("the source broke"), "{}", errors[1]);
    rule.soon("the stream is over", async {
        while !attached.is_finished() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    rule.soon("the actor continues", scripted.ask(note(&journal, "x"))).await.unwrap();
}
