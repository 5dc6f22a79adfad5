//! Checks that `docs/adapter-guide.md` quotes this package completely and correctly.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use dactor_conformance::{Tag, rules};

const QUOTED: [&str; 9] = [
    "Cargo.toml",
    "src/lib.rs",
    "src/native.rs",
    "src/backend.rs",
    "src/interop.rs",
    "examples/hello.rs",
    "tests/conformance.rs",
    "tests/by_turns.rs",
    "tests/probe/mod.rs",
];

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn guide() -> String {
    read("../../docs/adapter-guide.md")
}

/// The non-blank lines, without indentation.
fn lines(text: &str) -> Vec<String> {
    text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

/// The fenced blocks, each as its language and its lines.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    for (index, part) in page.split("```").enumerate() {
        if index % 2 == 1 {
            let (language, text) = part.split_once('\n').expect("a block has lines");
            blocks.push((language.to_owned(), text.to_owned()));
        }
    }
    blocks
}

/// The corrected code of a diff block that shows a mistake and its fix.
fn corrected(diff: &str) -> String {
    let kept = diff.lines().filter(|line| !line.starts_with('-'));
    kept.map(|line| line.get(1..).unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

fn occurs(block: &[String], file: &[String]) -> bool {
    file.windows(block.len()).any(|window| window == block)
}

#[test]
fn every_block_is_quoted() {
    let files: Vec<Vec<String>> = QUOTED.iter().map(|path| lines(&read(path))).collect();
    for (language, text) in blocks(&guide()) {
        let block = match language.as_str() {
            "rust" | "toml" => lines(&text),
            "diff" => lines(&corrected(&text)),
            "text" => continue,
            other => panic!("a block in {other:?}"),
        };
        assert!(!block.is_empty() && files.iter().any(|file| occurs(&block, file)), "not quoted:\n{text}");
    }
}

#[test]
fn everything_is_shown() {
    let shown: HashSet<String> = blocks(&guide())
        .iter()
        .filter(|(language, _)| language == "rust" || language == "toml")
        .flat_map(|(_, text)| lines(text))
        .collect();
    for path in QUOTED {
        for line in lines(&read(path)) {
            assert!(shown.contains(&line), "{path} is not shown whole: {line}");
        }
    }
}

#[test]
fn every_rule_it_names_exists_and_every_rule_an_adapter_can_break_has_a_row() {
    let page = guide();
    let words: HashSet<&str> = page.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').collect();
    for word in &words {
        if let Some((topic, number)) = word.split_once('-')
            && topic.len() > 1
            && topic.bytes().all(|byte| byte.is_ascii_uppercase())
            && !number.is_empty()
        {
            assert!(rules().any(|rule| rule.id == *word), "there is no rule {word}");
        }
    }
    for rule in rules().filter(|rule| matches!(rule.tag, Tag::Spi(_))) {
        let (topic, _) = rule.id.split_once('-').expect("a word and a number");
        assert!(
            words.contains(rule.id) || words.contains(format!("{topic}-").as_str()),
            "{} is not in the guide",
            rule.id
        );
    }
}

#[test]
fn the_adapter_is_small_and_quoted_whole() {
    let mut total = 0;
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).expect("there are sources") {
        let path = format!("src/{}", entry.expect("a source").file_name().display());
        assert!(QUOTED.contains(&path.as_str()), "{path} is not quoted");
        total += lines(&read(&path)).iter().filter(|line| !line.starts_with("//")).count();
    }
    assert!(total <= 120, "{total} lines of code");
}
