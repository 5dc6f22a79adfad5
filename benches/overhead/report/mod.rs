//! Output of the figures: a table on stdout, JSON, a chart and a table for the docs.

mod json;
mod markdown;
mod svg;
mod table;

use std::io;

use bench_harness::Files;
pub(crate) use table::table;

use crate::rounds::Row;

/// Writes `bench/overhead.json` under the target directory.
pub(crate) fn write_json(rows: &[Row]) -> io::Result<()> {
    files().write_json(&json::array(rows))
}

/// Writes the chart and the table that the documentation shows.
pub(crate) fn write_docs(rows: &[Row], rounds: usize) -> io::Result<()> {
    files().write_docs("svg", &svg::chart(rows))?;
    files().write_docs("md", &markdown::table(rows, rounds))
}

fn files() -> Files {
    Files::of(env!("CARGO_MANIFEST_DIR"), "overhead")
}

/// One sentence for each ratio that is not relative to the subject's own backend.
fn notes(rows: &[Row]) -> Vec<String> {
    let mut notes: Vec<String> = rows
        .iter()
        .filter(|row| row.is_stand_in)
        .filter_map(|row| {
            let (workload, subject) = (row.workload.id(), row.subject);
            Some(format!(
                "In {workload}, the ratio to native of {subject} is to {}: its own backend cannot run it.",
                row.native?
            ))
        })
        .collect();
    notes.dedup();
    notes
}
