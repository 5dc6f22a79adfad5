//! The figures for the documentation, as a table.

use std::fmt::Write;

use super::notes;
use crate::rounds::Row;

/// One line per workload and thread count: native times, and the ratios of dactor to them.
pub(crate) fn table(rows: &[Row], rounds: usize) -> String {
    let mut text = format!(
        "# Overhead of dactor over its backends\n\n\
         Written by `cargo bench --bench overhead`: medians over {rounds} interleaved rounds. \
         A ratio is the median of the ratios of each round; 1.00 is the native library, lower is \
         better. `wake` shows its median latency. Times are nanoseconds per operation, \
         `idle_bytes` is bytes per actor. `tell_1_icpt1` and `tell_1_icpt5` are `tell_1` through one \
         and five interceptors of dactor's that do nothing, against a plain native `tell_1`.\n\n\
         | workload | threads | tokio_boxed | ractor | kameo \
         | dactor_ractor / ractor | dactor_kameo / kameo |\n\
         |---|---:|---:|---:|---:|---:|---:|\n"
    );
    for group in rows.chunk_by(|a, b| a.workload == b.workload && a.threads == b.threads) {
        let find = |subject| group.iter().find(|row| row.subject == subject);
        let figure =
            |subject| find(subject).map_or_else(|| "-".to_owned(), |row| format!("{:.0}", row.per_op));
        let ratio = |subject| find(subject).map_or_else(String::new, ratio);
        writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} |",
            group[0].workload.id(),
            group[0].threads.count(),
            figure("tokio_boxed"),
            figure("ractor"),
            figure("kameo"),
            ratio("dactor_ractor"),
            ratio("dactor_kameo"),
        )
        .expect("writing to a string");
    }
    for note in notes(rows) {
        writeln!(text, "\n{note}").expect("writing to a string");
    }
    text
}

/// Formats a ratio; names the reference if it is not the one of the column.
fn ratio(row: &Row) -> String {
    match (row.ratio_to_native, row.native) {
        (Some(ratio), Some(native)) if row.is_stand_in => format!("{ratio:.2} (/ {native})"),
        (Some(ratio), _) => format!("{ratio:.2}"),
        (None, _) => String::new(),
    }
}
