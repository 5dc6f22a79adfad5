//! Loom models: every interleaving of the producer and the consumer of a stream.

use std::collections::BTreeSet;
use std::sync::Arc;

use loom::thread;

use super::*;
use crate::ErrorKind;
use crate::base::sync::model::{Bell, explore};

/// How the consumer saw the stream end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    Finished,
    Failed,
    Dropped,
    /// It did not wait for the end.
    Left,
}

fn waker(bell: &Arc<Bell>) -> Waker {
    Waker::from(bell.clone())
}

/// Sends as a task that is woken by a bell. How many items were sent.
fn send(tx: &Tx<u32>, items: std::ops::Range<u32>) -> u32 {
    let bell = Bell::new();
    let waker = self::waker(&bell);
    let first = items.start;
    for number in items {
        let mut item = Some(number);
        loop {
            match tx.poll_send(&mut item, &mut Context::from_waker(&waker)) {
                Poll::Ready(Ok(())) => break,
                Poll::Ready(Err(_)) => return number - first,
                Poll::Pending => drop(bell.wait()),
            }
        }
    }
    u32::MAX
}

/// Sends them together.
fn send_all(tx: &Tx<u32>, items: std::ops::Range<u32>) -> Result<(), Refused<()>> {
    let bell = Bell::new();
    let waker = self::waker(&bell);
    let mut items = items.collect();
    loop {
        match tx.poll_send_all(&mut items, &mut Context::from_waker(&waker)) {
            Poll::Ready(sent) => return sent,
            Poll::Pending => drop(bell.wait()),
        }
    }
}

/// Receives up to `most` items, and the end if there are fewer. Checks order and uniqueness.
fn receive(rx: &mut Rx<u32>, most: u32) -> (u32, Seen) {
    let bell = Bell::new();
    let waker = self::waker(&bell);
    let mut received = 0;
    while received < most {
        assert_capacity(rx);
        match rx.poll_next(&mut Context::from_waker(&waker)) {
            Poll::Ready(Ok(item)) => {
                assert_eq!(item, received, "in order, and once");
                received += 1;
            }
            Poll::Ready(Err(end)) => {
                let again = rx.poll_next(&mut Context::from_waker(&waker));
                assert!(matches!(again, Poll::Ready(Err(_))), "nothing comes after the end");
                let seen = match end {
                    End::Finished => Seen::Finished,
                    End::Failed(_) => Seen::Failed,
                    End::Dropped => Seen::Dropped,
                };
                return (received, seen);
            }
            Poll::Pending => drop(bell.wait()),
        }
    }
    (received, Seen::Left)
}

fn assert_capacity(rx: &Rx<u32>) {
    let state = rx.channel.lock();
    assert!(state.buffer.len() + rx.local.len() <= state.capacity, "over capacity");
    assert!(state.taken >= rx.local.len(), "capacity is returned only for handed-out items");
}

#[test]
fn every_item_and_then_the_end_comes_once_and_in_order() {
    for capacity in [1, 2] {
        let outcomes = explore(move || {
            let (tx, mut rx) = channel(capacity);
            let producer = thread::spawn(move || {
                assert_eq!(send(&tx, 0..3), u32::MAX);
                tx.end(End::Finished).expect("it is open");
            });
            let received = receive(&mut rx, u32::MAX);
            producer.join().unwrap();
            received
        });
        assert_eq!(outcomes, BTreeSet::from([(3, Seen::Finished)]));
    }
}

#[test]
fn a_batch_that_has_no_room_at_once_comes_in_parts() {
    for capacity in [1, 2, 4] {
        let outcomes = explore(move || {
            let (tx, mut rx) = channel(capacity);
            let producer = thread::spawn(move || send_all(&tx, 0..3).expect("it is open"));
            let received = receive(&mut rx, u32::MAX);
            producer.join().unwrap();
            received
        });
        assert_eq!(outcomes, BTreeSet::from([(3, Seen::Dropped)]));
    }
}

#[test]
fn room_that_is_given_back_wakes_the_producer() {
    let outcomes = explore(|| {
        let (tx, mut rx) = channel(4);
        // Taken together, so that capacity is returned in the middle.
        assert_eq!(send(&tx, 0..4), u32::MAX);
        let producer = thread::spawn(move || send(&tx, 4..6));
        let received = receive(&mut rx, u32::MAX);
        assert_eq!(producer.join().unwrap(), u32::MAX);
        received
    });
    assert_eq!(outcomes, BTreeSet::from([(6, Seen::Dropped)]));
}

#[test]
fn a_producer_learns_that_the_consumer_is_gone() {
    let outcomes = explore(|| {
        let (tx, mut rx) = channel(1);
        let producer = thread::spawn(move || {
            let sent = send(&tx, 0..4);
            assert!(tx.is_closed() && tx.end(End::Finished) == Err(Refused::Closed(())));
            sent
        });
        let received = receive(&mut rx, 1);
        drop(rx);
        let sent = producer.join().unwrap();
        assert!(sent <= 2, "one is received, one is buffered");
        (received, sent)
    });
    let gone = |sent| ((1, Seen::Left), sent);
    assert_eq!(outcomes, BTreeSet::from([gone(1), gone(2)]));
}

#[test]
fn a_stream_finishes_or_its_consumer_leaves() {
    let outcomes = explore(|| {
        let (tx, mut rx) = channel(1);
        let producer = thread::spawn(move || {
            let sent = tx.try_send(0).is_ok();
            (sent, tx.end(End::Finished).is_ok())
        });
        rx.close();
        let sent = producer.join().unwrap();
        assert!(rx.channel.lock().buffer.is_empty(), "nothing is left behind");
        sent
    });
    assert_eq!(outcomes, BTreeSet::from([(false, false), (true, false), (true, true)]));
}

#[test]
fn a_stream_has_one_end() {
    let outcomes = explore(|| {
        let (tx, mut rx) = channel(1);
        let actor = tx.any();
        let producer = thread::spawn(move || {
            let sent = send(&tx, 0..2);
            let finished = tx.end(End::Finished).is_ok();
            (sent, finished)
        });
        let ending = thread::spawn(move || actor.fail(Error::new(ErrorKind::Interrupted)));
        let (received, seen) = receive(&mut rx, u32::MAX);
        ending.join().unwrap();
        let (sent, finished) = producer.join().unwrap();
        assert_eq!(finished, seen == Seen::Finished, "the side that ended the stream knows it");
        assert_eq!(received, if sent == u32::MAX { 2 } else { sent }, "sent items come before the end");
        (received, seen)
    });
    let failed = [0, 1, 2].map(|received| (received, Seen::Failed));
    assert!(outcomes.contains(&(2, Seen::Finished)), "{outcomes:?}");
    assert!(failed.iter().all(|end| outcomes.contains(end)), "{outcomes:?}");
    assert_eq!(outcomes.len(), 4);
}

#[test]
fn a_producer_that_waits_for_the_consumer_to_leave_is_woken() {
    explore(|| {
        let (tx, rx) = channel::<u32>(1);
        let producer = thread::spawn(move || {
            let bell = Bell::new();
            let waker = self::waker(&bell);
            while tx.poll_over(&mut Context::from_waker(&waker)).is_pending() {
                bell.wait();
            }
        });
        drop(rx);
        producer.join().unwrap();
    });
}
