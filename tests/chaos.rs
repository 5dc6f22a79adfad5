//! A tree of eleven thousand actors with random failures: every watch fires once, every restart budget is
//! kept, no actor loses its parent, and nothing is leaked.
//!
//! The seed is printed; `DACTOR_CHAOS_SEED` repeats a run, `DACTOR_CHAOS_SECONDS` makes it longer (on each backend). The
//! counter of the heap is global, so there is one test.

mod common;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::{SplitMix64, hide_ordered_panics, number};
use counting_alloc::{Counting, start_counting, stop_counting};
use dactor::path::ActorUid;
use dactor::spi::Backend;
use dactor::{
    Actor, ActorRef, Context, Directive, Error, ErrorKind, Event, Failure, Handler, Message, Outcome,
    Overflow, Pid, StopReason, Supervision, System, Terminated,
};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The number of children per actor, above the last level.
const FAN: usize = 10;
const LEVELS: usize = 4;
const OBSERVERS: usize = 16;
const DRIVERS: u64 = 4;
const PATIENCE: Duration = Duration::from_secs(120);
/// Long enough for a budget to count all restarts of an actor.
const WINDOW: Duration = Duration::from_secs(36_000);
/// Runs this long are expected to see every kind of event.
const LONG: Duration = Duration::from_secs(30);
/// Allowance for lazily created buffers of the runtime, the panic machinery and the test itself.
const MOST_LEFT: isize = 512 << 10;

/// The restart budget of each level.
const BUDGETS: [Option<u32>; LEVELS] = [None, Some(6), Some(5), Some(3)];

fn supervision(level: usize) -> Supervision {
    let strategy = match level {
        0 | 3 => Supervision::one_for_one(),
        1 => Supervision::rest_for_one(),
        _ => Supervision::all_for_one(),
    };
    let strategy = match BUDGETS[level] {
        Some(restarts) => strategy.budget(restarts, WINDOW),
        None => strategy.unlimited(),
    };
    strategy.decide(|failure| match failure.get("message") {
        Some(message) if message.ends_with("Puzzle") => Directive::Resume,
        Some(message) if message.ends_with("Blunder") => Directive::Stop,
        _ => Directive::Restart,
    })
}

/// The index of the first actor of a level.
fn first(level: usize) -> usize {
    (1..=level).map(|level| FAN.pow(level as u32)).sum()
}

/// The shared state of a run.
struct Chaos {
    random: Mutex<SplitMix64>,
    /// No failures while the tree is built, and at the end.
    quiet: std::sync::atomic::AtomicBool,
    /// The current actor at each position.
    places: Vec<Mutex<Option<ActorRef<Node>>>>,
    restarts: Mutex<HashMap<Pid, u32>>,
    wrong: Mutex<Vec<String>>,
    tally: Mutex<BTreeMap<&'static str, u64>>,
}

impl Chaos {
    fn new(seed: u64) -> Self {
        Self {
            random: Mutex::new(SplitMix64(seed)),
            quiet: true.into(),
            places: (0..first(LEVELS)).map(|_| Mutex::default()).collect(),
            restarts: Mutex::default(),
            wrong: Mutex::default(),
            tally: Mutex::default(),
        }
    }

    /// `true` once in `once_in` times.
    fn strikes(&self, once_in: u64) -> bool {
        !self.quiet.load(Relaxed) && self.random.lock().unwrap().below(once_in) == 0
    }

    fn count(&self, what: &'static str) {
        *self.tally.lock().unwrap().entry(what).or_default() += 1;
    }

    fn wrong(&self, what: impl Into<String>) {
        self.wrong.lock().unwrap().push(what.into());
    }

    fn at(&self, place: usize) -> Option<ActorRef<Node>> {
        self.places[place].lock().unwrap().clone()
    }
}

struct Node {
    level: usize,
    place: usize,
    chaos: Arc<Chaos>,
    /// The next directive of `on_error`.
    directive: Directive,
    /// The children of this instance, each with its position.
    children: HashMap<ActorUid, usize>,
}

fn factory(chaos: &Arc<Chaos>, level: usize, place: usize) -> impl FnMut() -> Node + Send + 'static {
    let chaos = chaos.clone();
    let mut made = false;
    move || {
        if std::mem::replace(&mut made, true) && chaos.strikes(64) {
            chaos.count("factory panics");
            panic!("as ordered");
        }
        Node { level, place, chaos: chaos.clone(), directive: Directive::Resume, children: HashMap::new() }
    }
}

impl Node {
    async fn bear(&mut self, place: usize, ctx: &mut Context<Self>) -> Outcome<()> {
        let spawn = ctx.spawn(factory(&self.chaos, self.level + 1, place)).name(format!("n{place}"));
        match spawn.supervision(supervision(self.level + 1)).await {
            Ok(child) => {
                ctx.watch(&child)?;
                self.children.insert(child.uid(), place);
            }
            Err(error) => match error.kind() {
                // It fails again, and the next instance retries.
                ErrorKind::StartFailed => return Err(error.into()),
                ErrorKind::SystemShutDown => {}
                kind => self.chaos.wrong(format!("a child was refused: {kind:?}: {error}")),
            },
        }
        Ok(())
    }

    async fn bear_all(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
        *self.chaos.places[self.place].lock().unwrap() = Some(ctx.actor_ref().clone());
        if self.level + 1 < LEVELS {
            let begin = first(self.level + 1) + (self.place - first(self.level)) * FAN;
            for place in begin..begin + FAN {
                self.bear(place, ctx).await?;
            }
        }
        Ok(())
    }
}

impl Actor for Node {
    async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
        if self.chaos.strikes(2000) {
            self.chaos.count("start fails");
            return Err(Failure::new("as ordered"));
        }
        self.bear_all(ctx).await
    }

    async fn on_restart(&mut self, _: &Error, ctx: &mut Context<Self>) -> Outcome<()> {
        let restarts = {
            let mut restarts = self.chaos.restarts.lock().unwrap();
            let restarts = restarts.entry(ctx.id()).or_default();
            *restarts += 1;
            *restarts
        };
        if BUDGETS[self.level].is_some_and(|budget| restarts > budget) {
            self.chaos.wrong(format!("{restarts} restarts at level {}", self.level));
        }
        self.chaos.count("restarts");
        if self.chaos.strikes(16) {
            self.chaos.count("restart fails");
            return Err(Failure::new("as ordered"));
        }
        if self.chaos.strikes(32) {
            panic!("as ordered");
        }
        self.bear_all(ctx).await
    }

    async fn on_error(&mut self, _: &Failure, _: &mut Context<Self>) -> Directive {
        if self.chaos.strikes(32) {
            panic!("as ordered");
        }
        self.directive
    }

    async fn on_stop(&mut self, _: &StopReason, ctx: &mut Context<Self>) -> Outcome<()> {
        if ctx.child_count() > 0 {
            self.chaos.wrong(format!("{} children are left in on_stop", ctx.child_count()));
        }
        tokio::task::yield_now().await;
        if self.chaos.strikes(64) {
            panic!("as ordered");
        }
        Ok(())
    }
}

/// Panics.
#[derive(Message)]
struct Accident;
/// Panics, and is resumed.
#[derive(Message)]
struct Puzzle;
/// Panics, and is stopped.
#[derive(Message)]
struct Blunder;
/// Fails; `on_error` returns this directive.
#[derive(Message)]
struct Mistake(Directive);
/// Counts the actors from here downwards.
#[derive(Message)]
#[message(reply = usize)]
struct Census;

impl Handler<Accident> for Node {
    async fn handle(&mut self, _: Accident, _: &mut Context<Self>) -> Outcome<()> {
        tokio::task::yield_now().await;
        panic!("as ordered")
    }
}

impl Handler<Puzzle> for Node {
    async fn handle(&mut self, _: Puzzle, _: &mut Context<Self>) -> Outcome<()> {
        panic!("as ordered")
    }
}

impl Handler<Blunder> for Node {
    async fn handle(&mut self, _: Blunder, _: &mut Context<Self>) -> Outcome<()> {
        panic!("as ordered")
    }
}

impl Handler<Mistake> for Node {
    async fn handle(&mut self, Mistake(directive): Mistake, _: &mut Context<Self>) -> Outcome<()> {
        self.directive = directive;
        Err(Failure::new("as ordered"))
    }
}

impl Handler<Census> for Node {
    async fn handle(&mut self, _: Census, ctx: &mut Context<Self>) -> Outcome<usize> {
        let mut count = 1;
        for place in self.children.values() {
            if let Some(child) = ctx.child::<Node>(&format!("n{place}")) {
                count += child.ask(Census).await.unwrap_or(0);
            }
        }
        Ok(count)
    }
}

impl Handler<Terminated> for Node {
    async fn handle(&mut self, child: Terminated, ctx: &mut Context<Self>) -> Outcome<()> {
        self.chaos.count("children replaced");
        match self.children.remove(&child.uid()) {
            Some(place) => match self.bear(place, ctx).await {
                Ok(()) => Ok(()),
                Err(_) => panic!("as ordered"),
            },
            None => {
                self.chaos.wrong(format!("told of the end of a stranger: {child:?}"));
                Ok(())
            }
        }
    }
}

/// Watches any actor, and counts.
struct Observer {
    watched: HashMap<ActorUid, ActorRef<Node>>,
    chaos: Arc<Chaos>,
    watches: Arc<[AtomicU64; 3]>,
}

impl Actor for Observer {}

#[derive(Message)]
struct Watch(ActorRef<Node>);
#[derive(Message)]
struct Unwatch(u64);
#[derive(Message)]
#[message(reply = usize)]
struct Watched;

impl Handler<Watch> for Observer {
    async fn handle(&mut self, Watch(node): Watch, ctx: &mut Context<Self>) -> Outcome<()> {
        ctx.watch(&node)?;
        if self.watched.insert(node.uid(), node).is_none() {
            self.watches[0].fetch_add(1, Relaxed);
        }
        Ok(())
    }
}

impl Handler<Unwatch> for Observer {
    async fn handle(&mut self, Unwatch(which): Unwatch, ctx: &mut Context<Self>) -> Outcome<()> {
        let count = self.watched.len().max(1) as u64;
        let Some(pid) = self.watched.keys().nth((which % count) as usize).copied() else { return Ok(()) };
        if let Some(node) = self.watched.remove(&pid) {
            if !ctx.unwatch(&node) {
                self.chaos.wrong("a watch was gone before it was given up");
            }
            self.watches[1].fetch_add(1, Relaxed);
        }
        Ok(())
    }
}

impl Handler<Watched> for Observer {
    async fn handle(&mut self, _: Watched, _: &mut Context<Self>) -> Outcome<usize> {
        Ok(self.watched.len())
    }
}

impl Handler<Terminated> for Observer {
    async fn handle(&mut self, node: Terminated, _: &mut Context<Self>) -> Outcome<()> {
        match self.watched.remove(&node.uid()) {
            None => self.chaos.wrong(format!("told twice, or without a watch: {node:?}")),
            Some(target) if target.is_alive() == Some(true) => {
                self.chaos.wrong(format!("told of the end of a live one: {node:?}"))
            }
            Some(_) => {
                self.watches[2].fetch_add(1, Relaxed);
            }
        }
        Ok(())
    }
}

async fn drive(
    chaos: Arc<Chaos>,
    observers: Vec<ActorRef<Observer>>,
    mut random: SplitMix64,
    until: Instant,
) {
    let mut actions = 0_u64;
    while Instant::now() < until {
        let level = match random.below(10_000) {
            0..2 => 0,
            2..40 => 1,
            40..600 => 2,
            _ => 3,
        };
        let place = first(level) + random.below(FAN.pow(level as u32 + 1) as u64) as usize;
        let Some(node) = chaos.at(place) else { continue };
        let observer = &observers[random.below(OBSERVERS as u64) as usize];
        // A refusal does not matter here: other actors report the end.
        match random.below(100) {
            0..25 => drop(node.tell(Accident)),
            25..30 => drop(node.tell(Puzzle)),
            30..33 => drop(node.tell(Blunder)),
            33..45 => {
                let directives =
                    [Directive::Resume, Directive::Restart, Directive::Stop, Directive::Escalate];
                drop(node.tell(Mistake(directives[random.below(4) as usize])));
            }
            45..50 => node.stop(),
            50..53 => node.kill(),
            53..56 => node.drain(),
            56..90 => drop(observer.send(Watch(node)).await),
            _ => drop(observer.send(Unwatch(random.below(1 << 20))).await),
        }
        actions += 1;
        if actions.is_multiple_of(16) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    chaos.tally.lock().unwrap().entry("actions").and_modify(|count| *count += actions).or_insert(actions);
}

async fn run(
    backend: impl Backend,
    observing: impl Backend,
    seed: u64,
    span: Duration,
) -> BTreeMap<&'static str, u64> {
    let chaos = Arc::new(Chaos::new(seed));
    let (seen, counter) = (Arc::new([const { AtomicU64::new(0) }; 2]), Arc::new(AtomicU64::new(0)));
    let (begun, spent) = (seen.clone(), counter.clone());
    let system = System::builder("chaos")
        .backend(backend)
        .grace(PATIENCE)
        .observe(move |event| match event {
            Event::Spawned { .. } => drop(begun[0].fetch_add(1, Relaxed)),
            Event::Stopped { reason, .. } => {
                begun[1].fetch_add(1, Relaxed);
                if reason.failure().is_some_and(|error| error.get("restart").is_some()) {
                    spent.fetch_add(1, Relaxed);
                }
            }
            _ => {}
        })
        .build()
        .unwrap();
    let gallery = System::builder("gallery").backend(observing).build().unwrap();
    let watches = Arc::new([const { AtomicU64::new(0) }; 3]);
    let mut observers = Vec::new();
    for number in 0..OBSERVERS {
        let observer = Observer { watched: HashMap::new(), chaos: chaos.clone(), watches: watches.clone() };
        let spawn = gallery.spawn(observer);
        observers.push(
            if number % 2 == 0 { spawn.await } else { spawn.bounded(2, Overflow::Block).await }.unwrap(),
        );
    }
    let top = async |place: usize| {
        let spawn = system.spawn(factory(&chaos, 0, place)).name(format!("n{place}"));
        spawn.supervision(supervision(0)).await
    };
    for place in 0..FAN {
        top(place).await.unwrap();
    }
    assert_eq!(system.actor_count(), first(LEVELS));
    chaos.quiet.store(false, Relaxed);

    let until = Instant::now() + span;
    let drivers: Vec<_> = (0..DRIVERS)
        .map(|driver| {
            let random = SplitMix64(seed.wrapping_mul(31).wrapping_add(driver));
            tokio::spawn(drive(chaos.clone(), observers.clone(), random, until))
        })
        .collect();
    while Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(10)).await;
        for place in 0..FAN {
            let ended = system.get::<Node>(&format!("n{place}")).is_none();
            if ended && top(place).await.is_ok() {
                chaos.count("tops replaced");
            }
        }
    }
    for driver in drivers {
        driver.await.expect("no driver panics");
    }
    chaos.quiet.store(true, Relaxed);

    // At rest, every live actor is found from the top.
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut found = 0;
        for place in 0..FAN {
            if let Some(node) = system.get::<Node>(&format!("n{place}")) {
                found += node.ask(Census).await.unwrap_or(0);
            }
        }
        if found == system.actor_count() && found > 0 {
            break;
        }
        assert!(Instant::now() < deadline, "{} live, {found} are found from the top", system.actor_count());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    system.shutdown().await.unwrap();
    assert_eq!(system.actor_count(), 0);
    let [begun, ended] = [0, 1].map(|at| seen[at].load(Relaxed));
    assert_eq!(begun, ended, "every actor that began has ended once");

    for observer in &observers {
        while observer.ask(Watched).await.unwrap() > 0 {
            assert!(Instant::now() < deadline, "a watch has not fired");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    let [watches, given_up, fired] = [0, 1, 2].map(|at| watches[at].load(Relaxed));
    assert_eq!(watches, given_up + fired);
    gallery.shutdown().await.unwrap();
    for place in &chaos.places {
        *place.lock().unwrap() = None;
    }
    let wrong = std::mem::take(&mut *chaos.wrong.lock().unwrap());
    assert!(wrong.is_empty(), "{} things went wrong: {:#?}", wrong.len(), &wrong[..wrong.len().min(10)]);
    let mut tally = std::mem::take(&mut *chaos.tally.lock().unwrap());
    tally.extend([
        ("actors", begun),
        ("watches", watches),
        ("fired", fired),
        ("budgets spent", counter.load(Relaxed)),
    ]);
    tally
}

fn on_runtime(name: &str, backend: impl Backend, observing: impl Backend, seed: u64, span: Duration) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    runtime.block_on(async {
        let running = run(backend, observing, seed, span);
        let tally = tokio::time::timeout(span + 3 * PATIENCE, running).await.expect("nothing hangs");
        println!("{name}: {tally:?}");
        // Rare events need not happen in a short run, or on a busy machine.
        let (often, rare) = (
            ["restarts", "children replaced", "fired"],
            ["restart fails", "factory panics", "budgets spent"],
        );
        let rare = if span >= LONG { &rare[..] } else { &[] };
        for what in often.iter().chain(rare).filter(|_| span >= Duration::from_secs(1)) {
            assert!(tally.get(what).is_some_and(|count| *count > 0), "nothing of this happened: {what}");
        }
        let tasks = tokio::runtime::Handle::current().metrics();
        let deadline = Instant::now() + PATIENCE;
        while tasks.num_alive_tasks() > 0 {
            assert!(Instant::now() < deadline, "{} tasks are left", tasks.num_alive_tasks());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
}

#[test]
fn nothing_dies_unnoticed() {
    let seed = number("DACTOR_CHAOS_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let seconds = number("DACTOR_CHAOS_SECONDS").unwrap_or(3);
    println!("DACTOR_CHAOS_SEED={seed} DACTOR_CHAOS_SECONDS={seconds}");
    hide_ordered_panics();
    let ractor = |span| on_runtime("ractor", dactor_ractor::ractor(), dactor_ractor::ractor(), seed, span);
    let kameo = |span| on_runtime("kameo", dactor_kameo::kameo(), dactor_kameo::kameo(), seed, span);
    for (name, run) in [("ractor", &ractor as &dyn Fn(Duration)), ("kameo", &kameo)] {
        // The first run initializes everything lazy.
        run(Duration::from_millis(50));
        start_counting();
        run(Duration::from_secs(seconds));
        let left = stop_counting().live_bytes;
        println!("{name}: {left} bytes are left");
        assert!(left < MOST_LEFT, "{left} bytes are left");
    }
}
