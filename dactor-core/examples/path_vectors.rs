//! Runs a file of actor-path vectors: `cargo run -q -p dactor-core --example path_vectors -- FILE.jsonl`
//!
//! It prints one line for each case that fails, then how many passed and failed, and exits with 1 if any
//! failed.

#[path = "../tests/vectors/mod.rs"]
mod vectors;

use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(file) = std::env::args_os().nth(1) else {
        eprintln!("which file of vectors? give its name as the argument");
        return ExitCode::from(2);
    };
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{}: {error}", file.display());
            return ExitCode::from(2);
        }
    };
    let report = vectors::run(&text);
    for failure in &report.failures {
        println!("{failure}");
    }
    println!("{} passed, {} failed", report.passed, report.failures.len());
    if report.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
