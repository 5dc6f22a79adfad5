//! The figures as JSON.

use bench_harness::rounded;
use serde_json::{Value, json};

use crate::rounds::Row;

/// An array with one object per row; a figure that does not apply to a row is null.
pub(crate) fn array(rows: &[Row]) -> String {
    let rows: Vec<Value> = rows.iter().map(object).collect();
    format!("{:#}\n", Value::Array(rows))
}

fn object(row: &Row) -> Value {
    json!({
        "workload": row.workload.id(),
        "threads": row.threads.count(),
        "subject": row.subject,
        "unit": row.workload.unit(),
        "ns_per_op": rounded(row.per_op, 10.0),
        "p99_ns": row.p99.map(|p99| rounded(p99, 10.0)),
        "native": row.native,
        "ratio_to_native": row.ratio_to_native.map(|ratio| rounded(ratio, 1000.0)),
        "ratio_to_tokio": row.ratio_to_tokio.map(|ratio| rounded(ratio, 1000.0)),
    })
}
