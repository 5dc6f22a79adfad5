use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

use super::*;

/// Counts its wake-ups.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn bell() -> (Arc<Bell>, Waker) {
    let bell = Arc::new(Bell::default());
    (bell.clone(), bell.into())
}

fn room<T>(tx: &Tx<T>) -> Option<usize> {
    match tx.poll_room(&mut Context::from_waker(Waker::noop()), usize::MAX) {
        Poll::Ready(room) => room,
        Poll::Pending => unreachable!("no channel has this much room"),
    }
}

#[test]
fn capacity_returns_by_halves() {
    let (tx, mut rx) = channel(4);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(tx.has_room());
    (0..4).for_each(|item| tx.try_send(item).unwrap());
    assert!(!tx.has_room() && room(&tx) == Some(0));
    for (item, expected) in [(0, 1), (1, 1), (2, 3), (3, 3)] {
        assert!(matches!(rx.poll_next(&mut cx), Poll::Ready(Ok(next)) if next == item));
        assert_eq!((room(&tx), tx.has_room()), (Some(expected), true), "after item {item}");
    }
    assert!(rx.poll_next(&mut cx).is_pending());
    assert_eq!(room(&tx), Some(4));
    assert!(!tx.is_closed());
    drop(rx);
    assert!(tx.is_closed() && room(&tx).is_none());
}

#[test]
fn a_batch_that_is_larger_than_the_room_is_sent_in_part() {
    let (tx, mut rx) = channel(2);
    let mut items = VecDeque::from([1, 2, 3]);
    assert_eq!(tx.try_send_all(&mut items), Err(Refused::Full(())));
    assert_eq!((items, room(&tx)), (VecDeque::from([3]), Some(0)));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(matches!(rx.poll_next(&mut cx), Poll::Ready(Ok(1))));
}

#[test]
fn an_item_that_is_taken_wakes_a_producer_that_waits() {
    let (tx, mut rx) = channel(1);
    let (bell, waker) = bell();
    tx.try_send(1).unwrap();
    let mut item = Some(2);
    assert!(tx.poll_send(&mut item, &mut Context::from_waker(&waker)).is_pending());
    assert!(rx.poll_next(&mut Context::from_waker(Waker::noop())).is_ready());
    assert_eq!(bell.0.load(Ordering::Relaxed), 1);
}

#[test]
fn the_waker_of_the_last_poll_is_woken() {
    let (tx, mut rx) = channel(1);
    let ((first, first_waker), (second, second_waker)) = (bell(), bell());
    for waker in [&first_waker, &second_waker] {
        assert!(rx.poll_next(&mut Context::from_waker(waker)).is_pending());
    }
    tx.try_send(1).unwrap();
    assert_eq!([first, second].map(|bell| bell.0.load(Ordering::Relaxed)), [0, 1]);
}
