//! Every Savina benchmark returns the right answer and ends, on every subject, at small sizes.

#[path = "../benches/savina/suite.rs"]
#[allow(dead_code, reason = "the texts are for the bench's page")]
mod suite;

use bench_harness::Scale;
use dactor::System;
use suite::{Benchmark, Idioms, Subject, entry};

fn every_benchmark_on(subject: Subject) {
    let failures: Vec<_> =
        suite::ALL.iter().filter_map(|benchmark| (benchmark.run)(subject, Scale::Quick).err()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn on_dactor_over_ractor() {
    every_benchmark_on(Subject::DactorRactor);
}

#[test]
fn on_dactor_over_kameo() {
    every_benchmark_on(Subject::DactorKameo);
}

#[test]
fn on_native_ractor() {
    every_benchmark_on(Subject::Ractor);
}

#[test]
fn on_native_kameo() {
    every_benchmark_on(Subject::Kameo);
}

/// Its dactor program is wrong, and its ractor program panics.
struct Broken;

impl Benchmark for Broken {
    const NAME: &'static str = "broken";
    const ABOUT: &'static str = "";
    const IDIOMS: Idioms = Idioms { ractor: "", kameo: "" };

    type Config = ();
    type Answer = u64;

    fn config(_scale: Scale) {}

    fn expected((): ()) -> u64 {
        42
    }

    async fn dactor(_system: &System, (): ()) -> u64 {
        41
    }

    async fn ractor((): ()) -> u64 {
        panic!("as the test expects")
    }

    async fn kameo((): ()) -> u64 {
        42
    }
}

#[test]
fn what_is_broken_fails_and_says_where() {
    let run = |subject| (entry::<Broken>().run)(subject, Scale::Quick).map(|_| ());
    assert_eq!(run(Subject::Kameo), Ok(()));
    let wrong = "broken on dactor_kameo: the answer is 41, and should be 42".to_owned();
    assert_eq!(run(Subject::DactorKameo), Err(wrong));
    assert_eq!(run(Subject::Ractor), Err("broken on ractor: it panicked".to_owned()));
}
