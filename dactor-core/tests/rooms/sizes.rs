//! How long the files and functions of the core are.

use std::path::Path;

use crate::source::walk;

const LONGEST_FILE: usize = 400;
/// At most one file in ten is longer.
const LONG_FILE: usize = 300;
const LONGEST_FUNCTION: usize = 60;

/// The functions of a file with their lengths in lines. Relies on the format of rustfmt: a function ends at a `}` that is
/// indented like its beginning.
pub(crate) fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<_> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let indent = &line[..line.len() - code.len()];
        let Some(name) = function(code) else { continue };
        // A function without a body ends with its signature.
        let is_end =
            |line: &&str| line.strip_prefix(indent).is_some_and(|rest| rest == "}") || is_whole(line, indent);
        let length = lines[at..].iter().position(is_end).map_or(1, |end| end + 1);
        found.push((name.to_owned(), length));
    }
    found
}

/// Whether a declaration ends on this line.
fn is_whole(line: &str, indent: &str) -> bool {
    let ends = line.ends_with(';') || line.ends_with("{}") || (line.ends_with('}') && line.contains("{ "));
    ends && line.strip_prefix(indent).is_some_and(|rest| !rest.starts_with(' '))
}

/// The name of the function that a line begins.
fn function(code: &str) -> Option<&str> {
    let (before, after) = code.split_once("fn ")?;
    let is_modifier = |word: &str| {
        matches!(word, "pub" | "async" | "const" | "unsafe")
            || word.starts_with("pub(")
            || word.ends_with(')')
    };
    if !before.split_whitespace().all(is_modifier) {
        return None;
    }
    let end = after.find(|c: char| c != '_' && !c.is_alphanumeric())?;
    Some(&after[..end]).filter(|name| !name.is_empty())
}

#[test]
fn no_file_and_no_function_is_too_long() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    walk(&src, &mut files);
    let mut lengths = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(&src).unwrap().display().to_string();
        let long: Vec<_> =
            functions(&text).into_iter().filter(|(_, length)| *length > LONGEST_FUNCTION).collect();
        assert!(long.is_empty(), "{name}: functions of more than {LONGEST_FUNCTION} lines: {long:?}");
        lengths.push((text.lines().count(), name));
    }
    lengths.sort();
    let (longest, file) = lengths.last().unwrap();
    assert!(
        *longest <= LONGEST_FILE,
        "{file} has {longest} lines, more than {LONGEST_FILE}: split it by concept"
    );
    let (p90, _) = lengths[lengths.len() * 9 / 10];
    let long: Vec<_> = lengths.iter().filter(|(length, _)| *length > LONG_FILE).collect();
    assert!(p90 <= LONG_FILE, "more than one file in ten has more than {LONG_FILE} lines: {long:#?}");
}

#[test]
fn how_long_a_function_is() {
    let text = "fn one() {}\n\nimpl A {\n    pub(crate) async fn two(\n        &self,\n    ) {\n        if x {\n        }\n    }\n\n    \
                fn three(&self) -> u8;\n}\nconst fn four() -> u8 { 4 }\n";
    let found = functions(text);
    let found: Vec<_> = found.iter().map(|(name, length)| (name.as_str(), *length)).collect();
    assert_eq!(found, [("one", 1), ("two", 6), ("three", 1), ("four", 1)]);
}
