use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

use super::*;

struct Question;

impl Message for Question {
    type Reply = u64;
    type Access = crate::Exclusive;
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wakes {
    fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_held_answer_wakes_its_asker_at_the_last_release() {
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(wakes.clone());
    let reply = AskState::new(Question, Headers::default(), Terms::default(), Some(waker.clone()));
    reply.hold();
    reply.release();
    assert_eq!(wakes.count(), 0, "there is no answer");
    reply.hold();
    reply.hold();
    assert!(reply.answer(Ok(1)));
    reply.release();
    assert_eq!(wakes.count(), 0, "it is held");
    assert!(reply.poll(&mut Context::from_waker(&waker)).is_pending());
    reply.release();
    assert_eq!(wakes.count(), 1);
    assert!(matches!(reply.poll(&mut Context::from_waker(&waker)), Poll::Ready((Ok(1), _))));
}

#[test]
fn an_answer_leaves_for_another_process_when_it_is_not_held() {
    let reply = AskState::new(Question, Headers::default(), Terms::default(), None);
    assert!(reply.take_answer().is_none(), "there is no answer");
    reply.hold();
    assert!(reply.answer(Ok(1)));
    assert!(reply.take_answer().is_none(), "it is held");
    reply.release();
    assert!(matches!(reply.take_answer(), Some((Ok(1), _))));
    assert!(reply.take_answer().is_none(), "it has left");
}

#[test]
fn an_ask_of_another_process_has_its_deadline() {
    let deadline = Some(Instant::now());
    let reply = AskState::new(Question, Headers::default(), Terms { deadline, cancel: None }, None);
    assert_eq!(crate::delivery::far::FarAsk::deadline(&reply), deadline);
}
