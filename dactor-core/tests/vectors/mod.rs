//! Runs files of vectors through the public API: one JSON object a line, with `id`, `kind`, `input` and
//! `expect`.
//!
//! Each kind of case is turned into a value of the same shape as `expect`, and [`expectation`] compares the
//! two.

mod expectation;
mod identities;
mod paths;
mod selections;
mod uris;

use serde_json::Value;

/// The result of a file.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) passed: usize,
    /// One line for each failed case: its id, the input, the expected and the actual result.
    pub(crate) failures: Vec<String>,
}

/// Runs every case of a file.
pub(crate) fn run(file: &str) -> Report {
    let mut report = Report::default();
    for (number, line) in file.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str(line) {
            Err(error) => report.failures.push(format!("line {}: not JSON: {error}", number + 1)),
            Ok(case) => match run_case(&case) {
                Ok(()) => report.passed += 1,
                Err(failure) => report.failures.push(failure),
            },
        }
    }
    report
}

fn run_case(case: &Value) -> Result<(), String> {
    let (input, expected) = (&case["input"], &case["expect"]);
    let got = match case["kind"].as_str().unwrap_or_default() {
        "parse_ok" | "parse_err" => paths::parse(input),
        "canonical" => paths::canonical(input),
        "child" => paths::child(input),
        "relative" => paths::relative(input),
        "eq" | "ne" => paths::compare(input),
        "segment_ok" | "segment_err" => paths::segment(input),
        "selection" => selections::selection(input),
        "uri_ok" => uris::read(input, expected),
        "uri_err" => uris::read_absolute(input),
        "actor_id_ok" | "actor_id_err" => identities::actor_id(input),
        _ => None,
    };
    let report = |got: &Value| {
        format!("{} input {input} expected {expected} got {got}", case["id"].as_str().unwrap_or("(no id)"))
    };
    match got {
        None => Err(report(&"a kind of case that this runner does not know".into())),
        Some(got) if expectation::holds(case, &got) => Ok(()),
        Some(got) => Err(report(&got)),
    }
}

/// A field of a case that has to be text. A case without it is not understood.
fn text<'a>(object: &'a Value, field: &str) -> Option<&'a str> {
    object[field].as_str()
}
