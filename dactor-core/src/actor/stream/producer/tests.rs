use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use tokio_util::sync::CancellationToken;

use crate::actor::stream::open::OpenStreams;
use crate::base::label::Labelled;
use crate::delivery::channel::{End, Rx, channel};
use crate::interceptor::items::ItemHooks;
use crate::path::{ActorPathParts, ActorUid};
use crate::{
    ActorPath, Direction, Error, ErrorKind, Headers, Inbound, ItemVerdict, Mode, Pid, Producer, StreamItem,
};

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

struct Target;

impl Labelled for Target {
    fn path(&self) -> ActorPath {
        "pekko://lab/user/producer".parse().unwrap()
    }

    fn pid(&self) -> Pid {
        Pid::NOBODY
    }

    fn uid(&self) -> ActorUid {
        unreachable!("the test actor is never compared")
    }

    fn address(&self) -> &ActorPathParts {
        unreachable!("the test actor is never compared")
    }

    fn actor_type(&self) -> &'static str {
        "Target"
    }

    fn queued(&self) -> usize {
        0
    }
}

/// Counts the items that it sees.
#[derive(Default)]
struct Counter(AtomicU64);

impl Inbound for Counter {
    fn on_item(&self, _: &StreamItem<'_>) -> ItemVerdict {
        self.0.fetch_add(1, Ordering::Relaxed);
        ItemVerdict::Continue
    }
}

/// A producer whose items an interceptor counts.
fn counted(capacity: usize, batch: usize) -> (Producer<u64>, Rx<u64>, Arc<Counter>) {
    let (mut out, rx) = producer(capacity, batch);
    let counter = Arc::new(Counter::default());
    let chain: Arc<[Arc<dyn Inbound>]> = Arc::new([counter.clone() as Arc<dyn Inbound>]);
    out.intercept(Box::new(ItemHooks {
        chain,
        target: Arc::new(Target),
        message: "Numbers",
        mode: Mode::Expand,
        sender: None,
        headers: Headers::default(),
        direction: Direction::FromActor,
        items: 0,
        open: false,
    }));
    (out, rx, counter)
}

#[test]
fn interceptors_see_the_items_that_there_is_room_for() {
    let (mut out, mut rx, counter) = counted(1, 1);
    let seen = || counter.0.load(Ordering::Relaxed);
    out.try_send(1).unwrap();
    assert_eq!(refused(&mut out, 2), (2, ErrorKind::MailboxFull));
    assert_eq!(seen(), 1);
    assert_eq!(take(&mut rx, 1), [1]);
    assert!(take(&mut rx, 1).is_empty());
    out.try_send(2).unwrap();
    assert_eq!(seen(), 2);

    // A batch has room where the buffer has none.
    let (mut out, _rx, counter) = counted(2, 2);
    (1..=4).for_each(|item| out.try_send(item).unwrap());
    assert_eq!(refused(&mut out, 5), (5, ErrorKind::MailboxFull));
    assert_eq!(counter.0.load(Ordering::Relaxed), 4);
}

#[test]
fn a_consumer_that_left_with_items_is_gone_for_an_intercepted_producer() {
    let (mut out, mut rx, _) = counted(4, 1);
    (1..=4).for_each(|item| out.try_send(item).unwrap());
    assert_eq!(take(&mut rx, 1), [1]);
    drop(rx);
    assert_eq!(refused(&mut out, 5), (5, ErrorKind::ConsumerGone));
}

#[test]
fn a_producer_of_a_draining_actor_is_asked_to_finish() {
    let (mut out, _rx) = producer(1, 1);
    let finishing = CancellationToken::new();
    out.bind(&OpenStreams::new(finishing.clone()), Arc::new(Target));
    assert!(!out.is_drain_requested());
    finishing.cancel();
    assert!(out.is_drain_requested());
}
