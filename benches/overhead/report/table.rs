//! The figures as a table for the terminal.

use std::fmt::Write;

use super::notes;
use crate::rounds::Row;

/// Columns aligned with spaces, a blank line between workloads, and notes on ratios to another backend.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut text = line(["workload", "threads", "subject", "per op", "unit", "p99", "x native", "x tokio"]);
    let mut previous = None;
    for row in rows {
        let group = (row.workload.id(), row.threads.count());
        if previous.is_some_and(|previous| previous != group) {
            text.push('\n');
        }
        previous = Some(group);
        text += &line([
            group.0,
            &group.1.to_string(),
            row.subject,
            &format!("{:.1}", row.per_op),
            row.workload.unit(),
            &row.p99.map_or_else(String::new, |p99| format!("{p99:.0}")),
            &ratio(row.ratio_to_native),
            &ratio(row.ratio_to_tokio),
        ]);
    }
    let notes = notes(rows);
    if !notes.is_empty() {
        text += &format!("\n{}\n", notes.join("\n"));
    }
    text
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"))
}

fn line(cells: [&str; 8]) -> String {
    let [workload, threads, subject, per_op, unit, p99, native, tokio] = cells;
    let mut text = String::new();
    writeln!(
        text,
        "{workload:<16}{threads:>7}  {subject:<14}{per_op:>10} {unit:<6}{p99:>8}{native:>10}{tokio:>9}"
    )
    .expect("writing to a string");
    text
}
