//! Asks that are given up while their message waits: from then on they count for nothing.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use dactor_core::testkit::Gate;
use dactor_core::{
    Actor, ActorRef, Context, ErrorKind, Handler, Message, Outcome, Overflow, Priority, Shed, StopReason,
};
use tokio_util::sync::CancellationToken;

use super::body;
use super::busy::Busy;
use crate::actors::{Hooks, Note, Worker};
use crate::{Lab, Pace, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "BOUND-10",
        Topic::Bound,
        &[(Topic::Bound, State::Handling), (Topic::Ask, State::Handling), (Topic::Cancel, State::Handling)],
        "An ask that is dropped, cancelled or timed out while its message waits gives its room back at once, whatever the overflow: the next message is accepted, nothing is dropped for it, and `queued` does not count it.",
        "Clients that give up must not fill a mailbox.",
        body!(room),
    ),
    Rule::must(
        "BOUND-11",
        Topic::Bound,
        &[(Topic::Bound, State::Handling), (Topic::Later, State::Handling)],
        "An ask that was forwarded and is given up while it waits at the second actor gives its room there back at once, and is no dead letter.",
        "The asker does not know who holds its message.",
        body!(forwarded),
    ),
    Rule::must(
        "LINE-08",
        Topic::Bound,
        &[(Topic::Bound, State::Handling), (Topic::Ask, State::Handling)],
        "An ask that is given up leaves the line, and one that is given up in the queue lets the next in line in at once.",
        "Nobody waits behind a message that nobody wants.",
        body!(line),
    ),
    Rule::must(
        "SHED-07",
        Topic::Shed,
        &[(Topic::Shed, State::Handling), (Topic::Ask, State::Handling)],
        "An ask that is given up counts neither for the length nor for the age at which a mailbox sheds load.",
        "Nobody waits for its answer.",
        body!(shed),
    )
    .pace(Pace::Driven),
    Rule::must(
        "DEAD-06",
        Topic::Ask,
        &[
            (Topic::Ask, State::Handling),
            (Topic::Ask, State::Stopping),
            (Topic::Ask, State::Stopped),
            (Topic::Ask, State::Killed),
        ],
        "An ask that is given up while its message waits, in the mailbox or in the turn in hand, is no dead letter however the actor ends.",
        "It was taken back, not lost.",
        body!(no_letter),
    ),
];

const OVERFLOWS: [Overflow; 4] =
    [Overflow::Reject, Overflow::Block, Overflow::DropNewest, Overflow::DropOldest];

/// How an asker gives up.
#[derive(Debug, Clone, Copy)]
enum Way {
    DropPending,
    DropAsk,
    Cancel,
    Timeout,
}

const WAYS: [Way; 4] = [Way::DropPending, Way::DropAsk, Way::Cancel, Way::Timeout];

/// Asks an actor that does not get to it, and gives up.
async fn give_up(lab: &Lab, actor: &ActorRef<Worker>, way: Way, priority: Priority) {
    let mut asked = actor.at(priority).ask(Note(99));
    match way {
        Way::DropPending => drop(asked.enqueue().unwrap()),
        Way::DropAsk => {
            let polled = std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut asked).poll(cx).is_pending()));
            assert!(polled.await, "it waits");
        }
        Way::Cancel => {
            let token = CancellationToken::new();
            let asked = asked.cancel(token.clone()).enqueue().unwrap();
            token.cancel();
            let error = lab.soon("the asker is free", asked).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled);
        }
        Way::Timeout => {
            let asked = asked.timeout(Duration::from_millis(1));
            assert_eq!(lab.soon("the asker is free", asked).await.unwrap_err().kind(), ErrorKind::Timeout);
        }
    }
}

async fn room(lab: Lab) {
    for overflow in OVERFLOWS {
        for way in WAYS {
            for priority in [Priority::Normal, Priority::High, Priority::Low] {
                let busy = Busy::new(&lab, Hooks::default(), |spawn| spawn.bounded(1, overflow)).await;
                give_up(&lab, &busy.actor, way, priority).await;
                assert_eq!(busy.actor.queued(), 0, "{overflow:?} {way:?} {priority:?}");
                busy.actor.tell(Note(1)).unwrap();
                assert_eq!((busy.actor.queued(), busy.system.dead_letters()), (1, 0));
                assert_eq!(busy.handled(&lab).await, ["1"], "{overflow:?} {way:?} {priority:?}");
            }
        }
        let busy = Busy::new(&lab, Hooks::default(), |spawn| spawn.bounded(3, overflow)).await;
        busy.actor.tell(Note(1)).unwrap();
        let given_up = busy.actor.ask(Note(2)).enqueue().unwrap();
        busy.actor.tell(Note(3)).unwrap();
        drop(given_up);
        busy.actor.tell(Note(4)).unwrap();
        assert_eq!((busy.actor.queued(), busy.system.dead_letters()), (3, 0), "{overflow:?}");
        let (system, dropped) = (busy.system.clone(), busy.actor.try_tell(Note(5)));
        let expected: &[&str] = match overflow {
            Overflow::DropOldest => &["3", "4", "5"],
            _ => &["1", "3", "4"],
        };
        assert_eq!(dropped.is_err(), matches!(overflow, Overflow::Reject | Overflow::Block));
        assert_eq!(busy.handled(&lab).await, expected, "{overflow:?}: no more than its capacity");
        assert_eq!(system.dead_letters(), u64::from(dropped.is_ok()));
    }
}

/// Hands everything on.
struct Router(ActorRef<Worker>);
impl Actor for Router {}

/// A note on its way.
struct Passed(u32);

impl Message for Passed {
    type Reply = u32;
}

impl Handler<Passed> for Router {
    async fn handle(&mut self, Passed(number): Passed, ctx: &mut Context<Self>) -> Outcome<u32> {
        ctx.forward(&self.0, Note(number))
    }
}

async fn forwarded(lab: Lab) {
    for overflow in OVERFLOWS {
        let busy = Busy::new(&lab, Hooks::default(), |spawn| spawn.bounded(1, overflow)).await;
        let router = busy.system.spawn(Router(busy.actor.clone())).await.unwrap();
        let asked = router.ask(Passed(7)).enqueue().unwrap();
        router.drain();
        lab.soon("it is forwarded", router.wait()).await.unwrap();
        assert_eq!(busy.actor.queued(), 1);
        drop(asked);
        assert_eq!(busy.actor.queued(), 0, "{overflow:?}");
        busy.actor.tell(Note(1)).unwrap();
        let system = busy.system.clone();
        assert_eq!(busy.handled(&lab).await, ["1"], "{overflow:?}");
        assert_eq!(system.dead_letters(), 0, "{overflow:?}");
    }
}

async fn line(lab: Lab) {
    let busy = Busy::new(&lab, Hooks::default(), |spawn| spawn.bounded(1, Overflow::Block)).await;
    let actor = busy.actor.clone();
    let queued = actor.ask(Note(1)).enqueue().unwrap();
    let waiting: Vec<_> = (2..=4).map(|number| actor.ask(Note(number)).enqueue().unwrap()).collect();
    let sender = tokio::spawn({
        let actor = actor.clone();
        async move { actor.send(Note(5)).await }
    });
    lab.rest().await;
    drop(waiting);
    assert!(!sender.is_finished());
    drop(queued);
    lab.soon("the sender gets in", sender).await.unwrap().unwrap();
    assert_eq!((actor.queued(), busy.system.dead_letters()), (1, 0));
    assert_eq!(actor.tell(Note(6)).unwrap_err().kind(), ErrorKind::MailboxFull);
    assert_eq!(busy.handled(&lab).await, ["5"]);
}

async fn shed(mut lab: Lab) {
    const SECOND: Duration = Duration::from_secs(1);
    let busy = Busy::new(&lab, Hooks::default(), |spawn| spawn.shed(Shed::default().length(2))).await;
    let asked: Vec<_> = (1..=2).map(|number| busy.actor.ask(Note(number)).enqueue().unwrap()).collect();
    assert_eq!(busy.actor.tell(Note(9)).unwrap_err().kind(), ErrorKind::Overloaded);
    drop(asked);
    busy.actor.tell(Note(3)).unwrap();
    let late = busy.actor.ask(Note(4)).enqueue().unwrap();
    assert_eq!(busy.actor.tell(Note(9)).unwrap_err().kind(), ErrorKind::Overloaded);
    drop(late);
    busy.actor.tell(Note(5)).unwrap();
    assert_eq!(busy.handled(&lab).await, ["3", "5"]);

    for priority in [Priority::Normal, Priority::High, Priority::Low] {
        let busy = Busy::new(&lab, Hooks::default(), |spawn| spawn.shed(Shed::default().age(SECOND))).await;
        let old = busy.actor.at(priority).ask(Note(1)).enqueue().unwrap();
        lab.clock().advance(2 * SECOND).await;
        assert_eq!(busy.actor.tell(Note(9)).unwrap_err().kind(), ErrorKind::Overloaded);
        drop(old);
        busy.actor.tell(Note(2)).unwrap();
        let behind = busy.actor.ask(Note(3)).enqueue().unwrap();
        drop(behind);
        lab.clock().advance(SECOND).await;
        busy.actor.at(priority).tell(Note(4)).unwrap();
        assert_eq!(busy.handled(&lab).await.len(), 2, "{priority:?}");
    }
}

async fn no_letter(lab: Lab) {
    for kill in [false, true] {
        let busy = Busy::new(&lab, Hooks::default(), |spawn| spawn).await;
        // Both are taken in one turn, when the first gate opens.
        let (second, actor) = (Gate::new(), busy.actor.clone());
        actor.tell(crate::actors::Hold(1, second.clone())).unwrap();
        let in_hand = actor.ask(Note(2)).enqueue().unwrap();
        busy.gate.open();
        lab.soon("the second handler runs", second.reached()).await;
        let queued = actor.ask(Note(3)).enqueue().unwrap();
        drop(in_hand);
        drop(queued);
        if kill {
            actor.kill();
        } else {
            actor.stop();
        }
        second.open();
        let reason = lab.soon("the actor ends", actor.wait()).await;
        assert_eq!(matches!(reason, Ok(StopReason::Killed)), kill);
        assert_eq!(busy.system.dead_letters(), 0);
    }
}
