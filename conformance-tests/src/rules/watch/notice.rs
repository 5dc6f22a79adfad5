//! `Terminated` in the mailbox of the watcher.

use std::future::IntoFuture;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ErrorKind, Overflow, Shed};

use super::{of_watcher, queued};
use crate::fixtures::hooks::HookAction;
use crate::fixtures::tree::{TellAndStop, TreeActor, TreeSpec, Watch};
use crate::fixtures::worker::{Hold, Note};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "WATCH-09",
        Topic::Watch,
        &[(Topic::Watch, State::Handling), (Topic::Order, State::Handling)],
        "`Terminated` arrives after all messages that the watched actor sent, also when senders wait for room in the mailbox.",
        "`Terminated` is the last message from an actor.",
        body!(order),
    ),
    Rule::must(
        "WATCH-10",
        Topic::Watch,
        &[(Topic::Watch, State::Handling), (Topic::Bound, State::Handling)],
        "`Terminated` is accepted by every mailbox and takes no room, whatever the overflow policy; it is never dropped for other messages and never shed.",
        "A notice lost under load is never repeated.",
        body!(capacity),
    ),
    Rule::must(
        "WATCH-17",
        Topic::Watch,
        &[(Topic::Watch, State::Starting), (Topic::Watch, State::Stopping)],
        "A `Terminated` that arrives during `on_start` is handled after it; at a stopping or draining actor it is dropped and is no dead letter.",
        "`Terminated` is a message without a sender that could be informed.",
        body!(starting_and_stopping),
    ),
];

async fn order(rule: RuleContext) {
    let (journal, system, gate) = (Journal::new(), rule.system(), Gate::new());
    let watcher = TreeSpec::new("w").spawn(&system, &journal).await;
    let target = TreeSpec::new("t").spawn(&system, &journal).await;
    rule.soon("the watch begins", watcher.ask(Watch(target.clone()))).await.unwrap();
    watcher.tell(Hold(0, gate.clone())).unwrap();
    rule.soon("the watcher is busy", gate.reached()).await;
    target.tell(TellAndStop(watcher.clone(), vec![1, 2, 3])).unwrap();
    rule.soon("the watched actor ends", target.wait()).await.unwrap();
    watcher.tell(Note(4)).unwrap();
    gate.open();
    rule.soon("the watcher is notified", journal.wait_for("w terminated t: stopped")).await;
    let entries = of_watcher(&journal);
    let told =
        entries.iter().position(|entry| entry == "terminated t: stopped").expect("the watcher was notified");
    assert_eq!(entries[..5], ["start", "held 0", "1", "2", "3"]);
    assert!(told >= 5, "{entries:?}");

    // With senders waiting for room: the notice comes after them, and later senders after it.
    let (journal, gate) = (Journal::new(), Gate::new());
    let watcher =
        system.spawn(TreeActor::new(&journal, TreeSpec::new("w"))).bounded(2, Overflow::Block).await.unwrap();
    let target = TreeSpec::new("t").spawn(&system, &journal).await;
    rule.soon("the watch begins", watcher.ask(Watch(target.clone()))).await.unwrap();
    watcher.tell(Hold(0, gate.clone())).unwrap();
    rule.soon("the watcher is busy", gate.reached()).await;
    watcher.tell(Note(1)).unwrap();
    watcher.tell(Note(2)).unwrap();
    let mut third = Box::pin(watcher.send(Note(3)));
    assert!(futures_util::poll!(&mut third).is_pending(), "the mailbox is full");
    target.stop();
    rule.soon("the watched actor ends", target.wait()).await.unwrap();
    // If the notice is already waiting, the next sender comes after it.
    rule.let_idle().await;
    let mut fourth = Box::pin(watcher.send(Note(4)));
    assert!(futures_util::poll!(&mut fourth).is_pending(), "the mailbox is full");
    gate.open();
    rule.soon("the third sender is admitted", third).await.unwrap();
    rule.soon("the fourth sender is admitted", fourth).await.unwrap();
    rule.soon("the watcher continues", watcher.ask(Note(5))).await.unwrap();
    rule.soon("the watcher is notified", journal.wait_for("w terminated t: stopped")).await;
    let entries = of_watcher(&journal);
    let told = entries.iter().position(|entry| entry == "terminated t: stopped");
    assert!(
        told > entries.iter().position(|entry| entry == "3"),
        "the notice comes after the waiting sender: {entries:?}"
    );
    let notes: Vec<_> = entries.iter().filter(|entry| !entry.starts_with("terminated")).collect();
    assert_eq!(notes, ["start", "held 0", "1", "2", "3", "4", "5"]);
}

async fn capacity(rule: RuleContext) {
    let system = rule.system();
    for overflow in [Overflow::Reject, Overflow::Block, Overflow::DropNewest, Overflow::DropOldest] {
        let (journal, gate) = (Journal::new(), Gate::new());
        let shed = Shed::default().length(2);
        let spawn = system.spawn(TreeActor::new(&journal, TreeSpec::new("w"))).bounded(1, overflow);
        let watcher = spawn.shed(shed).await.unwrap();
        let mut targets = Vec::new();
        for _ in 0..4 {
            let target = system.spawn(TreeActor::new(&Journal::new(), TreeSpec::new("t"))).await.unwrap();
            rule.soon("the watch begins", watcher.ask(Watch(target.clone()))).await.unwrap();
            targets.push(target);
        }
        watcher.tell(Hold(0, gate.clone())).unwrap();
        rule.soon("the watcher is busy", gate.reached()).await;
        for target in &targets[..2] {
            target.kill();
            rule.soon("the watched actor ends", target.wait()).await.unwrap();
        }
        queued(&rule, "two notices are queued", &watcher, 2).await;
        watcher.tell(Note(1)).expect("notices take no room");
        let second = watcher.tell(Note(2)).map_err(|error| error.kind());
        for target in &targets[2..] {
            target.kill();
            rule.soon("the watched actor ends", target.wait()).await.unwrap();
        }
        queued(&rule, "four notices and the note are queued", &watcher, 5).await;
        let kept = match overflow {
            Overflow::DropOldest => {
                assert_eq!(second, Ok(()), "{overflow:?}");
                "2"
            }
            Overflow::DropNewest => {
                assert_eq!(second, Ok(()), "{overflow:?}");
                "1"
            }
            _ => {
                assert_eq!(second, Err(ErrorKind::MailboxFull), "{overflow:?}");
                "1"
            }
        };
        gate.open();
        rule.soon("all messages are handled", async {
            while of_watcher(&journal).len() < 7 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        let entries = of_watcher(&journal);
        let notes: Vec<_> = entries.iter().filter(|entry| !entry.starts_with("terminated")).collect();
        assert_eq!(notes, ["start", "held 0", kept], "{overflow:?}");
        let told = entries.iter().filter(|entry| entry.starts_with("terminated")).count();
        assert_eq!(told, 4, "{overflow:?}: {entries:?}");
    }
}

async fn starting_and_stopping(rule: RuleContext) {
    let (journal, system, gate) = (Journal::new(), rule.system(), Gate::new());
    let (ref_sender, mut refs) = tokio::sync::mpsc::unbounded_channel();
    let mut c = TreeSpec::new("c");
    c.ref_sender = Some(ref_sender);
    let spec = TreeSpec::new("w").watching().child(c).start(HookAction::Hold(gate.clone()));
    let spawning = tokio::spawn(system.spawn(TreeActor::factory(&journal, spec)).into_future());
    rule.soon("on_start runs", gate.reached()).await;
    let c = refs.recv().await.unwrap();
    c.stop();
    rule.soon("the child ends", c.wait()).await.unwrap();
    assert_eq!(of_watcher(&journal), ["start"]);
    gate.open();
    let watcher = rule.soon("the actor has started", spawning).await.unwrap().unwrap();
    rule.soon("the watcher is notified", journal.wait_for("w terminated c: stopped")).await;
    watcher.stop();
    rule.soon("the actor ends", watcher.wait()).await.unwrap();

    for drain in [false, true] {
        let (journal, gate) = (Journal::new(), Gate::new());
        let spec =
            if drain { TreeSpec::new("w") } else { TreeSpec::new("w").stop(HookAction::Hold(gate.clone())) };
        let watcher = spec.spawn(&system, &journal).await;
        let target = TreeSpec::new("t").spawn(&system, &journal).await;
        rule.soon("the watch begins", watcher.ask(Watch(target.clone()))).await.unwrap();
        if drain {
            watcher.tell(Hold(0, gate.clone())).unwrap();
        } else {
            watcher.stop();
        }
        rule.soon("the actor reaches the gate", gate.reached()).await;
        watcher.drain();
        target.stop();
        rule.soon("the watched actor ends", target.wait()).await.unwrap();
        gate.open();
        rule.soon("the watcher ends", watcher.wait()).await.unwrap();
        assert!(!of_watcher(&journal).iter().any(|entry| entry.starts_with("terminated")), "{journal:?}");
    }
    assert_eq!((system.actor_count(), system.dead_letter_count()), (0, 0));
}
