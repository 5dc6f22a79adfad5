//! The figures as a table for the terminal.

use crate::compare::{Row, mean_ratio};
use crate::suite::Subject;

/// Columns aligned with spaces; a blank line between two benchmarks, and the means at the end.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut text = line("benchmark", "subject", "ms", "x native");
    for group in rows.chunk_by(|a, b| a.benchmark.name == b.benchmark.name) {
        for row in group {
            let ms = format!("{:.2}", row.ms);
            text += &line(row.benchmark.name, row.subject.id(), &ms, &ratio(row.ratio_to_native));
        }
        text.push('\n');
    }
    for subject in Subject::ALL {
        if let Some(mean) = mean_ratio(rows, subject) {
            text += &line("geometric mean", subject.id(), "", &ratio(Some(mean)));
        }
    }
    text
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"))
}

fn line(benchmark: &str, subject: &str, ms: &str, ratio: &str) -> String {
    format!("{benchmark:<24}{subject:<14}{ms:>10}{ratio:>10}\n")
}
