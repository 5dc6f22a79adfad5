//! Output of the figures: a table on stdout, JSON, a chart and a page for the docs.

mod json;
mod machine;
mod page;
mod svg;
mod table;

use std::io;

use bench_harness::Files;
pub(crate) use table::table;

use crate::compare::Row;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Writes `bench/savina.json` under the target directory.
pub(crate) fn write_json(rows: &[Row]) -> io::Result<()> {
    files().write_json(&json::array(rows))
}

/// Writes the chart and the page that shows it.
pub(crate) fn write_docs(rows: &[Row], rounds: usize) -> io::Result<()> {
    files().write_docs("svg", &svg::chart(rows))?;
    files().write_docs("md", &page::page(rows, rounds))
}

fn files() -> Files {
    Files::of(ROOT, "savina")
}
