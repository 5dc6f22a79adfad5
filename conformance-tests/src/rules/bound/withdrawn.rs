//! Asks that are given up while their message waits free their room.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use dactor_core::{Actor, ActorRef, Context, ErrorKind, Handler, Message, Outcome, Overflow, Priority};
use tokio_util::sync::CancellationToken;

use crate::fixtures::busy::BusyWorker;
use crate::fixtures::hooks::Hooks;
use crate::fixtures::worker::{Note, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "BOUND-10",
        Topic::Bound,
        &[(Topic::Bound, State::Handling), (Topic::Ask, State::Handling), (Topic::Cancel, State::Handling)],
        "An ask dropped, cancelled or timed out while its message waits frees its room at once, with every overflow policy: the next message is accepted, no message is dropped for it, and `queued` does not count it.",
        "Askers that give up must not fill a mailbox.",
        body!(room),
    ),
    Rule::must(
        "BOUND-11",
        Topic::Bound,
        &[(Topic::Bound, State::Handling), (Topic::Later, State::Handling)],
        "A forwarded ask that is given up while it waits at the second actor frees its room there at once and is no dead letter.",
        "The asker does not know which actor holds its message.",
        body!(forwarded),
    ),
];

const OVERFLOWS: [Overflow; 4] =
    [Overflow::Reject, Overflow::Block, Overflow::DropNewest, Overflow::DropOldest];

/// How an asker gives up.
#[derive(Debug, Clone, Copy)]
enum GiveUp {
    DropPending,
    DropAsk,
    Cancel,
    Timeout,
}

const WAYS: [GiveUp; 4] = [GiveUp::DropPending, GiveUp::DropAsk, GiveUp::Cancel, GiveUp::Timeout];

/// Asks a busy actor and gives up.
async fn give_up(rule: &RuleContext, actor: &ActorRef<Worker>, way: GiveUp, priority: Priority) {
    let mut asked = actor.at(priority).ask(Note(99));
    match way {
        GiveUp::DropPending => drop(asked.enqueue().unwrap()),
        GiveUp::DropAsk => {
            let polled = std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut asked).poll(cx).is_pending()));
            assert!(polled.await, "it waits");
        }
        GiveUp::Cancel => {
            let token = CancellationToken::new();
            let asked = asked.cancel(token.clone()).enqueue().unwrap();
            token.cancel();
            let error = rule.soon("the ask fails", asked).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled);
        }
        GiveUp::Timeout => {
            let asked = asked.timeout(Duration::from_millis(1));
            assert_eq!(rule.soon("the ask fails", asked).await.unwrap_err().kind(), ErrorKind::Timeout);
        }
    }
}

async fn room(rule: RuleContext) {
    for overflow in OVERFLOWS {
        for way in WAYS {
            for priority in [Priority::Normal, Priority::High, Priority::Low] {
                let busy = BusyWorker::new(&rule, Hooks::default(), |spawn| spawn.bounded(1, overflow)).await;
                give_up(&rule, &busy.actor, way, priority).await;
                assert_eq!(busy.actor.queued(), Some(0), "{overflow:?} {way:?} {priority:?}");
                busy.actor.tell(Note(1)).unwrap();
                assert_eq!((busy.actor.queued(), busy.system.dead_letter_count()), (Some(1), 0));
                assert_eq!(busy.handled(&rule).await, ["1"], "{overflow:?} {way:?} {priority:?}");
            }
        }
        let busy = BusyWorker::new(&rule, Hooks::default(), |spawn| spawn.bounded(3, overflow)).await;
        busy.actor.tell(Note(1)).unwrap();
        let given_up = busy.actor.ask(Note(2)).enqueue().unwrap();
        busy.actor.tell(Note(3)).unwrap();
        drop(given_up);
        busy.actor.tell(Note(4)).unwrap();
        assert_eq!((busy.actor.queued(), busy.system.dead_letter_count()), (Some(3), 0), "{overflow:?}");
        let (system, dropped) = (busy.system.clone(), busy.actor.try_tell(Note(5)));
        let expected: &[&str] = match overflow {
            Overflow::DropOldest => &["3", "4", "5"],
            _ => &["1", "3", "4"],
        };
        assert_eq!(dropped.is_err(), matches!(overflow, Overflow::Reject | Overflow::Block));
        assert_eq!(busy.handled(&rule).await, expected, "{overflow:?}: no more than its capacity");
        assert_eq!(system.dead_letter_count(), u64::from(dropped.is_ok()));
    }
}

/// Forwards every message.
struct Router(ActorRef<Worker>);

impl Actor for Router {}

/// A note to be forwarded.
struct Passed(u32);

impl Message for Passed {
    type Reply = u32;
    type Access = dactor_core::Exclusive;
}

impl Handler<Passed> for Router {
    async fn handle(&mut self, Passed(number): Passed, ctx: &mut Context<Self>) -> Outcome<u32> {
        ctx.forward(&self.0, Note(number))
    }
}

async fn forwarded(rule: RuleContext) {
    for overflow in OVERFLOWS {
        let busy = BusyWorker::new(&rule, Hooks::default(), |spawn| spawn.bounded(1, overflow)).await;
        let router = busy.system.spawn(Router(busy.actor.clone())).await.unwrap();
        let asked = router.ask(Passed(7)).enqueue().unwrap();
        router.drain();
        rule.soon("the message is forwarded", router.wait()).await.unwrap();
        assert_eq!(busy.actor.queued(), Some(1));
        drop(asked);
        assert_eq!(busy.actor.queued(), Some(0), "{overflow:?}");
        busy.actor.tell(Note(1)).unwrap();
        let system = busy.system.clone();
        assert_eq!(busy.handled(&rule).await, ["1"], "{overflow:?}");
        assert_eq!(system.dead_letter_count(), 0, "{overflow:?}");
    }
}
