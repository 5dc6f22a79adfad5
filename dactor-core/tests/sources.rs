//! Checks on the sources: the context keys of errors are documented in one place, on `Error::context`, and a
//! run can be replayed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The first argument of each `.with("…", …)`, also where it is on a line of its own.
fn keys(source: &str) -> BTreeSet<String> {
    let calls = source.split(".with(").skip(1);
    let quoted = calls.filter_map(|call| call.trim_start().strip_prefix('"'));
    quoted.filter_map(|text| text.split_once('"')).map(|(key, _)| key.to_owned()).collect()
}

#[test]
fn every_key_is_documented() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let docs = fs::read_to_string(root.join("base/error.rs")).unwrap();
    let (_, table) = docs.split_once("/// | key | value |").expect("the table of the keys");
    let rows = table.lines().skip(2).take_while(|line| line.trim_start().starts_with("/// |"));
    let documented: BTreeSet<String> = rows
        .filter_map(|row| row.split('|').nth(1))
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .map(str::to_owned)
        .collect();
    assert!(documented.contains("actor") && documented.contains("message"), "{documented:?}");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut used = BTreeSet::new();
    for file in files {
        used.extend(keys(&fs::read_to_string(file).unwrap()));
    }
    // Of the report of a shutdown, which has keys of its own.
    used.remove("third signal");
    let missing: Vec<_> = used.difference(&documented).collect();
    assert!(missing.is_empty(), "not in the table on `Error::context`: {missing:?}");
    let unused: Vec<_> = documented.difference(&used).collect();
    assert!(unused.is_empty(), "in the table, and used nowhere: {unused:?}");
}

/// Sources of nondeterminism: a clock that a test cannot drive, and a table in the order of a random hasher.
#[test]
fn a_run_can_be_replayed() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    for file in files {
        let source = fs::read_to_string(&file).unwrap();
        let code = source.split("#[cfg(test)]").next().unwrap();
        let name = file.display();
        // UIDs must not repeat after a restart of the process. They decide nothing in a run.
        if file.ends_with("base/uid.rs") {
            continue;
        }
        for clock in ["std::time::Instant", "std::time::{Duration, Instant}", "SystemTime"] {
            assert!(!code.contains(clock), "{name} reads {clock}: a test drives tokio's clock alone");
        }
        let is_random = file.ends_with("base/random.rs");
        assert!(
            is_random || !code.contains("RandomState"),
            "{name}: random numbers come from base/random.rs"
        );
    }
}
