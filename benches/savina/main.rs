//! The Savina benchmarks (Imam and Sarkar, AGERE 2014): one dactor program on both backends against a program
//! written for native ractor and one for native kameo.
//!
//! A run is timed from the first spawn until the last actor is gone. A wrong answer fails the bench. The key figure is
//! the ratio of a dactor subject to its native backend, computed per round.
//!
//! ```text
//! cargo bench --bench savina                         # everything; rewrites docs/bench/
//! cargo bench --bench savina -- ping_pong            # only these benchmarks
//! cargo bench --bench savina -- --quick              # smoke run, figures mean nothing
//! cargo bench --bench savina -- --rounds 21          # more rounds, steadier medians
//! ```

mod compare;
mod report;
// With `#[path]`, as in the tests, so that its modules resolve to the same files in both.
#[path = "suite.rs"]
mod suite;

use std::process::ExitCode;

use bench_harness::Options;

fn main() -> ExitCode {
    let names: Vec<_> = suite::ALL.iter().map(|benchmark| benchmark.name).collect();
    let options = match Options::from_args(std::env::args().skip(1), &names) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    let mut rows = Vec::new();
    for benchmark in suite::ALL.iter().filter(|benchmark| options.selects(benchmark.name)) {
        rows.extend(compare::compare(benchmark, options)?);
    }
    print!("{}", report::table(&rows));
    if options.under_cargo_bench {
        report::write_json(&rows).map_err(|error| error.to_string())?;
    }
    if options.is_full_run() {
        report::write_docs(&rows, options.rounds).map_err(|error| error.to_string())?;
    }
    Ok(())
}
