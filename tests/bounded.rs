//! A bounded mailbox keeps memory flat, loses no message of a waiting sender, and counts dropped messages.
//!
//! The counter is global, so there is one test.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use counting_alloc::{Counting, start_counting, stop_counting};
use dactor::spi::Backend;
use dactor::{Actor, ActorRef, Context, Handler, Message, Outcome, Overflow, System};
use tokio::runtime::Builder;
use tokio::sync::Notify;
use tokio::task::JoinSet;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const CAPACITY: usize = 100;
const SENDERS: usize = 8;
const MESSAGES: u32 = 1_000_000;
const WARM_UP: u32 = 10_000;
const MOST_GROWTH: isize = 256 << 10;
/// How often a sender checks the length of the queue.
const LOOK: u32 = 1_000;

/// Checks that the numbers of each sender arrive in FIFO order.
#[derive(Default)]
struct Order {
    next: [u32; SENDERS],
    misplaced: u32,
}
impl Actor for Order {}

#[derive(Message)]
struct Item {
    sender: usize,
    number: u32,
}

impl Handler<Item> for Order {
    async fn handle(&mut self, item: Item, _ctx: &mut Context<Self>) -> Outcome<()> {
        let next = &mut self.next[item.sender];
        if item.number != *next {
            self.misplaced += 1;
        }
        *next += 1;
        Ok(())
    }
}

#[derive(Message)]
#[message(reply = ([u32; SENDERS], u32))]
struct Report;

impl Handler<Report> for Order {
    async fn handle(&mut self, _report: Report, _ctx: &mut Context<Self>) -> Outcome<([u32; SENDERS], u32)> {
        Ok((self.next, self.misplaced))
    }
}

/// All senders at once; each sends the same share, continuing its numbers.
async fn send_all(order: &ActorRef<Order>, from: u32, messages: u32) {
    let mut senders = JoinSet::new();
    for sender in 0..SENDERS {
        let order = order.clone();
        senders.spawn(async move {
            for number in from..from + messages / SENDERS as u32 {
                order.send(Item { sender, number }).await.unwrap();
                if number % LOOK == 0 {
                    assert!(order.queued() <= Some(CAPACITY), "the queue holds {:?}", order.queued());
                }
            }
        });
    }
    senders.join_all().await;
}

async fn a_million_wait_for_room(system: System) {
    let order = system.spawn(Order::default()).bounded(CAPACITY, Overflow::Block).await.unwrap();
    send_all(&order, 0, WARM_UP).await;

    let began = Instant::now();
    start_counting();
    send_all(&order, WARM_UP / SENDERS as u32, MESSAGES).await;
    let count = stop_counting();
    let (handled, misplaced) = order.ask(Report).await.unwrap();

    let (backend, peak) = (system.backend_name(), count.peak_bytes);
    println!("{backend}: heap at most {peak} bytes above the warmed-up level, {:.1?}", began.elapsed());
    assert_eq!(handled, [(WARM_UP + MESSAGES) / SENDERS as u32; SENDERS], "{backend}: all arrive");
    assert_eq!(misplaced, 0, "{backend}: in each sender's order");
    assert!(peak < MOST_GROWTH, "{backend}: the heap grew by {peak} bytes, {MOST_GROWTH} allowed");
    assert_eq!(system.dead_letter_count(), 0, "{backend}");
}

/// Records the messages it handles.
struct Log(Arc<Mutex<Vec<u32>>>);
impl Actor for Log {}

#[derive(Message)]
struct Note(u32);

impl Handler<Note> for Log {
    async fn handle(&mut self, Note(number): Note, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.0.lock().unwrap().push(number);
        Ok(())
    }
}

/// Keeps the actor busy until it is released.
#[derive(Message)]
struct Hold {
    held: Arc<Notify>,
    release: Arc<Notify>,
}

impl Handler<Hold> for Log {
    async fn handle(&mut self, hold: Hold, _ctx: &mut Context<Self>) -> Outcome<()> {
        hold.held.notify_one();
        hold.release.notified().await;
        Ok(())
    }
}

/// While the actor is held, more messages arrive than its mailbox holds, sent in every way but `ask`.
async fn what_does_not_fit_is_counted(system: System, overflow: Overflow) {
    const SENT: u32 = 250;
    let fits = CAPACITY as u32;
    let notes = Arc::new(Mutex::new(Vec::new()));
    let log = system.spawn(Log(notes.clone())).bounded(CAPACITY, overflow).await.unwrap();
    let (held, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    log.tell(Hold { held: held.clone(), release: release.clone() }).unwrap();
    held.notified().await;

    for number in 0..SENT {
        let note = Note(number);
        match number % 3 {
            0 => log.tell(note).unwrap(),
            1 => log.try_tell(note).unwrap(),
            _ => log.send(note).await.unwrap(),
        }
        let dropped = u64::from((number + 1).saturating_sub(fits));
        assert_eq!(system.dead_letter_count(), dropped, "{overflow:?}, after message {number}");
    }
    assert_eq!(log.queued(), Some(CAPACITY));
    release.notify_one();
    log.drain();
    log.wait().await.unwrap();

    let handled = notes.lock().unwrap();
    let kept = if overflow == Overflow::DropOldest { SENT - fits..SENT } else { 0..fits };
    assert_eq!(*handled, kept.collect::<Vec<_>>(), "{} {overflow:?}", system.backend_name());
    assert_eq!(
        system.dead_letter_count() + handled.len() as u64,
        u64::from(SENT),
        "{overflow:?}: dropped or handled"
    );
}

async fn all<B: Backend>(backend: fn() -> B) {
    let system = || System::builder("bounded").backend(backend()).build().unwrap();
    a_million_wait_for_room(system()).await;
    what_does_not_fit_is_counted(system(), Overflow::DropOldest).await;
    what_does_not_fit_is_counted(system(), Overflow::DropNewest).await;
}

#[test]
fn memory_is_flat_and_no_message_is_unaccounted_for() {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        all(dactor_ractor::ractor).await;
        all(dactor_kameo::kameo).await;
    });
}
