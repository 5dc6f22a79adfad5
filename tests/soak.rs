//! Half a million messages on each backend, with random failures of every kind: every ask ends once, every
//! interceptor sees the end of each message it saw begin, and nothing is leaked.
//!
//! The seed is printed; `DACTOR_SOAK_SEED` repeats a run, `DACTOR_SOAK_MESSAGES` makes it longer. The counter of the heap
//! is global, so there is one test.

mod common;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{SplitMix64, hide_ordered_panics, number};
use counting_alloc::{Counting, start_counting, stop_counting};
use dactor::spi::Backend;
use dactor::{
    Actor, ActorRef, Completion, Context, Delivery, ErrorKind, Failure, Handler, Inbound, Message, Outbound,
    Outcome, Priority, Supervision, System, Verdict,
};
use tokio_util::sync::CancellationToken;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ACTORS: usize = 8;
const CLIENTS: u64 = 16;
const PATIENCE: Duration = Duration::from_secs(300);
/// Allowance for lazily created buffers of the runtime, the panic machinery and the test itself.
const MOST_LEFT: isize = 256 << 10;
/// Runs with this many messages are expected to see every kind of end.
const RARE: u64 = 50_000;

/// The actors, each replaced when it was stopped.
type Crew = Arc<Vec<Mutex<ActorRef<Sailor>>>>;

struct Sailor {
    place: usize,
    crew: Arc<Mutex<Option<Crew>>>,
}
impl Actor for Sailor {}

impl Sailor {
    /// An actor further down, so that none waits for itself.
    fn next(&self) -> Option<ActorRef<Sailor>> {
        let crew = self.crew.lock().unwrap();
        Some(crew.as_ref()?.get(self.place + 1)?.lock().unwrap().clone())
    }
}

/// Follows the order, and answers with its number.
#[derive(Message)]
#[message(reply = u64)]
struct Order(u64, Duty);

/// The same, but aborted when its asker gives up.
#[derive(Message)]
#[message(reply = u64, abort)]
struct Errand(u64, Duty);

#[derive(Clone, Copy)]
enum Duty {
    Reply,
    Fail,
    Panic,
    Yield,
    Sleep,
    Watch,
    Later,
    Forget,
    Forward,
    Consult,
}

impl Duty {
    fn any(random: &mut SplitMix64) -> Self {
        match random.below(1000) {
            0..30 => Self::Fail,
            30..32 => Self::Panic,
            32..132 => Self::Yield,
            132..137 => Self::Sleep,
            137..142 => Self::Watch,
            142..242 => Self::Later,
            242..262 => Self::Forget,
            262..362 => Self::Forward,
            362..412 => Self::Consult,
            _ => Self::Reply,
        }
    }
}

impl Handler<Order> for Sailor {
    async fn handle(&mut self, Order(number, duty): Order, ctx: &mut Context<Self>) -> Outcome<u64> {
        match duty {
            Duty::Reply => {}
            Duty::Fail => return Err(Failure::new("as ordered")),
            Duty::Panic => panic!("as ordered"),
            Duty::Yield => tokio::task::yield_now().await,
            Duty::Sleep => tokio::time::sleep(Duration::from_millis(1)).await,
            Duty::Watch => {
                let _ = tokio::time::timeout(Duration::from_millis(2), ctx.cancelled()).await;
            }
            Duty::Later => {
                let (later, promised) = ctx.reply_later::<Order>();
                tokio::spawn(async move { later.reply(number) });
                return promised;
            }
            Duty::Forget => return ctx.reply_later::<Order>().1,
            Duty::Forward => {
                if let Some(next) = self.next() {
                    return ctx.forward(&next, Order(number, Duty::Reply));
                }
            }
            Duty::Consult => {
                if let Some(next) = self.next() {
                    return Ok(next
                        .ask(Order(number, Duty::Yield))
                        .timeout(Duration::from_millis(20))
                        .await?);
                }
            }
        }
        Ok(number)
    }
}

impl Handler<Errand> for Sailor {
    async fn handle(&mut self, Errand(number, duty): Errand, ctx: &mut Context<Self>) -> Outcome<u64> {
        match duty {
            Duty::Later | Duty::Forget | Duty::Forward => Ok(number),
            duty => self.handle(Order(number, duty), ctx).await,
        }
    }
}

/// Counts begun and ended messages.
#[derive(Clone, Default)]
struct Tally(Arc<[AtomicU64; 2]>);

impl Tally {
    fn both(&self) -> (u64, u64) {
        (self.0[0].load(Relaxed), self.0[1].load(Relaxed))
    }
}

impl Inbound for Tally {
    fn on_receive(&self, _: &mut Delivery<'_>) -> Verdict {
        self.0[0].fetch_add(1, Relaxed);
        Verdict::Continue
    }

    fn on_complete(&self, _: &mut Completion<'_>) {
        self.0[1].fetch_add(1, Relaxed);
    }
}

impl Outbound for Tally {
    fn on_send(&self, delivery: &mut Delivery<'_>) -> Verdict {
        if delivery.mode() == dactor::Mode::Ask {
            self.0[0].fetch_add(1, Relaxed);
        }
        Verdict::Continue
    }

    fn on_reply(&self, completion: &mut Completion<'_>) {
        // A told message ends here when it was not sent, and is not counted above.
        if completion.mode() == dactor::Mode::Ask {
            self.0[1].fetch_add(1, Relaxed);
        }
    }
}

/// Refuses, delays and panics at random.
struct Weather(Mutex<SplitMix64>);

impl Weather {
    fn verdict(&self) -> Verdict {
        let roll = self.0.lock().unwrap().below(10_000);
        match roll {
            0..50 => Verdict::Reject("bad weather".into()),
            50..100 => Verdict::Retry(Duration::from_millis(1)),
            100..150 => Verdict::Drop,
            150..155 => Verdict::Delay(Duration::from_millis(1)),
            155..160 => panic!("as ordered"),
            _ => Verdict::Continue,
        }
    }
}

impl Inbound for Weather {
    fn on_receive(&self, _: &mut Delivery<'_>) -> Verdict {
        self.verdict()
    }
}

impl Outbound for Weather {
    fn on_send(&self, _: &mut Delivery<'_>) -> Verdict {
        self.verdict()
    }
}

async fn client(crew: Crew, mut random: SplitMix64, messages: u64, ends: Arc<Mutex<BTreeMap<String, u64>>>) {
    for number in 0..messages {
        let actor = crew[random.below(ACTORS as u64) as usize].lock().unwrap().clone();
        let duty = Duty::any(&mut random);
        let order = Order(number, duty);
        let end = match random.below(100) {
            0..50 => actor.tell(order).map(|()| number),
            50..60 => actor.send(order).await.map(|()| number),
            60..75 => actor.ask(order).await,
            75..80 => {
                actor.at(Priority::High).ask(order).timeout(Duration::from_micros(random.below(3000))).await
            }
            80..85 => {
                let token = CancellationToken::new();
                let (asked, cancel) = (actor.ask(Errand(number, duty)).cancel(token.clone()), async {
                    tokio::task::yield_now().await;
                    token.cancel();
                });
                tokio::join!(asked, cancel).0
            }
            85..90 => match actor.ask(order).enqueue() {
                Ok(pending) => pending.await,
                Err(error) => Err(error),
            },
            _ => {
                // Given up after the first poll, or a little later.
                let mut ask = Box::pin(actor.ask(Errand(number, duty)).into_future());
                match futures_poll(&mut ask).await {
                    Some(end) => end,
                    None => {
                        tokio::task::yield_now().await;
                        continue;
                    }
                }
            }
        };
        let end = match end {
            Ok(answer) if answer == number => "Ok".to_owned(),
            Ok(answer) => panic!("{number} was answered with {answer}"),
            Err(error) => format!("{:?}", error.kind()),
        };
        *ends.lock().unwrap().entry(end).or_default() += 1;
        if random.below(64) == 0 {
            // Lets the actors catch up, so that queues stay short.
            tokio::task::yield_now().await;
            while actor.queued() > Some(1000) && actor.is_alive() == Some(true) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }
}

async fn futures_poll<T>(future: &mut std::pin::Pin<Box<impl Future<Output = T>>>) -> Option<T> {
    std::future::poll_fn(|cx| {
        std::task::Poll::Ready(match future.as_mut().poll(cx) {
            std::task::Poll::Ready(value) => Some(value),
            std::task::Poll::Pending => None,
        })
    })
    .await
}

async fn spawn(system: &System, place: usize, home: &Arc<Mutex<Option<Crew>>>) -> ActorRef<Sailor> {
    let home = home.clone();
    let often = Supervision::one_for_one().unlimited();
    system.spawn(move || Sailor { place, crew: home.clone() }).supervision(often).await.unwrap()
}

async fn soak(backend: impl Backend, seed: u64, messages: u64) -> BTreeMap<String, u64> {
    let (first, last, out) = (Tally::default(), Tally::default(), Tally::default());
    let system = System::builder("soak")
        .backend(backend)
        .grace(Duration::from_secs(60))
        .inbound(first.clone())
        .inbound(Weather(Mutex::new(SplitMix64(seed ^ 1))))
        .inbound(last.clone())
        .outbound(out.clone())
        .outbound(Weather(Mutex::new(SplitMix64(seed ^ 2))))
        .build()
        .unwrap();
    let home = Arc::new(Mutex::new(None));
    let mut crew = Vec::new();
    for place in 0..ACTORS {
        crew.push(Mutex::new(spawn(&system, place, &home).await));
    }
    let crew: Crew = Arc::new(crew);
    *home.lock().unwrap() = Some(crew.clone());
    let ends = Arc::new(Mutex::new(BTreeMap::new()));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client_number| {
            let random = SplitMix64(seed.wrapping_mul(31).wrapping_add(client_number));
            tokio::spawn(client(crew.clone(), random, messages / CLIENTS, ends.clone()))
        })
        .collect();
    // Another task stops and kills the actors meanwhile.
    let mut random = SplitMix64(seed ^ 3);
    while clients.iter().any(|client| !client.is_finished()) {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let place = random.below(ACTORS as u64) as usize;
        let fresh = spawn(&system, place, &home).await;
        let old = std::mem::replace(&mut *crew[place].lock().unwrap(), fresh);
        match random.below(3) {
            0 => old.stop(),
            1 => old.kill(),
            _ => old.drain(),
        }
    }
    for client in clients {
        client.await.expect("no client panics");
    }
    system.shutdown().await.unwrap();
    assert_eq!(system.actor_count(), 0);
    *home.lock().unwrap() = None;
    for tally in [first, last, out] {
        let (begun, ended) = tally.both();
        assert_eq!(begun, ended, "an interceptor missed an end, or saw one twice");
        assert!(begun > messages / 4);
    }
    Arc::into_inner(ends).expect("the clients are gone").into_inner().unwrap()
}

fn run(name: &str, backend: impl Backend, seed: u64, messages: u64) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    runtime.block_on(async {
        let soaking = soak(backend, seed, messages);
        let ends = tokio::time::timeout(PATIENCE, soaking).await.expect("nothing hangs");
        println!("{name}: {ends:?}");
        // Rare events need not happen in a short run.
        if messages >= RARE {
            for kind in [ErrorKind::Failed, ErrorKind::Panicked, ErrorKind::Rejected, ErrorKind::RetryLater] {
                assert!(ends.contains_key(&format!("{kind:?}")), "{kind:?} did not happen");
            }
        }
        let tasks = tokio::runtime::Handle::current().metrics();
        // Tasks that hold a late reply end by themselves.
        while tasks.num_alive_tasks() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
}

#[test]
fn every_ask_ends_once_and_nothing_is_left() {
    let seed = number("DACTOR_SOAK_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let messages = number("DACTOR_SOAK_MESSAGES").unwrap_or(500_000);
    println!("DACTOR_SOAK_SEED={seed} DACTOR_SOAK_MESSAGES={messages}");
    hide_ordered_panics();
    for (name, run) in [
        ("ractor", (|seed, messages| run("ractor", dactor_ractor::ractor(), seed, messages)) as fn(u64, u64)),
        ("kameo", |seed, messages| run("kameo", dactor_kameo::kameo(), seed, messages)),
    ] {
        // The first run initializes everything lazy.
        run(seed, 2_000);
        start_counting();
        run(seed, messages);
        let left = stop_counting().live_bytes;
        println!("{name}: {left} bytes are left");
        assert!(left < MOST_LEFT, "{left} bytes are left");
    }
}
