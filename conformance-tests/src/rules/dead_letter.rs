//! Dead letters: messages and replies that were sent and not handled.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{
    Actor, ActorPath, ActorRef, Context, DeadLetterTarget, ErrorKind, Event, Handler, Lagged, Message,
    Outcome, Overflow, StopReason,
};

use crate::fixtures::busy::BusyWorker;
use crate::fixtures::hooks::Hooks;
use crate::fixtures::scripted::{ScriptedActor, reply_with};
use crate::fixtures::worker::{Hold, HoldAndFail, Note, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "DEAD-01",
        Topic::Tell,
        &[(Topic::Tell, State::Dead), (Topic::Ask, State::Dead), (Topic::Bound, State::Handling)],
        "A subscriber receives every later dead letter, in order, with the actor, the type of the message and the error: refused messages, dropped messages and messages left in the queue.",
        "Operators see which messages a system loses.",
        body!(all),
    ),
    Rule::must(
        "DEAD-02",
        Topic::Tell,
        &[(Topic::Tell, State::Dead)],
        "A dead letter contains the text of its message only if the message type opted in; a text that panics is contained.",
        "Messages may contain secrets.",
        body!(text),
    ),
    Rule::must(
        "DEAD-03",
        Topic::Tell,
        &[(Topic::Tell, State::Dead)],
        "A subscriber that does not read delays no sender; when it reads, it learns how many dead letters it missed, and the total count is exact.",
        "Observing must not change the observed system.",
        body!(lag),
    ),
    Rule::must(
        "DEAD-04",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "A reply whose asker gave up while the handler ran becomes a dead letter with `AskerGone`, naming the actor and the message; a failure without an asker is an event, as for a tell. An ask withdrawn earlier causes neither.",
        "Unread results show that an actor is too slow.",
        body!(unheard),
    ),
    Rule::must(
        "DEAD-05",
        Topic::Ask,
        &[(Topic::Ask, State::Idle), (Topic::Ask, State::Dead)],
        "A reply dropped unread after it arrived becomes a dead letter with `AskerGone`, naming the actor and the message; a failure is an event. A refusal is reported once.",
        "The handler was told that the asker has the reply.",
        body!(unread),
    ),
    Rule::must(
        "DEAD-06",
        Topic::Ask,
        &[
            (Topic::Ask, State::Handling),
            (Topic::Ask, State::Stopping),
            (Topic::Ask, State::Stopped),
            (Topic::Ask, State::Killed),
        ],
        "An ask given up while its message waits, in the mailbox or in the current turn, is no dead letter, however the actor ends.",
        "The message was withdrawn, not lost.",
        body!(no_letter),
    ),
    Rule::must(
        "DEAD-07",
        Topic::Tell,
        &[(Topic::Tell, State::Dead)],
        "An event caused by an observer reaches all observers after the current event, on the same thread and without recursion; an endless chain is cut off, and its dead letters are still counted and in the feed.",
        "An observer may send messages.",
        body!(chain),
    ),
    Rule::must(
        "DEAD-08",
        Topic::Tell,
        &[(Topic::Tell, State::Dead), (Topic::Paths, State::Dead)],
        "Events and dead letters carry the path of the actor, with its UID: two incarnations at one path can be told apart, and the path finds the actor while it is alive. The target of a message that a selection took to no actor is the selection. Both are printed without a UID.",
        "An observer looks up what it is told of, and does not parse text.",
        body!(carried),
    ),
];

/// A message for several actors.
#[derive(Clone)]
struct Copied;

impl Message for Copied {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

impl Handler<Copied> for Worker {
    async fn handle(&mut self, Copied: Copied, _: &mut Context<Self>) -> Outcome<()> {
        Ok(())
    }
}

async fn carried(rule: RuleContext) {
    let paths: Arc<Mutex<Vec<ActorPath>>> = Arc::default();
    let record = paths.clone();
    let observer = move |event: &Event| match event {
        Event::Spawned { actor, .. } | Event::Stopped { actor, .. } | Event::Restarted { actor, .. } => {
            record.lock().unwrap().push(actor.clone());
        }
        _ => {}
    };
    let system = rule.builder().observe(observer).build().unwrap();
    let mut feed = system.dead_letter_feed();
    let mut uids = Vec::new();
    for _ in 0..2 {
        let actor = system.spawn(Worker::factory(&Journal::new(), Hooks::default())).name("a").await.unwrap();
        let spawned = paths.lock().unwrap().last().cloned().expect("an event");
        assert_eq!(system.actor_at::<Worker>(&spawned).unwrap(), actor);
        actor.stop();
        rule.soon("the actor ends", actor.wait()).await.unwrap();
        actor.tell(Note(1)).unwrap_err();
        let letter = rule.soon("a dead letter arrives", feed.next()).await.unwrap();
        assert_eq!(letter.target.to_string(), "pekko://test/user/a");
        let path = letter.target.path().expect("the target is an actor");
        assert!(path.is_same_incarnation(&actor.path()) && path.uid() == Some(actor.uid()));
        uids.push(actor.uid());
    }
    let seen: Vec<_> = paths.lock().unwrap().iter().filter_map(ActorPath::uid).collect();
    assert_eq!(seen, [uids[0], uids[0], uids[1], uids[1]]);
    let selection = system.select("/user/none/*").unwrap();
    assert_eq!(selection.tell::<Worker, _>(Copied), 0);
    let letter = rule.soon("a dead letter arrives", feed.next()).await.unwrap();
    assert_eq!(letter.target, DeadLetterTarget::Selection(selection.selection().clone()));
    assert_eq!((letter.target.path(), &*letter.target.to_string()), (None, "pekko://test/user/none/*"));
}

async fn all(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let mut feed = system.dead_letter_feed();
    let mut second = system.dead_letter_feed();
    let actor = system.spawn(Worker::new(&journal)).name("a").bounded(2, Overflow::Reject).await.unwrap();
    actor.tell(Hold(0, gate.clone())).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    actor.tell(Note(1)).unwrap();
    let asked = actor.ask(Note(2)).enqueue().unwrap();
    actor.tell(Hold(3, gate.clone())).unwrap_err();
    actor.stop();
    gate.open();
    rule.soon("the asker is answered", asked).await.unwrap_err();
    rule.soon("the actor ends", actor.wait()).await.unwrap();
    actor.try_tell(Note(4)).unwrap_err();
    rule.soon("an ask is refused", actor.ask(Hold(5, gate))).await.unwrap_err();
    let (hold, note) = (std::any::type_name::<Hold>(), std::any::type_name::<Note>());
    let expected = [
        (hold, ErrorKind::MailboxFull),
        (note, ErrorKind::Stopped),
        (note, ErrorKind::Stopped),
        (hold, ErrorKind::Stopped),
    ];
    for feed in [&mut feed, &mut second] {
        for (message, kind) in expected {
            let letter = rule.soon("a dead letter arrives", feed.next()).await.unwrap();
            assert_eq!((letter.message, letter.error.kind()), (message, kind));
            assert_eq!((&*letter.target.to_string(), letter.text), ("pekko://test/user/a", None));
        }
        rule.never("a dead letter for a returned message", feed.next()).await;
    }
    assert_eq!(system.dead_letter_count(), 4);
}

async fn unheard(rule: RuleContext) {
    let (system, events) = rule.system_with_events();
    let (journal, gate) = (Journal::new(), Gate::new());
    let mut feed = system.dead_letter_feed();
    let actor = system.spawn(Worker::new(&journal)).name("a").await.unwrap();
    let asked = actor.ask(Hold(1, gate.clone())).enqueue().unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    let withdrawn = actor.ask(Note(2)).enqueue().unwrap();
    drop(asked);
    drop(withdrawn);
    gate.open();
    let letter = rule.soon("the reply is a dead letter", feed.next()).await.unwrap();
    assert_eq!(
        (&*letter.target.to_string(), letter.message),
        ("pekko://test/user/a", std::any::type_name::<Hold>())
    );
    assert_eq!(
        (letter.error.kind(), letter.error.get("actor")),
        (ErrorKind::AskerGone, Some("pekko://test/user/a"))
    );
    assert_eq!(rule.soon("the actor continues", actor.ask(Note(3))).await.unwrap(), 3);

    let gate = Gate::new();
    let asked = actor.ask(HoldAndFail(gate.clone(), "too late")).enqueue().unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    drop(asked);
    gate.open();
    rule.soon("the failure is handled", journal.wait_for("error: too late")).await;
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "3", "error: too late"]);
    assert_eq!(events.journal().entries(), ["dead Hold", "failed HoldAndFail"]);
    assert_eq!(system.dead_letter_count(), 1);
}

async fn unread(rule: RuleContext) {
    let (system, events) = rule.system_with_events();
    let journal = Journal::new();
    let mut feed = system.dead_letter_feed();
    let actor = system.spawn(Worker::new(&journal)).name("a").await.unwrap();
    let enqueued = actor.ask(Note(1)).enqueue().unwrap();
    let mut polled = actor.ask(Note(2));
    let waker = std::task::Waker::noop();
    assert!(Pin::new(&mut polled).poll(&mut std::task::Context::from_waker(waker)).is_pending());
    let failed = actor.ask(HoldAndFail(opened(), "no")).enqueue().unwrap();
    assert_eq!(rule.soon("all are answered", actor.ask(Note(3))).await.unwrap(), 3);
    assert_eq!(system.dead_letter_count(), 0);
    drop(enqueued);
    drop(polled);
    drop(failed);
    for _ in 0..2 {
        let letter = rule.soon("the reply is a dead letter", feed.next()).await.unwrap();
        assert_eq!(
            (&*letter.target.to_string(), letter.message, letter.error.kind()),
            ("pekko://test/user/a", std::any::type_name::<Note>(), ErrorKind::AskerGone)
        );
        assert_eq!(letter.error.get("message"), Some(std::any::type_name::<Note>()));
    }
    assert_eq!(events.journal().entries(), ["dead Note", "dead Note", "failed HoldAndFail"]);

    let gate = Gate::new();
    actor.tell(Hold(4, gate.clone())).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    let refused = actor.ask(Note(5)).enqueue().unwrap();
    actor.stop();
    gate.open();
    rule.soon("the actor ends", actor.wait()).await.unwrap();
    assert_eq!(system.dead_letter_count(), 3);
    drop(refused);
    assert_eq!(system.dead_letter_count(), 3, "the refusal was already reported");
}

/// An open gate.
fn opened() -> Gate {
    let gate = Gate::new();
    gate.open();
    gate
}

struct Described(u32);

impl Message for Described {
    type Reply = ();
    type Access = dactor_core::Exclusive;

    fn describe(&self) -> Option<String> {
        assert!(self.0 != 0, "no text for zero");
        Some(format!("open {}", self.0))
    }
}

struct DescribedActor;

impl Actor for DescribedActor {}

impl Handler<Described> for DescribedActor {
    async fn handle(&mut self, _: Described, _: &mut Context<Self>) -> Outcome<()> {
        Ok(())
    }
}

async fn text(rule: RuleContext) {
    let system = rule.system();
    let actor = system.spawn(DescribedActor).await.unwrap();
    actor.stop();
    rule.soon("the actor ends", actor.wait()).await.unwrap();
    let mut feed = system.dead_letter_feed();
    actor.tell(Described(7)).unwrap_err();
    rule.soon("an ask is refused", actor.ask(Described(8))).await.unwrap_err();
    actor.tell(Described(0)).unwrap_err();
    for expected in ["open 7", "open 8", "(no text for zero)"] {
        let letter = rule.soon("a dead letter arrives", feed.next()).await.unwrap();
        assert_eq!(letter.text.as_deref(), Some(expected));
    }
}

async fn lag(rule: RuleContext) {
    const SENT: u64 = 5_000;
    let system = rule.system();
    let actor = system.spawn(DescribedActor).await.unwrap();
    actor.stop();
    rule.soon("the actor ends", actor.wait()).await.unwrap();
    let mut feed = system.dead_letter_feed();
    for number in 1..=SENT {
        actor.tell(Described(number as u32)).unwrap_err();
    }
    assert_eq!(system.dead_letter_count(), SENT);
    let Err(Lagged { missed, .. }) = rule.soon("the feed reports the lag", feed.next()).await else {
        panic!("no dead letter was missed");
    };
    for number in missed + 1..=SENT {
        let letter = rule.soon("the remaining dead letters arrive", feed.next()).await.unwrap();
        assert_eq!(letter.text, Some(format!("open {number}")));
    }
    drop(feed);
    actor.tell(Described(1)).unwrap_err();
    assert_eq!(system.dead_letter_count(), SENT + 1);
}

async fn no_letter(rule: RuleContext) {
    for kill in [false, true] {
        let busy = BusyWorker::new(&rule, Hooks::default(), |spawn| spawn).await;
        // One turn takes both messages when the first gate opens.
        let (second, actor) = (Gate::new(), busy.actor.clone());
        actor.tell(crate::fixtures::worker::Hold(1, second.clone())).unwrap();
        let in_hand = actor.ask(Note(2)).enqueue().unwrap();
        busy.gate.open();
        rule.soon("the second handler runs", second.reached()).await;
        let queued = actor.ask(Note(3)).enqueue().unwrap();
        drop(in_hand);
        drop(queued);
        if kill {
            actor.kill();
        } else {
            actor.stop();
        }
        second.open();
        let reason = rule.soon("the actor ends", actor.wait()).await;
        assert_eq!(matches!(reason, Ok(StopReason::Killed)), kill);
        assert_eq!(busy.system.dead_letter_count(), 0);
    }
}

async fn chain(rule: RuleContext) {
    // A chain that ends by itself, and an endless one.
    for (limit, expected) in [(100, Some(101)), (usize::MAX, None)] {
        let (seen, last) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (count, behind, target) = (seen.clone(), last.clone(), Arc::new(OnceLock::new()));
        let inner: Arc<OnceLock<ActorRef<ScriptedActor>>> = target.clone();
        let observer = move |event: &Event| {
            if let (Event::DeadLetter(_), Some(dead)) = (event, inner.get())
                && count.fetch_add(1, Ordering::Relaxed) < limit
            {
                let _ = dead.tell(reply_with(1));
            }
        };
        let counts = move |event: &Event| {
            behind.fetch_add(usize::from(matches!(event, Event::DeadLetter(_))), Ordering::Relaxed);
        };
        let system = rule.builder().observe(observer).observe(counts).build().unwrap();
        let dead = system.spawn(ScriptedActor::default()).await.unwrap();
        dead.stop();
        rule.soon("the actor ends", dead.wait()).await.unwrap();
        target.set(dead.clone()).unwrap();
        for round in 1..=2 {
            assert_eq!(dead.tell(reply_with(1)).unwrap_err().kind(), ErrorKind::Stopped);
            let (seen, last) = (seen.load(Ordering::Relaxed), last.load(Ordering::Relaxed));
            assert_eq!(seen, last, "both observers see the same events");
            let letters = system.dead_letter_count();
            match expected {
                Some(expected) => {
                    assert_eq!((seen, letters), (expected + round - 1, (expected + round - 1) as u64))
                }
                None => assert!(seen > 100 * round && letters > seen as u64, "{seen} of {letters}"),
            }
        }
    }
}
