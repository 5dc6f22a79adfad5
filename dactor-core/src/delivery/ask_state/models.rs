//! Loom models: every interleaving of an asker and a handler.

use std::collections::BTreeSet;
use std::sync::Arc;

use loom::thread;

use super::*;
use crate::base::sync::model::{Bell, explore};
use crate::{Error, ErrorKind};

#[derive(Debug)]
struct Question;

impl Message for Question {
    type Reply = u32;
    type Access = crate::Exclusive;
}

fn asked(waker: Option<Waker>) -> AskState<Question> {
    AskState::new(Question, Headers::default(), Terms::default(), waker)
}

/// Awaits the answer as a task with `bell` as its waker. Returns how often the task was woken.
fn await_answer(reply: &AskState<Question>, bell: &Arc<Bell>) -> usize {
    let waker = Waker::from(bell.clone());
    let mut cx = Context::from_waker(&waker);
    let mut woken = 0;
    loop {
        match reply.poll(&mut cx) {
            Poll::Ready((answer, _)) => {
                assert_eq!(answer.expect("the handler answered"), 7);
                assert!(reply.poll(&mut cx).is_pending(), "an answer is taken once");
                return woken;
            }
            Poll::Pending => woken += bell.wait(),
        }
    }
}

#[test]
fn an_asker_is_woken_by_the_answer_or_finds_it() {
    let outcomes = explore(|| {
        let reply = Arc::new(asked(None));
        let handler = thread::spawn({
            let reply = reply.clone();
            move || assert_eq!(handle(&reply), Some(true))
        });
        let woken = await_answer(&reply, &Bell::new());
        handler.join().unwrap();
        woken
    });
    assert_eq!(outcomes, BTreeSet::from([0, 1]));
}

#[test]
fn the_task_that_polled_last_is_the_one_that_is_woken() {
    let outcomes = explore(|| {
        let (first, last) = (Bell::new(), Bell::new());
        let reply = Arc::new(asked(Some(Waker::from(first.clone()))));
        let handler = thread::spawn({
            let reply = reply.clone();
            move || assert!(reply.answer(Ok(7)))
        });
        let woken = await_answer(&reply, &last);
        handler.join().unwrap();
        (first.rung(), woken)
    });
    assert_eq!(outcomes, BTreeSet::from([(1, 0), (0, 1)]));
}

/// Handles the question. `None` when it was withdrawn; otherwise whether the asker was still there.
fn handle(reply: &AskState<Question>) -> Option<bool> {
    match reply.claim() {
        Claim::Message(Question, _) => Some(reply.answer(Ok(7))),
        _ => None,
    }
}

/// Whether an answer is left behind.
fn is_answered(reply: &AskState<Question>) -> bool {
    reply.lock().answer.is_some()
}

/// What an asker gets when it gives up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Asked {
    /// The answer, which came first.
    AskObligation,
    /// The message.
    Message,
    /// Nothing: a handler has the message, and is notified.
    NoObligation,
}

/// Gives up as `InFlight` does: withdraws the message if it is in a mailbox.
fn abandon(reply: &AskState<Question>) -> GivenUp<Question> {
    let abandonment = reply.give_up().or_else(|| reply.withdraw_from(Pid::NOBODY));
    abandonment.expect("it was not forwarded").found
}

fn give_up(reply: &AskState<Question>) -> Asked {
    match abandon(reply) {
        GivenUp::Answered(answer, _) => {
            assert_eq!(answer.expect("the handler answered"), 7);
            Asked::AskObligation
        }
        GivenUp::Held(_) => unreachable!("the answer is not held"),
        GivenUp::Withdrawn(Question) => Asked::Message,
        GivenUp::Claimed => Asked::NoObligation,
    }
}

#[test]
fn a_message_is_handled_or_withdrawn() {
    let outcomes = explore(|| {
        let reply = Arc::new(asked(None));
        let handler = thread::spawn({
            let reply = reply.clone();
            move || handle(&reply)
        });
        let asked = give_up(&reply);
        let answered = handler.join().unwrap();
        assert!(!is_answered(&reply), "an answer is refused or given, and never left behind");
        (asked, answered)
    });
    let expected =
        [(Asked::Message, None), (Asked::NoObligation, Some(false)), (Asked::AskObligation, Some(true))];
    assert_eq!(outcomes, BTreeSet::from(expected));
}

/// The asker's limits are reached after one poll of the reply, as in `InFlight::poll`.
#[test]
fn an_answer_that_races_the_timeout_is_given_or_refused() {
    let outcomes = explore(|| {
        let bell = Bell::new();
        let reply = Arc::new(asked(None));
        let handler = thread::spawn({
            let reply = reply.clone();
            move || handle(&reply)
        });
        let waker = Waker::from(bell.clone());
        let asked = match reply.poll(&mut Context::from_waker(&waker)) {
            Poll::Ready((answer, _)) => {
                assert_eq!(answer.expect("the handler answered"), 7);
                Asked::AskObligation
            }
            Poll::Pending => give_up(&reply),
        };
        let answered = handler.join().unwrap();
        assert!(!is_answered(&reply), "an answer is refused or given, and never left behind");
        (asked, answered, bell.rung())
    });
    let expected = [
        (Asked::AskObligation, Some(true), 0),
        (Asked::Message, None, 0),
        (Asked::NoObligation, Some(false), 0),
        // The answer came after the poll, and woke the task.
        (Asked::AskObligation, Some(true), 1),
    ];
    assert_eq!(outcomes, BTreeSet::from(expected));
}

/// Interceptors hold the answer while the asker gives up: the asker gets it, to report it, or it is refused.
#[test]
fn an_answer_that_is_held_is_not_left_behind() {
    let outcomes = explore(|| {
        let reply = Arc::new(asked(None));
        reply.hold();
        let handler = thread::spawn({
            let reply = reply.clone();
            move || {
                let answered = handle(&reply);
                reply.release();
                answered
            }
        });
        let found = match abandon(&reply) {
            GivenUp::Answered(..) => "answer",
            GivenUp::Held(_) => "held",
            GivenUp::Withdrawn(_) => "message",
            GivenUp::Claimed => "nothing",
        };
        let answered = handler.join().unwrap();
        assert!(!is_answered(&reply));
        (found, answered)
    });
    let expected =
        [("message", None), ("nothing", Some(false)), ("held", Some(true)), ("answer", Some(true))];
    assert_eq!(outcomes, BTreeSet::from(expected));
}

#[test]
fn one_who_gives_up_while_the_message_is_refused_has_the_message_or_the_refusal() {
    let outcomes = explore(|| {
        let reply = Arc::new(asked(None));
        let mailbox = thread::spawn({
            let reply = reply.clone();
            // As `Envelope::refuse` does.
            move || reply.answer(Err(Error::new(ErrorKind::Stopped)))
        });
        let refused = match abandon(&reply) {
            GivenUp::Answered(answer, _) => {
                assert_eq!(answer.expect_err("it was refused").kind(), ErrorKind::Stopped);
                true
            }
            GivenUp::Withdrawn(Question) => false,
            other => unreachable!("{other:?}"),
        };
        assert_eq!(mailbox.join().unwrap(), refused, "the refusal knows whether the asker was answered");
        assert!(!is_answered(&reply));
        refused
    });
    assert_eq!(outcomes, BTreeSet::from([false, true]));
}

#[test]
fn an_answer_that_is_held_leaves_when_it_is_released() {
    let outcomes = explore(|| {
        let reply = Arc::new(asked(None));
        reply.hold();
        let later = thread::spawn({
            let reply = reply.clone();
            move || assert!(reply.answer(Ok(7)))
        });
        let handler = thread::spawn({
            let reply = reply.clone();
            move || reply.release()
        });
        let woken = await_answer(&reply, &Bell::new());
        later.join().unwrap();
        handler.join().unwrap();
        woken
    });
    assert_eq!(outcomes, BTreeSet::from([0, 1]));
}

#[test]
fn of_two_answers_one_counts() {
    let outcomes = explore(|| {
        let reply = Arc::new(asked(None));
        let others = [7, 8].map(|number| {
            let reply = reply.clone();
            thread::spawn(move || reply.answer(Ok(number)))
        });
        let told = others.map(|other| other.join().unwrap());
        let Poll::Ready((Ok(answer), _)) = reply.poll(&mut Context::from_waker(Waker::noop())) else {
            panic!("one of them answered");
        };
        assert_eq!(told, [answer == 7, answer == 8]);
        answer
    });
    assert_eq!(outcomes, BTreeSet::from([7, 8]));
}
