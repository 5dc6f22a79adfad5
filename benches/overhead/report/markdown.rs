//! The figures for the documentation, as a table.

use std::fmt::Write;

use crate::rounds::Row;

/// One line per workload and thread count, natives beside the ratios to them.
pub(crate) fn table(rows: &[Row], rounds: usize) -> String {
    let mut text = format!(
        "# Overhead of dactor over its backends\n\n\
         Written by `cargo bench --bench overhead`: medians over {rounds} interleaved rounds. \
         A ratio is the median of the ratios of each round; 1.00 is the native library, lower is \
         better. `wake` shows its median latency. Times are nanoseconds per operation, \
         `idle_bytes` is bytes per actor.\n\n\
         | workload | threads | tokio_boxed | ractor | kameo \
         | dactor_ractor / ractor | dactor_kameo / kameo |\n\
         |---|---:|---:|---:|---:|---:|---:|\n"
    );
    for group in rows.chunk_by(|a, b| a.workload == b.workload && a.threads == b.threads) {
        let figure = |subject| format!("{:.0}", find(group, subject).per_op);
        let ratio = |subject| {
            let ratio = find(group, subject).ratio_to_native;
            ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"))
        };
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
    text
}

fn find<'a>(group: &'a [Row], subject: &str) -> &'a Row {
    group.iter().find(|row| row.subject == subject).expect("every subject has a row")
}
