//! The table of the guide on refs has every method of a ref, and no other.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Types whose every public method is in the table.
const REFS: [&str; 3] = ["ActorRef", "Recipient", "AnyActorRef"];
/// Those of which only the methods that take a ref are.
const USERS: [&str; 2] = ["Context", "System"];
/// Operators, and what the sources do not call a method.
const OPERATORS: [&str; 2] = ["ActorRef ==", "Recipient =="];

fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(fs::read_to_string(path).unwrap());
        }
    }
}

/// The type that an `impl` line is for, unless it implements a trait.
fn implemented(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl")?;
    let named = match rest.strip_prefix('<') {
        Some(generic) => generic.split_once("> ")?.1,
        None => rest.trim_start(),
    };
    let end = named.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    (!line.contains(" for ")).then(|| &named[..end])
}

fn method(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("    pub ")?;
    let rest = rest.strip_prefix("async ").unwrap_or(rest).strip_prefix("fn ")?;
    rest.find(|c: char| !c.is_alphanumeric() && c != '_').map(|end| &rest[..end])
}

/// Whether the parameters of a method have a ref among them, other than `self`.
fn takes_ref(signature: &str) -> bool {
    let parameters = signature.split(") ->").next().unwrap_or(signature);
    ["&ActorRef<", "&Recipient<", "impl Watchable"].iter().any(|kind| parameters.contains(kind))
}

fn methods() -> BTreeSet<String> {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let mut methods: BTreeSet<String> = OPERATORS.map(str::to_owned).into();
    for file in &files {
        let mut current = "";
        let lines: Vec<_> = file.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            current = implemented(line).unwrap_or(if line.starts_with("impl") { "" } else { current });
            let Some(name) = method(line) else { continue };
            let signature: String =
                lines[at..].iter().take_while(|line| !line.ends_with('{')).copied().collect();
            let signature = format!("{signature}{line}");
            if REFS.contains(&current) || (USERS.contains(&current) && takes_ref(&signature)) {
                methods.insert(format!("{current}::{name}"));
            }
        }
    }
    methods
}

#[test]
fn every_method_has_a_row_and_every_row_a_method() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/docs/refs.md");
    // Not beside a published crate.
    let Ok(guide) = fs::read_to_string(guide) else { return };
    let rows = guide.lines().filter(|line| line.starts_with("| `"));
    let mut listed = BTreeSet::new();
    for row in rows {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        assert_eq!(cells.len(), 4, "local, remote and virtual: {row}");
        assert!(cells.iter().all(|cell| !cell.is_empty()), "{row}");
        assert!(listed.insert(cells[0].trim_matches('`').to_owned()), "twice: {row}");
    }
    let methods = methods();
    let missing: Vec<_> = methods.difference(&listed).collect();
    let invented: Vec<_> = listed.difference(&methods).collect();
    assert!(
        missing.is_empty() && invented.is_empty(),
        "without a row: {missing:?}; without a method: {invented:?}"
    );
    assert!(methods.len() > 50, "the sources were read");
}
