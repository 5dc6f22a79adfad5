//! Every order in which an asker and a handler can meet.

use std::collections::BTreeSet;
use std::sync::Arc;

use loom::thread;

use super::*;
use crate::sync::model::{Bell, explore};

#[derive(Debug)]
struct Question;

impl Message for Question {
    type Reply = u32;
}

/// Awaits the answer as a task whose waker is `bell`. How often the task was woken for it.
fn await_answer(reply: &Reply<Question>, bell: &Arc<Bell>) -> usize {
    let waker = Waker::from(bell.clone());
    let mut cx = Context::from_waker(&waker);
    let mut woken = 0;
    loop {
        match reply.poll(&mut cx) {
            Poll::Ready(answer) => {
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
        let reply = Arc::new(Reply::new(Question, None));
        let handler = thread::spawn({
            let reply = reply.clone();
            move || {
                assert!(reply.take_message().is_some());
                reply.answer(Ok(7));
            }
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
        let reply = Arc::new(Reply::new(Question, Some(Waker::from(first.clone()))));
        let handler = thread::spawn({
            let reply = reply.clone();
            move || reply.answer(Ok(7))
        });
        let woken = await_answer(&reply, &last);
        handler.join().unwrap();
        (first.rung(), woken)
    });
    assert_eq!(outcomes, BTreeSet::from([(1, 0), (0, 1)]));
}

#[test]
fn a_message_is_handled_or_withdrawn() {
    let outcomes = explore(|| {
        let reply = Arc::new(Reply::new(Question, None));
        let handler = thread::spawn({
            let reply = reply.clone();
            move || {
                let handled = reply.take_message().is_some();
                if handled {
                    reply.answer(Ok(7));
                }
                handled
            }
        });
        let withdrawn = reply.take_message().is_some();
        (handler.join().unwrap(), withdrawn)
    });
    assert_eq!(outcomes, BTreeSet::from([(true, false), (false, true)]));
}
