//! Output of the figures: a table on stdout, JSON, and a chart for the docs.
//!

use std::io;

use bench_harness::{Bar, Chart, Files, Group, Options, rounded};
use serde_json::{Value, json};

use super::Row;

/// Columns aligned with spaces; a blank line between two cases.
pub(super) fn table(rows: &[Row]) -> String {
    let mut text = line("case", "subject", "ns/item", "x mpsc");
    for case in rows.chunk_by(|a, b| a.case == b.case) {
        for row in case {
            let ratio = row.ratio_to_bare.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
            text += &line(row.case.name(), row.subject.id(), &format!("{:.1}", row.nanoseconds), &ratio);
        }
        text.push('\n');
    }
    text
}

fn line(case: &str, subject: &str, nanoseconds: &str, ratio: &str) -> String {
    format!("{case:<24}{subject:<14}{nanoseconds:>10}{ratio:>10}\n")
}

/// Writes `bench/streams.json` under the target directory, and the chart if everything was measured.
pub(super) fn write(rows: &[Row], options: &Options) -> io::Result<()> {
    let files = Files::of(env!("CARGO_MANIFEST_DIR"), "streams");
    if options.under_cargo_bench {
        let rows = rows.iter().map(object).collect();
        files.write_json(&format!("{:#}\n", Value::Array(rows)))?;
    }
    if options.is_full_run() {
        files.write_docs("svg", &chart(rows))?;
    }
    Ok(())
}

fn object(row: &Row) -> Value {
    json!({
        "case": row.case.name(),
        "subject": row.subject.id(),
        "ns_per_item": rounded(row.nanoseconds, 10.0),
        "ratio_to_mpsc": row.ratio_to_bare.map(|ratio| rounded(ratio, 1000.0)),
    })
}

fn chart(rows: &[Row]) -> String {
    let bar = |row: &Row| {
        let ratio = row.ratio_to_bare?;
        Some(Bar { subject: row.subject.id(), ratio, label: format!("{ratio:.2}") })
    };
    let cases = rows.chunk_by(|a, b| a.case == b.case);
    let groups = cases.map(|rows| Group {
        label: rows[0].case.name().to_owned(),
        bars: rows.iter().filter_map(bar).collect(),
    });
    let chart = Chart {
        title: "Streams",
        note: "Time per item as a multiple of a bare tokio::sync::mpsc: shorter is better",
        baseline: "mpsc",
        // Only the subjects over a backend have a bar.
        groups: groups
            .filter(|group| group.bars.iter().any(|bar| bar.subject.starts_with("dactor")))
            .collect(),
    };
    chart.svg()
}
