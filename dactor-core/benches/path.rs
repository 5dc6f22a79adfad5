//! The cost of paths: `cargo bench -p dactor-core --bench path`
//!
//! A row is the median of several rounds, in nanoseconds and allocations per operation.

use std::any::Any;
use std::hint::black_box;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use counting_alloc::{Counting, start_counting, stop_counting};
use dactor_core::path::{ActorPath, PathSegment, SegmentPattern};
use dactor_core::spi::{Backend, Cell, NativeHandle};
use dactor_core::{Actor, Result, System};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ROUNDS: usize = 15;

fn main() {
    // Without `--bench` this is only a smoke test.
    let repetitions = if std::env::args().any(|argument| argument == "--bench") { 200_000 } else { 100 };
    let local = "pekko://bank/user/branch/account-42";
    let remote =
        "pekko://bank@db.example.com:2552/user/region/branch/teller/desk/drawer/box/account-42#1234567";
    println!("| operation | ns | allocations |\n| --- | ---: | ---: |");
    for (which, text) in [("local, 3 segments", local), ("remote, 8 segments", remote)] {
        let path: ActorPath = text.parse().expect("a path");
        let name = PathSegment::new("entry-7").expect("a name");
        row(&format!("parse, {which}"), repetitions, || black_box(text).parse::<ActorPath>());
        row(&format!("format, {which}"), repetitions, || black_box(&path).to_string());
        row(&format!("child, {which}"), repetitions, || black_box(&path).child(name));
        row(&format!("resolve `../x`, {which}"), repetitions, || black_box(&path).resolve("../x"));
        row(&format!("compare, {which}"), repetitions, || black_box(&path) == black_box(&path));
    }
    let pattern = SegmentPattern::new("account-*").expect("a pattern");
    row("match `account-*`", repetitions, || pattern.matches(black_box("account-42")));
    for alive in [100, 100_000] {
        // Without `--bench`, few actors are enough.
        lookups(alive.min(repetitions), repetitions);
    }
}

/// Lookup of an actor by path and back, among many live actors: the cost must be constant.
fn lookups(alive: u32, repetitions: u32) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        let system = System::builder("bank").backend(Shelf::default()).build().expect("a system");
        let mut actors = Vec::new();
        for number in 0..alive {
            let spawn = system.spawn(Idle);
            let spawn = if number % 2 == 0 { spawn.name(format!("account-{number}")) } else { spawn };
            actors.push(spawn.await.expect("an actor"));
        }
        let (named, unnamed) = (&actors[alive as usize / 2 / 2 * 2], &actors[alive as usize / 2 / 2 * 2 + 1]);
        row(&format!("path of a ref, {alive} alive"), repetitions, || black_box(named).path());
        for (which, actor) in [("named", named), ("unnamed", unnamed)] {
            let path = actor.path();
            let found = || system.actor_at::<Idle>(black_box(&path)).expect("found");
            row(&format!("path to ref, {which}, {alive} alive"), repetitions, found);
            let path = || system.path_of(black_box(actor.id())).expect("found");
            row(&format!("id to path, {which}, {alive} alive"), repetitions, path);
        }
        let selection = system.select("/user/account-2").expect("a selection");
        row(&format!("select one by name, {alive} alive"), repetitions, || selection.identify());
    });
}

struct Idle;
impl Actor for Idle {}

/// Keeps actors without running them.
///
#[derive(Default)]
struct Shelf(Mutex<Vec<Cell>>);

impl Backend for Shelf {
    fn name(&self) -> &'static str {
        "shelf"
    }

    fn spawn(&self, cell: Cell) -> Result<()> {
        cell.bind(NoopHandle);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(cell);
        Ok(())
    }
}

struct NoopHandle;

impl NativeHandle for NoopHandle {
    fn native(&self) -> &(dyn Any + Send + Sync) {
        self
    }
}

fn row<T>(name: &str, repetitions: u32, operation: impl Fn() -> T) {
    let round = || {
        let start = Instant::now();
        for _ in 0..repetitions {
            black_box(operation());
        }
        start.elapsed().as_nanos() as f64 / f64::from(repetitions)
    };
    let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| round()).collect();
    rounds.sort_by(f64::total_cmp);
    start_counting();
    black_box(operation());
    let allocations = stop_counting().allocations;
    println!("| {name} | {:.0} | {allocations} |", rounds[ROUNDS / 2]);
}
