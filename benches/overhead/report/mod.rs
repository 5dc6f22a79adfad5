//! Where the figures go: a table on stdout, JSON for programs, a chart and a table for the docs.

mod json;
mod markdown;
mod svg;
mod table;

use std::path::{Path, PathBuf};
use std::{env, fs, io};

pub(crate) use table::table;

use crate::rounds::Row;

/// Writes `bench/overhead.json` under the target directory.
pub(crate) fn write_json(rows: &[Row]) -> io::Result<()> {
    let target =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir));
    write(&target.join("bench/overhead.json"), &json::array(rows))
}

/// Writes the chart and the table that the documentation shows.
pub(crate) fn write_docs(rows: &[Row], rounds: usize) -> io::Result<()> {
    let docs = root().join("docs/bench");
    write(&docs.join("overhead.svg"), &svg::chart(rows))?;
    write(&docs.join("overhead.md"), &markdown::table(rows, rounds))
}

/// What a reader must know of the ratios that are not to a subject's own backend, one sentence each.
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

/// The workspace root: the bench belongs to the root package.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, text)?;
    eprintln!("wrote {}", path.display());
    Ok(())
}
