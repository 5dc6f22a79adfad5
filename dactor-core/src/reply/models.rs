//! Every order in which an asker and a handler can meet.

use std::collections::BTreeSet;
use std::sync::Arc;

use loom::thread;

use super::*;
use crate::sync::model::{Bell, explore};
use crate::{Error, ErrorKind};

#[derive(Debug)]
struct Question;

impl Message for Question {
    type Reply = u32;
}

fn asked(waker: Option<Waker>) -> Reply<Question> {
    Reply::new(Question, Headers::default(), Terms::default(), waker)
}

/// Awaits the answer as a task whose waker is `bell`. How often the task was woken for it.
fn await_answer(reply: &Reply<Question>, bell: &Arc<Bell>) -> usize {
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

/// Handles the question if it is still there. `None` when it is not; then whether there was anybody to answer.
fn handle(reply: &Reply<Question>) -> Option<bool> {
    match reply.claim() {
        Claim::Message(Question, _) => Some(reply.answer(Ok(7))),
        _ => None,
    }
}

/// Whether the answer is there, for an asker who does not look any more.
fn is_answered(reply: &Reply<Question>) -> bool {
    reply.lock().answer.is_some()
}

#[test]
fn a_message_is_handled_or_withdrawn() {
    let outcomes = explore(|| {
        let reply = Arc::new(asked(None));
        let handler = thread::spawn({
            let reply = reply.clone();
            move || handle(&reply)
        });
        let withdrawn = reply.abandon().is_some();
        let stored = is_answered(&reply);
        let answered = handler.join().unwrap();
        assert_eq!(is_answered(&reply), stored, "nobody answers one who has given up");
        assert_eq!(answered.is_none(), withdrawn, "one of them has the message");
        assert_eq!(answered == Some(true), stored);
        (withdrawn, answered)
    });
    assert_eq!(outcomes, BTreeSet::from([(true, None), (false, Some(false)), (false, Some(true))]));
}

/// What an asker has who stops waiting after one look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Asked {
    Answered,
    /// It gave up.
    Message,
    /// It gave up, and a handler has the message.
    Nothing,
}

#[test]
fn one_who_gives_up_is_answered_before_or_the_handler_is_told() {
    let outcomes = explore(|| {
        let bell = Bell::new();
        let reply = Arc::new(asked(None));
        let handler = thread::spawn({
            let reply = reply.clone();
            move || handle(&reply)
        });
        let waker = Waker::from(bell.clone());
        // As `PendingReply` does when it is dropped after a poll.
        let asked = match reply.poll(&mut Context::from_waker(&waker)) {
            Poll::Ready((answer, _)) => {
                assert_eq!(answer.expect("the handler answered"), 7);
                Asked::Answered
            }
            Poll::Pending if reply.abandon().is_some() => Asked::Message,
            Poll::Pending => Asked::Nothing,
        };
        let answered = handler.join().unwrap();
        assert_eq!(answered == Some(true), is_answered(&reply) || asked == Asked::Answered);
        (asked, answered, bell.rung())
    });
    let expected = [
        (Asked::Answered, Some(true), 0),
        (Asked::Message, None, 0),
        (Asked::Nothing, Some(false), 0),
        // The answer came after the look, and woke for it.
        (Asked::Nothing, Some(true), 1),
    ];
    assert_eq!(outcomes, BTreeSet::from(expected));
}

#[test]
fn one_who_gives_up_while_the_message_is_refused_has_the_message() {
    let outcomes = explore(|| {
        let reply = Arc::new(asked(None));
        let mailbox = thread::spawn({
            let reply = reply.clone();
            // As `Envelope::refuse` does.
            move || reply.answer(Err(Error::new(ErrorKind::Stopped)))
        });
        assert!(reply.abandon().is_some());
        let told = mailbox.join().unwrap();
        assert_eq!(told, is_answered(&reply));
        told
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
