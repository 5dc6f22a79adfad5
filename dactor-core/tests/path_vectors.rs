//! Runs the project's vectors, as `examples/path_vectors.rs` does for any file.

mod vectors;

#[test]
fn every_case_holds() {
    let report = vectors::run(include_str!("vectors/actor-path.jsonl"));
    assert!(report.failures.is_empty(), "{}", report.failures.join("\n"));
    assert_eq!(report.passed, 180);
}

#[test]
fn a_wrong_case_is_reported() {
    let wrong = [
        r#"{"id": "w1", "kind": "parse_ok", "input": "pekko://sys/user/a", "expect": {"system": "other"}}"#,
        r#"{"id": "w2", "kind": "parse_ok", "input": "nothing", "expect": {"system": "sys"}}"#,
        r#"{"id": "w3", "kind": "parse_err", "input": "pekko://sys/user", "expect": {"error": "InvalidScheme"}}"#,
        r#"{"id": "w4", "kind": "parse_err", "input": "", "expect": {"error": "InvalidScheme"}}"#,
        r#"{"id": "w5", "kind": "parse_err", "input": "pekko://sys/user/$a", "index": 2, "expect": {"error": "InvalidSegment"}}"#,
        r#"{"id": "w6", "kind": "segment_ok", "input": "a b", "expect": true}"#,
        r#"{"id": "w7", "kind": "segment_err", "input": "a b", "expect": {"reason": "illegal_char", "pos": 2}}"#,
        r#"{"id": "w8", "kind": "no such kind", "input": "", "expect": true}"#,
        r#"{"id": "w9", "kind": "selection", "input": {"op": "match", "pattern": "a*", "name": "b"}, "expect": true}"#,
        r#"{"id": "w10", "kind": "actor_id_ok", "input": "a::b/c", "should_violation": "length", "expect": {"key": "c"}}"#,
        "not JSON",
    ];
    let report = vectors::run(&wrong.join("\n"));
    assert_eq!(report.passed, 0, "{report:?}");
    assert_eq!(report.failures.len(), wrong.len());
    assert!(report.failures[0].starts_with("w1 input"), "{}", report.failures[0]);
}
