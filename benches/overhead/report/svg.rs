//! The figures for the documentation, as a chart.

use bench_harness::{Bar, Chart, Group};

use crate::rounds::Row;

/// Draws the rows that have a ratio to native.
pub(crate) fn chart(rows: &[Row]) -> String {
    let groups = rows.chunk_by(|a, b| a.workload == b.workload && a.threads == b.threads);
    let chart = Chart {
        title: "Overhead of dactor over its backends",
        note: "Cost as a multiple of the native library: 1.0 is native, shorter is better",
        baseline: "native",
        groups: groups.map(group).collect(),
    };
    chart.svg()
}

fn group(rows: &[Row]) -> Group {
    let threads = rows[0].threads.count();
    let plural = if threads == 1 { "" } else { "s" };
    Group {
        label: format!("{}, {threads} thread{plural}", rows[0].workload.id()),
        bars: rows.iter().filter_map(bar).collect(),
    }
}

fn bar(row: &Row) -> Option<Bar> {
    let (ratio, native) = (row.ratio_to_native?, row.native?);
    let label = if row.is_stand_in { format!("{ratio:.2} of {native}") } else { format!("{ratio:.2}") };
    Some(Bar { subject: row.subject, ratio, label })
}
