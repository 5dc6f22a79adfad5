//! The Savina benchmarks (Imam and Sarkar, AGERE 2014): one dactor program on both backends against a program
//! written for native ractor and one for native kameo.
//!
//! A run is timed from the first spawn until the last actor is gone, and its answer is checked: a wrong one fails
//! the bench. The figure that matters is the ratio of a dactor subject to its own native backend, taken round by
//! round.
//!
//! ```text
//! cargo bench --bench savina                         # everything; rewrites docs/bench/
//! cargo bench --bench savina -- ping_pong            # only these benchmarks
//! cargo bench --bench savina -- --quick              # smoke run, figures mean nothing
//! cargo bench --bench savina -- --rounds 21          # more rounds, steadier medians
//! ```

mod compare;
mod report;
// By its path, because the tests take it by its path, too: its modules are then in the same place for both.
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
