//! Streams whose items are an actor's messages.

use std::pin::Pin;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Attached, ErrorKind, Failure, Overflow, StopReason};
use futures_util::stream::{self, Stream, StreamExt};
use tokio::sync::mpsc;

use super::body;
use super::fixture::{Desk, Do, End, Guard, job, note, now, pass, quick};
use crate::{Capability, Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "STREAM-01",
        Topic::Inflow,
        &[(Topic::Inflow, State::Idle), (Topic::Inflow, State::Handling)],
        "The items of an attached stream are handled in order, and the next is asked for when the last has been handled; the actor's other messages come in between. A stream that has ended is finished, and dropped.",
        "A fast source must not fill the mailbox of a slow actor, nor shut others out.",
        body!(one_by_one),
    ),
    Rule::must(
        "STREAM-02",
        Topic::Inflow,
        &[(Topic::Inflow, State::Idle)],
        "A stream that waits for its next item wakes the idle actor with it, wherever it is parked.",
        "Most streams wait most of the time.",
        body!(wakes),
    ),
    Rule::must(
        "STREAM-03",
        Topic::Inflow,
        &[(Topic::Inflow, State::Handling), (Topic::Bound, State::Handling)],
        "An item needs no room in a bounded mailbox, and takes none.",
        "At most one waits, and to lose it would tear a hole into the stream.",
        body!(exempt),
    ),
    Rule::must(
        "STREAM-04",
        Topic::Inflow,
        &[(Topic::Inflow, State::Handling)],
        "To detach is final: the stream is dropped, and an item that is in the mailbox already becomes a dead letter with `Detached`; other streams go on.",
        "An actor that has left a source must not hear from it, and what it did not hear is not lost in silence.",
        body!(detached),
    ),
    Rule::must(
        "STREAM-05",
        Topic::Inflow,
        &[(Topic::Inflow, State::Handling), (Topic::Panic, State::Handling)],
        "A restart detaches the streams of the old instance.",
        "A fresh instance has not asked for them, and may attach its own.",
        body!(restarted),
    ),
    Rule::must(
        "STREAM-06",
        Topic::Inflow,
        &[(Topic::Inflow, State::Handling), (Topic::Failure, State::Handling)],
        "An item whose handler fails is an event, and the stream goes on. A stream that panics ends there: that is an event, too, and the actor goes on.",
        "A source that dies must be noticed, and must not take its reader along.",
        body!(failing),
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
        "A stream ends with its actor, whatever way that ends; an item in the mailbox is handled by a drain, and is a dead letter otherwise.",
        "Nothing of an actor is left behind.",
        body!(ended),
    ),
    Rule::must(
        "STREAM-08",
        Topic::Inflow,
        &[(Topic::Inflow, State::Starting), (Topic::Inflow, State::Stopping)],
        "A stream may be attached in `on_start`: its items come after it. When `on_stop` runs the streams are detached; one that is attached in it ends with the actor and holds nothing up.",
        "A hook is the actor's code like any other.",
        body!(hooks),
    ),
    Rule::must(
        "STREAM-09",
        Topic::Inflow,
        &[(Topic::Inflow, State::NativeStop)],
        "A native stop ends the streams.",
        "It is an end like others.",
        body!(native_stop),
    )
    .needs(Capability::NativeStop),
    Rule::must(
        "STREAM-10",
        Topic::Inflow,
        &[(Topic::Inflow, State::NativeKill)],
        "A native kill ends the streams.",
        "It is an end like others.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill),
    Rule::must(
        "STREAM-11",
        Topic::Inflow,
        &[(Topic::Inflow, State::RuntimeDropped)],
        "The streams of an actor end with its runtime.",
        "Nobody would ask for their items any more.",
        body!(runtime_dropped),
    ),
];

type Items = Pin<Box<dyn Stream<Item = Do> + Send>>;

/// Numbers that are noted when they are taken (`take 1`) and when they are handled (`1`); `dropped` when it is.
fn numbers(journal: &Journal, numbers: std::ops::RangeInclusive<u32>) -> Items {
    let guard = Guard(journal.clone(), "dropped");
    Box::pin(stream::iter(numbers).map(move |number| {
        guard.0.note(format!("take {number}"));
        note(&guard.0, number)
    }))
}

/// What is sent comes; notes `dropped` when it is.
fn channel(journal: &Journal) -> (mpsc::UnboundedSender<Do>, Items) {
    let (send, receive) = mpsc::unbounded_channel();
    let guard = Guard(journal.clone(), "dropped");
    let items = stream::unfold((receive, guard), |(mut receive, guard)| async {
        Some((receive.recv().await?, (receive, guard)))
    });
    (send, Box::pin(items))
}

async fn attach(lab: &Lab, desk: &ActorRef<Desk>, stream: Items) -> Attached {
    now(lab, desk, |ctx| ctx.attach(stream)).await
}

async fn one_by_one(lab: Lab) {
    let journal = Journal::new();
    let desk = lab.system().spawn(Desk::default()).await.unwrap();
    let gate = Gate::new();
    desk.tell(pass(&gate)).unwrap();
    lab.soon("it is busy", gate.reached()).await;
    let items = numbers(&journal, 1..=3);
    let attach_it = quick(|_, ctx| {
        ctx.attach(items);
        Ok(0)
    });
    desk.tell(attach_it).unwrap();
    let second = Gate::new();
    desk.tell(pass(&second)).unwrap();
    gate.open();
    lab.soon("an item is taken", journal.wait_for("take 1")).await;
    lab.soon("it is busy", second.reached()).await;
    lab.rest().await;
    assert_eq!(journal.entries(), ["take 1"], "only one is on its way");
    desk.tell(note(&journal, "told")).unwrap();
    second.open();
    lab.soon("the stream ends", journal.wait_for("dropped")).await;
    let mut entries = journal.entries();
    // Where it comes depends on who was first in the mailbox.
    entries.retain(|entry| entry != "told");
    assert_eq!(entries, ["take 1", "1", "take 2", "2", "take 3", "3", "dropped"]);
    lab.soon("the other message is handled", journal.wait_for("told")).await;
    let attached = attach(&lab, &desk, Box::pin(stream::empty())).await;
    lab.soon("it is finished", async {
        while !attached.is_finished() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

async fn wakes(lab: Lab) {
    for exposed in [false, true] {
        let journal = Journal::new();
        let desk = lab.system().spawn(Desk::default()).await.unwrap();
        if exposed {
            lab.expose(&desk);
        }
        let (send, items) = channel(&journal);
        let attached = attach(&lab, &desk, items).await;
        for number in 0..5 {
            lab.rest().await;
            send.send(note(&journal, number)).unwrap();
            lab.soon("the item is handled", journal.wait_for(&number.to_string())).await;
        }
        assert!(!attached.is_finished());
        drop(send);
        lab.soon("the stream ends", journal.wait_for("dropped")).await;
    }
}

async fn exempt(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let desk = system.spawn(Desk::default()).bounded(1, Overflow::Reject).await.unwrap();
    let (send, items) = channel(&journal);
    attach(&lab, &desk, items).await;
    desk.tell(pass(&gate)).unwrap();
    lab.soon("it is busy", gate.reached()).await;
    send.send(note(&journal, "item")).unwrap();
    lab.soon("the item is in the mailbox", async {
        while desk.queued() == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let second = Gate::new();
    desk.tell(pass(&second)).unwrap();
    assert_eq!(desk.tell(note(&journal, "no")).unwrap_err().kind(), ErrorKind::MailboxFull);
    gate.open();
    lab.soon("it is busy again", second.reached()).await;
    desk.tell(note(&journal, "told")).unwrap();
    send.send(note(&journal, "another")).unwrap();
    lab.soon("the full mailbox takes the item", async {
        while desk.queued() == 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    second.open();
    lab.soon("the item is handled", journal.wait_for("another")).await;
    assert_eq!(journal.entries(), ["item", "told", "another"]);
}

/// A busy desk with an item of a stream in its mailbox.
struct Waiting {
    desk: ActorRef<Desk>,
    gate: Gate,
    attached: Attached,
    _source: mpsc::UnboundedSender<Do>,
}

impl Waiting {
    async fn new(lab: &Lab, desk: ActorRef<Desk>, journal: &Journal) -> Self {
        let (source, items) = channel(journal);
        let attached = attach(lab, &desk, items).await;
        let gate = Gate::new();
        desk.tell(pass(&gate)).unwrap();
        lab.soon("it is busy", gate.reached()).await;
        source.send(note(journal, "item")).unwrap();
        let arrived = async {
            while desk.queued() == 0 {
                tokio::task::yield_now().await;
            }
        };
        lab.soon("the item is in the mailbox", arrived).await;
        Self { desk, gate, attached, _source: source }
    }
}

async fn detached(lab: Lab) {
    let journal = Journal::new();
    let (system, events) = lab.observed();
    let desk = system.spawn(Desk::default()).await.unwrap();
    let Waiting { desk, gate, attached, .. } = Waiting::new(&lab, desk, &journal).await;
    attached.detach();
    assert!(attached.is_finished());
    lab.soon("the stream is dropped", journal.wait_for("dropped")).await;
    let items = numbers(&journal, 1..=1);
    desk.tell(quick(|_, ctx| {
        ctx.attach(items);
        Ok(0)
    }))
    .unwrap();
    gate.open();
    lab.soon("the other goes on", journal.wait_for("1")).await;
    assert_eq!(journal.entries()[..3], ["dropped", "take 1", "1"]);
    assert_eq!(events.journal().entries(), ["dead Do"]);
    assert_eq!(events.errors()[0].kind(), ErrorKind::Detached);
    attached.detach();
}

async fn restarted(lab: Lab) {
    let journal = Journal::new();
    let (system, events) = lab.observed();
    let noting = journal.clone();
    let factory = move || {
        let again = numbers(&noting, 7..=7);
        Desk::default().on_start(quick(|_, ctx| {
            ctx.attach(again);
            Ok(0)
        }))
    };
    let desk = system.spawn(factory).await.unwrap();
    lab.soon("the first stream ends", journal.wait_for("dropped")).await;
    let waiting = Waiting::new(&lab, desk, &journal).await;
    // Of high priority, so before the item.
    waiting.desk.at(dactor_core::Priority::High).tell(quick(|_, _| panic!("restart"))).unwrap();
    let before = journal.len();
    waiting.gate.open();
    lab.soon("the item is a dead letter", events.journal().wait_for("dead Do")).await;
    assert!(waiting.attached.is_finished());
    lab.soon("the new stream ends", journal.wait_len(before + 4)).await;
    let mut entries = journal.entries()[before..].to_vec();
    entries.sort_unstable();
    assert_eq!(entries, ["7", "dropped", "dropped", "take 7"]);
    assert_eq!(events.journal().entries(), ["failed Do", "restarted", "dead Do"]);
    assert_eq!(events.errors()[2].kind(), ErrorKind::Detached);
}

async fn failing(lab: Lab) {
    let journal = Journal::new();
    let (system, events) = lab.observed();
    let desk = system.spawn(Desk::default()).name("reader").await.unwrap();
    let (fails, fine) = (quick(|_, _| Err(Failure::new("no"))), note(&journal, "fine"));
    let panics = stream::poll_fn(|_| panic!("the source broke"));
    let attached = attach(&lab, &desk, Box::pin(stream::iter([fails, fine]).chain(panics))).await;
    lab.soon("the panic is told", async {
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
        (ErrorKind::Panicked, Some("pekko://lab/user/reader"))
    );
    assert!(format!("{:#}", errors[1]).contains("the source broke"), "{}", errors[1]);
    lab.soon("the stream is over", async {
        while !attached.is_finished() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    lab.soon("the actor goes on", desk.ask(note(&journal, "x"))).await.unwrap();
}

async fn ended(lab: Lab) {
    for end in End::OWN {
        let (journal, system) = (Journal::new(), lab.system());
        let desk = system.spawn(Desk::default()).await.unwrap();
        let waiting = Waiting::new(&lab, desk, &journal).await;
        end.of(&lab, &waiting.desk).await;
        waiting.gate.open();
        lab.soon("the actor ends", waiting.desk.wait()).await.unwrap();
        lab.soon("the stream is dropped", journal.wait_for("dropped")).await;
        assert!(waiting.attached.is_finished(), "{end:?}");
        // The failure comes behind the item.
        let handled = matches!(end, End::Drain | End::Failure);
        assert_eq!(journal.count("item"), usize::from(handled), "{end:?}");
        assert_eq!(system.dead_letters(), u64::from(!handled), "{end:?}");
    }
}

async fn hooks(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let (first, last) = (numbers(&journal, 1..=2), numbers(&journal, 3..=3));
    let (hold, noting) = (gate.clone(), journal.clone());
    let starting = job(move |_, ctx| {
        Box::pin(async move {
            ctx.attach(first);
            hold.pass().await;
            noting.note("started");
            Ok(0)
        })
    });
    let stopped = Gate::new();
    let hold_stop = stopped.clone();
    let stopping = job(move |_, ctx| {
        Box::pin(async move {
            ctx.attach(last);
            hold_stop.pass().await;
            Ok(0)
        })
    });
    let desk = Desk::default().on_start(starting).on_stop(stopping);
    let spawned = {
        let system = system.clone();
        tokio::spawn(async move { system.spawn(desk).await })
    };
    lab.soon("it starts", gate.reached()).await;
    lab.soon("an item is taken", journal.wait_for("take 1")).await;
    gate.open();
    let desk = lab.soon("it has started", spawned).await.unwrap().unwrap();
    lab.soon("the stream ends", journal.wait_for("dropped")).await;
    assert_eq!(journal.entries(), ["take 1", "started", "1", "take 2", "2", "dropped"]);
    let (_source, items) = channel(&journal);
    let attached = attach(&lab, &desk, items).await;
    desk.stop();
    lab.soon("it stops", stopped.reached()).await;
    assert!(attached.is_finished());
    lab.soon("both are dropped", journal.wait_len(8)).await;
    assert_eq!(journal.count("dropped"), 3, "nothing is taken for an actor that stops");
    stopped.open();
    assert!(matches!(lab.soon("the actor ends", desk.wait()).await.unwrap(), StopReason::Stopped));
}

async fn native_stop(lab: Lab) {
    let journal = Journal::new();
    let desk = lab.system().spawn(Desk::default()).await.unwrap();
    let (_source, items) = channel(&journal);
    attach(&lab, &desk, items).await;
    lab.native_stop(&desk).await;
    lab.soon("the actor ends", desk.wait()).await.unwrap();
    lab.soon("the stream is dropped", journal.wait_for("dropped")).await;
}

async fn native_kill(lab: Lab) {
    let journal = Journal::new();
    let desk = lab.system().spawn(Desk::default()).await.unwrap();
    let waiting = Waiting::new(&lab, desk, &journal).await;
    lab.native_kill(&waiting.desk).await;
    lab.soon("the actor ends", waiting.desk.wait()).await.unwrap();
    lab.soon("the stream is dropped", journal.wait_for("dropped")).await;
    assert_eq!((journal.len(), waiting.desk.system().dead_letters()), (1, 1));
}

async fn runtime_dropped(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let (_source, items) = channel(&journal);
    let born = lab.elsewhere(move || async move {
        let desk = system.spawn(Desk::default()).await.unwrap();
        let attach = quick(|_, ctx| {
            ctx.attach(items);
            Ok(0)
        });
        desk.ask(attach).await.unwrap();
        desk
    });
    let desk = lab.soon("the runtime is dropped", born).await;
    lab.soon("the actor ends", desk.wait()).await.unwrap();
    lab.soon("the stream is dropped", journal.wait_for("dropped")).await;
}
