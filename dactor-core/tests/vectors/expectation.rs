//! Compares a result with the expected one.

use serde_json::{Value, json};

/// The result of a refused case: the names of the error in the vectors, and its position.
pub(super) fn refused(names: &[&str], index: Option<usize>, reason: Option<&str>, position: usize) -> Value {
    json!({ "refused": names, "index": index, "reason": reason, "pos": position })
}

/// Compares field by field. The result may have more fields than expected.
pub(super) fn holds(case: &Value, got: &Value) -> bool {
    let expected = &case["expect"];
    let error = expected.get("seed_error").or_else(|| expected.get("error"));
    if let Some(error) = error.and_then(Value::as_str) {
        return is_refused(got, error) && same_if_given(&case["index"], &got["index"]);
    }
    if let Some(reason) = expected.get("reason") {
        return got["reason"] == *reason && same_if_given(&expected["pos"], &got["pos"]);
    }
    let warned = match case["should_violation"].as_str() {
        Some(violation) => {
            got["warnings"].as_array().is_some_and(|all| all.iter().any(|one| one == violation))
        }
        None => true,
    };
    warned && has(got, expected)
}

fn has(got: &Value, expected: &Value) -> bool {
    match expected {
        Value::Object(fields) => fields.iter().all(|(name, value)| got.get(name) == Some(value)),
        // A valid name.
        Value::Bool(true) if got.is_object() => got.get("refused").is_none(),
        _ => got == expected,
    }
}

/// Where the vectors give the exception of another implementation, any error matches.
fn is_refused(got: &Value, error: &str) -> bool {
    let Some(names) = got["refused"].as_array() else { return false };
    error.ends_with("Exception") || names.iter().any(|name| name == error)
}

fn same_if_given(expected: &Value, got: &Value) -> bool {
    expected.is_null() || expected == got
}
