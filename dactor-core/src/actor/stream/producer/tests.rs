use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::delivery::channel::{End, Rx, channel};
use crate::{Error, ErrorKind, Producer};

fn producer(capacity: usize, batch: usize) -> (Producer<u64>, Rx<u64>) {
    let (tx, rx) = channel(capacity);
    (Producer::new(tx, batch, "Numbers"), rx)
}

/// The items that are there, at most `most`.
fn take(rx: &mut Rx<u64>, most: usize) -> Vec<u64> {
    let mut taken = Vec::new();
    while taken.len() < most
        && let Poll::Ready(Ok(item)) = rx.poll_next(&mut Context::from_waker(Waker::noop()))
    {
        taken.push(item);
    }
    taken
}

/// The item that comes back, and why.
fn refused(out: &mut Producer<u64>, item: u64) -> (u64, ErrorKind) {
    let error = out.try_send(item).unwrap_err();
    (error.message, error.reason.kind())
}

fn is_ready(future: impl Future<Output = crate::Result<()>>) -> bool {
    pin!(future).poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

#[test]
fn an_item_without_room_comes_back() {
    let (mut out, mut rx) = producer(2, 1);
    assert!(!out.is_closed() && !out.is_drain_requested());
    out.try_send(1).unwrap();
    out.try_send(2).unwrap();
    assert_eq!(refused(&mut out, 3), (3, ErrorKind::MailboxFull));
    assert_eq!(take(&mut rx, 2), [1, 2]);
    assert!(take(&mut rx, 1).is_empty());
    out.try_send(4).unwrap();
    out.any().fail(Error::new(ErrorKind::Interrupted));
    assert_eq!(refused(&mut out, 5), (5, ErrorKind::Interrupted));
    assert_eq!(take(&mut rx, 9), [4]);

    let (mut out, rx) = producer(2, 1);
    drop(rx);
    assert!(out.is_closed());
    assert_eq!(refused(&mut out, 1), (1, ErrorKind::ConsumerGone));
}

#[test]
fn a_batch_is_sent_when_it_is_full() {
    let (mut out, mut rx) = producer(3, 2);
    out.try_send(1).unwrap();
    assert!(take(&mut rx, 9).is_empty());
    out.try_send(2).unwrap();
    // There is room for one of the second batch.
    out.try_send(3).unwrap();
    out.try_send(4).unwrap();
    out.try_send(5).unwrap();
    assert_eq!(refused(&mut out, 6), (6, ErrorKind::MailboxFull));
    // Room for one makes room for one in the batch.
    assert_eq!(take(&mut rx, 1), [1]);
    out.try_send(6).unwrap();
    assert_eq!(refused(&mut out, 7), (7, ErrorKind::MailboxFull));
    assert_eq!(take(&mut rx, 9), [2, 3, 4]);
    out.try_send(7).unwrap();
    assert_eq!(take(&mut rx, 9), [5, 6]);
    drop(rx);
    // The item that completes the batch comes back.
    assert_eq!(refused(&mut out, 8), (8, ErrorKind::ConsumerGone));
}

#[test]
fn a_full_batch_is_sent_before_the_next_item() {
    let (mut out, mut rx) = producer(2, 2);
    assert!(is_ready(out.send(1)));
    assert!(take(&mut rx, 9).is_empty(), "the batch is incomplete");
    assert!(is_ready(out.send(2)) && is_ready(out.send(3)));
    assert!(!is_ready(out.send(4)), "it waits for room, is dropped, and is in the batch");
    assert!(!is_ready(out.send(5)), "it is not in the batch");
    assert_eq!(take(&mut rx, 2), [1, 2]);
    assert!(take(&mut rx, 1).is_empty());
    assert!(is_ready(out.send(6)));
    assert_eq!(take(&mut rx, 9), [3, 4]);
    assert!(is_ready(out.finish()));
    assert_eq!(take(&mut rx, 9), [6]);
    let end = rx.poll_next(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(end, Poll::Ready(Err(End::Finished))));
}
