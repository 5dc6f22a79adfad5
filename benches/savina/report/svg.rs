//! The figures for the documentation, as a chart.

use bench_harness::{Bar, Chart, Group};

use crate::compare::{Row, mean_ratio};
use crate::suite::Subject;

/// Draws the ratios to native, and below them their means.
pub(crate) fn chart(rows: &[Row]) -> String {
    let benchmarks = rows.chunk_by(|a, b| a.benchmark.name == b.benchmark.name);
    let mut groups: Vec<_> = benchmarks
        .map(|rows| Group {
            label: rows[0].benchmark.name.to_owned(),
            bars: rows.iter().filter_map(|row| bar(row.subject, row.ratio_to_native)).collect(),
        })
        .collect();
    let means = Subject::ALL.into_iter().filter_map(|subject| bar(subject, mean_ratio(rows, subject)));
    groups.push(Group { label: "geometric mean".to_owned(), bars: means.collect() });
    let chart = Chart {
        title: "Savina benchmarks",
        note: "Time as a multiple of the native program: 1.0 is native, shorter is better",
        baseline: "native",
        groups,
    };
    chart.svg()
}

fn bar(subject: Subject, ratio: Option<f64>) -> Option<Bar> {
    let ratio = ratio?;
    Some(Bar { subject: subject.id(), ratio, label: format!("{ratio:.2}") })
}
