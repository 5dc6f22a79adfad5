//! Reads that are treated badly, on two threads: asks that are dropped at random, reads that panic, also in their
//! destructors, full mailboxes, reads that ask their own actor, and an actor that is stopped, killed and restarted in the
//! middle. Every ask ends, no read sees a write in progress, and nothing is left behind.
//!
//! The seed is printed; `DACTOR_READS_SEED` repeats a run.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use common::{SplitMix64, hide_ordered_panics, number};
use dactor::spi::Backend;
use dactor::{
    Actor, ActorRef, Context, ErrorKind, Failure, Handler, Message, Outcome, Overflow, ReadContext,
    ReadHandler, System,
};
use tokio::task::yield_now;

const PATIENCE: Duration = Duration::from_secs(60);
const ROUNDS: u64 = 60;
const TASKS: u64 = 6;
const ASKS: u64 = 120;

/// What all instances share.
#[derive(Default)]
struct Counters {
    /// A write is in progress.
    writing: AtomicBool,
    reading: AtomicUsize,
    live: AtomicUsize,
}

struct Victim(Arc<Counters>);

impl Victim {
    fn new(counters: &Arc<Counters>) -> Self {
        counters.live.fetch_add(1, SeqCst);
        Self(counters.clone())
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        assert_eq!(self.0.reading.load(SeqCst), 0, "an instance is dropped while it is read");
        self.0.live.fetch_sub(1, SeqCst);
    }
}

impl Actor for Victim {}

/// Counts a read that runs, and panics when it is dropped, if it is to.
struct Running<'a>(&'a Counters, bool);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.reading.fetch_sub(1, SeqCst);
        if self.1 && !std::thread::panicking() {
            std::panic::panic_any("as ordered");
        }
    }
}

/// What a message does, chosen by a number.
#[derive(Clone, Copy)]
struct Deed(u64);

impl Deed {
    fn below(&mut self, limit: u64) -> u64 {
        let chosen = self.0 % limit;
        self.0 /= limit;
        chosen
    }
}

#[derive(Message)]
#[message(read, reply = u64)]
struct Read(Deed);
#[derive(Message)]
#[message(read, abort, reply = u64)]
struct Abort(Deed);
#[derive(Message)]
#[message(interleave, reply = u64)]
struct Join(Deed);
#[derive(Message)]
#[message(reply = u64)]
struct Write(Deed);

impl Victim {
    async fn look(&self, mut deed: Deed, ctx: &ReadContext<Self>) -> Outcome<u64> {
        assert!(!self.0.writing.load(SeqCst), "a read beside a write");
        self.0.reading.fetch_add(1, SeqCst);
        let _running = Running(&self.0, deed.below(40) == 0);
        for _ in 0..deed.below(4) {
            yield_now().await;
            assert!(!self.0.writing.load(SeqCst), "a write begins beside a read");
        }
        match deed.below(20) {
            0 => std::panic::panic_any("as ordered"),
            1 => Err(Failure::new("as ordered")),
            2 => Ok(ctx.actor_ref().ask(Read(Deed(0))).await.unwrap_or(0)),
            3 => Ok(ctx.actor_ref().ask(Join(Deed(0))).await.unwrap_or(0)),
            4 => Ok(ctx.actor_ref().ask(Write(Deed(0))).await.unwrap_or(0)),
            5 => {
                let (later, promised) = ctx.reply_later::<Read>();
                tokio::spawn(async move { later.reply(1) });
                promised
            }
            _ => Ok(1),
        }
    }
}

impl ReadHandler<Read> for Victim {
    async fn read(&self, Read(deed): Read, ctx: &ReadContext<Self>) -> Outcome<u64> {
        self.look(deed, ctx).await
    }
}

impl ReadHandler<Abort> for Victim {
    async fn read(&self, Abort(deed): Abort, ctx: &ReadContext<Self>) -> Outcome<u64> {
        self.look(deed, ctx).await
    }
}

impl ReadHandler<Join> for Victim {
    async fn read(&self, Join(deed): Join, ctx: &ReadContext<Self>) -> Outcome<u64> {
        self.look(deed, ctx).await
    }
}

/// Marks the end of a write when it is dropped.
struct Writing<'a>(&'a AtomicBool);

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.0.store(false, SeqCst);
    }
}

impl Handler<Write> for Victim {
    async fn handle(&mut self, Write(mut deed): Write, _: &mut Context<Self>) -> Outcome<u64> {
        assert_eq!(self.0.reading.load(SeqCst), 0, "a write beside a read");
        assert!(!self.0.writing.swap(true, SeqCst));
        let _writing = Writing(&self.0.writing);
        for _ in 0..deed.below(3) {
            yield_now().await;
            assert_eq!(self.0.reading.load(SeqCst), 0, "a read begins beside a write");
        }
        if deed.below(20) == 0 {
            std::panic::panic_any("as ordered");
        }
        Ok(1)
    }
}

async fn asks(actor: ActorRef<Victim>, mut random: SplitMix64) {
    for _ in 0..ASKS {
        let deed = Deed(random.below(u64::MAX));
        let kind = random.below(4);
        let limit = random.below(3);
        macro_rules! ask {
            ($message:ident) => {{
                let ask = actor.ask($message(deed));
                let ask =
                    if limit == 0 { ask.timeout(Duration::from_micros(random.below(500))) } else { ask };
                if limit == 1 {
                    // Dropped somewhere on its way.
                    let Ok(pending) = ask.enqueue() else { continue };
                    for _ in 0..random.below(4) {
                        yield_now().await;
                    }
                    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(pending)));
                    continue;
                }
                ask.await
            }};
        }
        let reply = match kind {
            0 => ask!(Read),
            1 => ask!(Abort),
            2 => ask!(Join),
            _ => ask!(Write),
        };
        if let Err(error) = reply {
            let kind = error.kind();
            let expected = [
                ErrorKind::Failed,
                ErrorKind::Panicked,
                ErrorKind::Timeout,
                ErrorKind::Stopped,
                ErrorKind::Interrupted,
                ErrorKind::Overloaded,
                ErrorKind::MailboxFull,
            ];
            assert!(expected.contains(&kind), "{error:#}");
        }
    }
}

async fn storm(backend: impl Backend, seed: u64) {
    let mut random = SplitMix64(seed);
    let system =
        System::builder("storm").backend(backend).detect_ask_cycles(random.one_in(2)).build().unwrap();
    for round in 0..ROUNDS {
        let counters = Arc::<Counters>::default();
        let made = counters.clone();
        let supervision = dactor::Supervision::default().budget(u32::MAX, Duration::from_secs(1));
        let spawn = system.spawn(move || Victim::new(&made)).supervision(supervision);
        let spawn = match random.below(4) {
            0 => spawn.bounded(2, Overflow::Block),
            1 => spawn.bounded(3, Overflow::DropOldest),
            _ => spawn,
        };
        let spawn = if random.one_in(3) { spawn.max_reads(2).max_interleaved(2) } else { spawn };
        let actor = spawn.await.unwrap();
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| tokio::spawn(asks(actor.clone(), SplitMix64(random.below(u64::MAX)))))
            .collect();
        for _ in 0..random.below(400) {
            yield_now().await;
        }
        match round % 4 {
            0 => actor.kill(),
            1 => actor.stop(),
            2 => actor.drain(),
            _ => {}
        }
        for task in tasks {
            tokio::time::timeout(PATIENCE, task).await.expect("every ask ends").unwrap();
        }
        actor.stop();
        tokio::time::timeout(PATIENCE, actor.wait()).await.expect("the actor ends").unwrap();
        assert_eq!(counters.live.load(SeqCst), 0, "no instance is left");
        assert_eq!(counters.reading.load(SeqCst), 0, "no read is left");
    }
    system.shutdown().await.unwrap();
}

#[test]
fn every_ask_ends() {
    hide_ordered_panics();
    let seed = number("DACTOR_READS_SEED")
        .unwrap_or_else(|| System::builder("seed").backend(dactor_ractor::ractor()).build().unwrap().seed());
    println!("DACTOR_READS_SEED={seed}");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        tokio::spawn(storm(dactor_ractor::ractor(), seed)).await.unwrap();
        tokio::spawn(storm(dactor_kameo::kameo(), seed)).await.unwrap();
    });
}
