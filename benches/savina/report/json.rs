//! The figures as JSON.

use bench_harness::rounded;
use serde_json::{Value, json};

use crate::compare::Row;

/// An array with one object per row; a native subject has no ratio.
pub(crate) fn array(rows: &[Row]) -> String {
    let rows: Vec<Value> = rows.iter().map(object).collect();
    format!("{:#}\n", Value::Array(rows))
}

fn object(row: &Row) -> Value {
    json!({
        "benchmark": row.benchmark.name,
        "subject": row.subject.id(),
        "ms": rounded(row.ms, 1000.0),
        "ratio_to_native": row.ratio_to_native.map(|ratio| rounded(ratio, 1000.0)),
    })
}
