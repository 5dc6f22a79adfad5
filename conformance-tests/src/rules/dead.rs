//! Dead letters: everything that was sent and not handled, for whoever wants to know.

use std::future::Future;
use std::pin::Pin;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Actor, Context, ErrorKind, Handler, Lagged, Message, Outcome, Overflow};

use super::body;
use crate::actors::{Hold, HoldAndFail, Note, Worker};
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "DEAD-01",
        Topic::Tell,
        &[(Topic::Tell, State::Dead), (Topic::Ask, State::Dead), (Topic::Bound, State::Handling)],
        "A subscriber gets every dead letter from then on, in order, with the actor, the type of the message and the error: what was refused, what was dropped and what was left in the queue.",
        "Whoever looks after a system sees what it loses.",
        body!(all),
    ),
    Rule::must(
        "DEAD-02",
        Topic::Tell,
        &[(Topic::Tell, State::Dead)],
        "A dead letter shows the message itself only if its type opted in; a text that panics is contained.",
        "Messages may hold secrets.",
        body!(text),
    ),
    Rule::must(
        "DEAD-03",
        Topic::Tell,
        &[(Topic::Tell, State::Dead)],
        "A subscriber that does not read slows nobody; when it reads, it is told how many it missed, and the count is exact for everyone.",
        "Watching must not change what is watched.",
        body!(lag),
    ),
    Rule::must(
        "DEAD-04",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "A reply whose asker gave up while the handler ran is a dead letter with `AskerGone`, naming actor and message; a failure that nobody waits for is an event, as for a tell. An ask that was withdrawn before is neither.",
        "Work that was done and reached nobody is a sign that something is too slow.",
        body!(unheard),
    ),
    Rule::must(
        "DEAD-05",
        Topic::Ask,
        &[(Topic::Ask, State::Idle), (Topic::Ask, State::Dead)],
        "A reply that has come and is dropped unread is a dead letter with `AskerGone`, naming actor and message; a failure is an event. A refusal is reported once.",
        "The handler was told that the asker has it.",
        body!(unread),
    ),
];

async fn all(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let mut feed = system.dead_letter_feed();
    let mut second = system.dead_letter_feed();
    let actor = system.spawn(Worker::new(&journal)).name("a").bounded(2, Overflow::Reject).await.unwrap();
    actor.tell(Hold(0, gate.clone())).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    actor.tell(Note(1)).unwrap();
    let asked = actor.ask(Note(2)).enqueue().unwrap();
    actor.tell(Hold(3, gate.clone())).unwrap_err();
    actor.stop();
    gate.open();
    lab.soon("the asker is answered", asked).await.unwrap_err();
    lab.soon("the actor ends", actor.wait()).await.unwrap();
    actor.try_tell(Note(4)).unwrap_err();
    lab.soon("an ask is refused", actor.ask(Hold(5, gate))).await.unwrap_err();
    let (hold, note) = (std::any::type_name::<Hold>(), std::any::type_name::<Note>());
    let expected = [
        (hold, ErrorKind::MailboxFull),
        (note, ErrorKind::Stopped),
        (note, ErrorKind::Stopped),
        (hold, ErrorKind::Stopped),
    ];
    for feed in [&mut feed, &mut second] {
        for (message, kind) in expected {
            let letter = lab.soon("a dead letter comes", feed.next()).await.unwrap();
            assert_eq!((letter.message, letter.error.kind()), (message, kind));
            assert_eq!((letter.actor.as_str(), letter.text), ("pekko://lab/user/a", None));
        }
        lab.never("a letter for what was handed back", feed.next()).await;
    }
    assert_eq!(system.dead_letters(), 4);
}

async fn unheard(lab: Lab) {
    let (system, events) = lab.observed();
    let (journal, gate) = (Journal::new(), Gate::new());
    let mut feed = system.dead_letter_feed();
    let actor = system.spawn(Worker::new(&journal)).name("a").await.unwrap();
    let asked = actor.ask(Hold(1, gate.clone())).enqueue().unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    let withdrawn = actor.ask(Note(2)).enqueue().unwrap();
    drop(asked);
    drop(withdrawn);
    gate.open();
    let letter = lab.soon("the reply is a dead letter", feed.next()).await.unwrap();
    assert_eq!(
        (letter.actor.as_str(), letter.message),
        ("pekko://lab/user/a", std::any::type_name::<Hold>())
    );
    assert_eq!(
        (letter.error.kind(), letter.error.get("actor")),
        (ErrorKind::AskerGone, Some("pekko://lab/user/a"))
    );
    assert_eq!(lab.soon("the actor goes on", actor.ask(Note(3))).await.unwrap(), 3);

    let gate = Gate::new();
    let asked = actor.ask(HoldAndFail(gate.clone(), "too late")).enqueue().unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    drop(asked);
    gate.open();
    lab.soon("the failure is handled", journal.wait_for("error: too late")).await;
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "3", "error: too late"]);
    assert_eq!(events.journal().entries(), ["dead Hold", "failed HoldAndFail"]);
    assert_eq!(system.dead_letters(), 1);
}

async fn unread(lab: Lab) {
    let (system, events) = lab.observed();
    let journal = Journal::new();
    let mut feed = system.dead_letter_feed();
    let actor = system.spawn(Worker::new(&journal)).name("a").await.unwrap();
    let enqueued = actor.ask(Note(1)).enqueue().unwrap();
    let mut polled = actor.ask(Note(2));
    let waker = std::task::Waker::noop();
    assert!(Pin::new(&mut polled).poll(&mut std::task::Context::from_waker(waker)).is_pending());
    let failed = actor.ask(HoldAndFail(opened(), "no")).enqueue().unwrap();
    assert_eq!(lab.soon("all are answered", actor.ask(Note(3))).await.unwrap(), 3);
    assert_eq!(system.dead_letters(), 0);
    drop(enqueued);
    drop(polled);
    drop(failed);
    for _ in 0..2 {
        let letter = lab.soon("the reply is a dead letter", feed.next()).await.unwrap();
        assert_eq!(
            (letter.actor.as_str(), letter.message, letter.error.kind()),
            ("pekko://lab/user/a", std::any::type_name::<Note>(), ErrorKind::AskerGone)
        );
        assert_eq!(letter.error.get("message"), Some(std::any::type_name::<Note>()));
    }
    assert_eq!(events.journal().entries(), ["dead Note", "dead Note", "failed HoldAndFail"]);

    let gate = Gate::new();
    actor.tell(Hold(4, gate.clone())).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    let refused = actor.ask(Note(5)).enqueue().unwrap();
    actor.stop();
    gate.open();
    lab.soon("the actor ends", actor.wait()).await.unwrap();
    assert_eq!(system.dead_letters(), 3);
    drop(refused);
    assert_eq!(system.dead_letters(), 3, "it was reported when it was refused");
}

/// A gate that holds nothing up.
fn opened() -> Gate {
    let gate = Gate::new();
    gate.open();
    gate
}

struct Open(u32);

impl Message for Open {
    type Reply = ();

    fn describe(&self) -> Option<String> {
        assert!(self.0 != 0, "no text for zero");
        Some(format!("open {}", self.0))
    }
}

struct Postbox;
impl Actor for Postbox {}

impl Handler<Open> for Postbox {
    async fn handle(&mut self, _: Open, _: &mut Context<Self>) -> Outcome<()> {
        Ok(())
    }
}

async fn text(lab: Lab) {
    let system = lab.system();
    let actor = system.spawn(Postbox).await.unwrap();
    actor.stop();
    lab.soon("the actor ends", actor.wait()).await.unwrap();
    let mut feed = system.dead_letter_feed();
    actor.tell(Open(7)).unwrap_err();
    lab.soon("an ask is refused", actor.ask(Open(8))).await.unwrap_err();
    actor.tell(Open(0)).unwrap_err();
    for expected in ["open 7", "open 8", "(no text for zero)"] {
        let letter = lab.soon("a dead letter comes", feed.next()).await.unwrap();
        assert_eq!(letter.text.as_deref(), Some(expected));
    }
}

async fn lag(lab: Lab) {
    const SENT: u64 = 5_000;
    let system = lab.system();
    let actor = system.spawn(Postbox).await.unwrap();
    actor.stop();
    lab.soon("the actor ends", actor.wait()).await.unwrap();
    let mut feed = system.dead_letter_feed();
    for number in 1..=SENT {
        actor.tell(Open(number as u32)).unwrap_err();
    }
    assert_eq!(system.dead_letters(), SENT);
    let Err(Lagged { missed, .. }) = lab.soon("the lag is told", feed.next()).await else {
        panic!("nothing was missed");
    };
    for number in missed + 1..=SENT {
        let letter = lab.soon("the rest comes", feed.next()).await.unwrap();
        assert_eq!(letter.text, Some(format!("open {number}")));
    }
    drop(feed);
    actor.tell(Open(1)).unwrap_err();
    assert_eq!(system.dead_letters(), SENT + 1);
}
