//! The walks in `ARCHITECTURE.md`: every function that they name exists in the file that they name.

use std::collections::BTreeSet;
use std::path::Path;

use crate::sizes::functions;

/// The steps of a text, such as `` `a/b.rs`: `first`, `second` ``: files with their functions.
fn steps(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut found = Vec::new();
    for (at, end) in text.match_indices(".rs`: `") {
        let file = &text[text[..at].rfind('`').map_or(0, |begin| begin + 1)..at + ".rs".len()];
        let mut rest = &text[at + end.len()..];
        let mut names = Vec::new();
        while let Some((name, behind)) = rest.split_once('`') {
            names.push(name);
            let next = behind.trim_start_matches([',', ' ', '\n']);
            match next.strip_prefix('`') {
                // Another step, or another text, is not part of this one.
                Some(more) if behind.starts_with(", ") && !is_file(more) => rest = more,
                _ => break,
            }
        }
        found.push((file, names));
    }
    found
}

/// Whether the name at the beginning of a text is one of a file.
fn is_file(text: &str) -> bool {
    text.split_once('`').is_some_and(|(name, _)| name.ends_with(".rs"))
}

fn section<'a>(page: &'a str, title: &str) -> &'a str {
    let Some((_, behind)) = page.split_once(&format!("\n{title}\n")) else { panic!("no section {title}") };
    let level = title.split(' ').next().unwrap_or_default();
    behind.split(&format!("\n{level} ")).next().unwrap_or_default()
}

#[test]
fn every_step_of_a_walk_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // The page is not part of the package.
    let Ok(page) = std::fs::read_to_string(root.join("../ARCHITECTURE.md")) else { return };
    let walks = steps(section(&page, "## Walks"));
    assert!(walks.len() > 50, "the walks are not read: {walks:?}");
    for (file, names) in walks {
        let Ok(text) = std::fs::read_to_string(root.join("src").join(file)) else { panic!("no file {file}") };
        let functions = functions(&text);
        for name in names {
            assert!(functions.iter().any(|(found, _)| found == name), "{file} has no function {name}");
        }
    }
    let ask = section(&page, "### An ask");
    let (walk, _) = ask.split_once("\n\nA refused message").unwrap();
    let files: BTreeSet<_> = steps(walk).into_iter().map(|(file, _)| file).collect();
    let stated = format!("passes {} files", files.len());
    assert!(walk.contains(&stated), "the walk of an ask {stated}: {files:#?}");
}

#[test]
fn the_steps_of_a_text() {
    let text = "1. `a/b.rs`: `one`, `two`, then `c.rs`: `three`, `d.rs`: `four` or `five`.";
    assert_eq!(
        steps(text),
        [("a/b.rs", vec!["one", "two"]), ("c.rs", vec!["three"]), ("d.rs", vec!["four"])]
    );
}
