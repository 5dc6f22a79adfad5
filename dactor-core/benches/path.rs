//! What paths cost: `cargo bench -p dactor-core --bench path`
//!
//! A row is the median of several rounds, in nanoseconds and allocations for one operation.

use std::hint::black_box;
use std::time::Instant;

use counting_alloc::{Counting, start_counting, stop_counting};
use dactor_core::path::{ActorPath, PathSegment, SegmentPattern};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ROUNDS: usize = 15;

fn main() {
    // Without `--bench` cargo is only making sure that it runs.
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
