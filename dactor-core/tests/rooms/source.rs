//! The sources of the core, and the paths in them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The modules of the crate by their paths, such as `["kernel", "task"]`; the crate itself is empty.
pub(crate) struct Source {
    modules: BTreeMap<Vec<String>, Module>,
    /// The exports of the crate, and where they are defined.
    exports: BTreeMap<String, Vec<String>>,
}

#[derive(Default)]
struct Module {
    /// Without comments and tests.
    code: String,
    /// The first sentence of its documentation.
    summary: String,
    /// Its modules that are compiled for tests only.
    tests: Vec<String>,
}

impl Source {
    pub(crate) fn read(src: &Path) -> Self {
        let mut files = Vec::new();
        walk(src, &mut files);
        Self::new(files.into_iter().map(|file| {
            let text = std::fs::read_to_string(&file).unwrap();
            let relative = file.strip_prefix(src).unwrap().with_extension("");
            let mut path: Vec<_> = relative.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
            path.pop_if(|last| last == "mod" || last == "lib");
            (path, text)
        }))
    }

    fn new(files: impl Iterator<Item = (Vec<String>, String)>) -> Self {
        let mut modules: BTreeMap<_, _> = files.map(|(path, text)| (path, Module::parse(&text))).collect();
        let tests: Vec<Vec<String>> = modules
            .iter()
            .flat_map(|(path, module)| {
                module.tests.iter().map(move |test| [&path[..], std::slice::from_ref(test)].concat())
            })
            .collect();
        modules.retain(|path, _| !tests.iter().any(|test| path.starts_with(test)));
        let mut exports = BTreeMap::new();
        let root = modules.get(&Vec::new()).map_or("", |root| &root.code);
        for export in root.split("pub use ").skip(1) {
            for mut path in leaves(export) {
                let name = path.last().unwrap().clone();
                path.pop();
                exports.insert(name, path);
            }
        }
        Self { modules, exports }
    }

    /// The folders and files of the crate's root.
    pub(crate) fn rooms(&self) -> BTreeSet<String> {
        self.modules.keys().filter_map(|path| path.first().cloned()).collect()
    }

    /// The modules of a room, by name.
    pub(crate) fn modules(&self, room: &str) -> Vec<&str> {
        let paths = self.modules.keys().filter(|path| path.len() == 2 && path[0] == room);
        paths.map(|path| path[1].as_str()).collect()
    }

    pub(crate) fn summary(&self, room: &str) -> &str {
        self.modules.get(&vec![room.to_owned()]).map_or("", |module| &module.summary)
    }

    /// Each module that uses another one, with the other.
    pub(crate) fn uses(&self) -> Vec<(&[String], Vec<String>)> {
        let mut uses = Vec::new();
        for (path, module) in self.modules.iter().filter(|(path, _)| !path.is_empty()) {
            for used in paths(&module.code) {
                let used = self.resolve(path, used);
                if !used.is_empty() && used != *path {
                    uses.push((&path[..], used));
                }
            }
        }
        uses
    }

    /// The module that a path leads to, seen from a module.
    fn resolve(&self, from: &[String], used: Vec<String>) -> Vec<String> {
        let ups = used.iter().take_while(|part| *part == "super").count();
        let mut path = match used.first().map(String::as_str) {
            Some("crate") => used[1..].to_vec(),
            _ => [&from[..from.len().saturating_sub(ups)], &used[ups..]].concat(),
        };
        if let Some(defined) = path.first().and_then(|name| self.exports.get(name)) {
            path = defined.clone();
        }
        while !path.is_empty() && !self.modules.contains_key(&path) {
            path.pop();
        }
        path
    }
}

pub(crate) fn walk(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

impl Module {
    /// Relies on the format of rustfmt: an item ends at a `}` that is indented like its beginning.
    fn parse(text: &str) -> Self {
        let mut module = Self::default();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let code = line.trim_start();
            if let Some(doc) = code.strip_prefix("//!").filter(|_| module.summary.is_empty()) {
                module.summary = doc.trim().to_owned();
            }
            if !code.starts_with("#[cfg(test") && !code.starts_with("#[cfg(all(test") {
                module.code.push_str(line.split("//").next().unwrap_or_default());
                module.code.push('\n');
                continue;
            }
            let indent = &line[..line.len() - code.len()];
            let Some(item) = lines.by_ref().find(|line| !line.trim_start().starts_with('#')) else { break };
            let module_file = item.trim_end_matches(';').split_once("mod ").filter(|_| item.ends_with(';'));
            if let Some((_, name)) = module_file {
                module.tests.push(name.to_owned());
            } else if !item.ends_with(';') {
                lines.by_ref().find(|line| line.strip_prefix(indent) == Some("}"));
            }
        }
        module
    }
}

/// The paths in a text that begin at the crate or at a module above.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for begin in ["crate::", "super::"] {
        for (at, _) in code.match_indices(begin) {
            let before = code[..at].chars().next_back();
            if !before.is_some_and(|before| before == ':' || before == '_' || before.is_alphanumeric()) {
                found.extend(leaves(&code[at..]));
            }
        }
    }
    found
}

/// The paths of a tree such as `a::{b, c::{d, e}}`, at the beginning of a text.
fn leaves(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    tree(text, &[], &mut found);
    found
}

/// Reads one tree, and returns the rest.
fn tree<'a>(mut text: &'a str, before: &[String], found: &mut Vec<Vec<String>>) -> &'a str {
    let mut path = before.to_vec();
    loop {
        text = text.trim_start();
        if let Some(mut inside) = text.strip_prefix('{') {
            while !inside.trim_start().starts_with('}') {
                inside = tree(inside, &path, found).trim_start();
                inside = inside.strip_prefix(',').unwrap_or(inside);
            }
            return &inside.trim_start()[1..];
        }
        let end = text.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(text.len());
        path.push(text[..end].to_owned());
        text = &text[end..];
        match text.strip_prefix("::") {
            Some(next) => text = next,
            None => {
                found.push(path);
                // `*`, or `as` and another name.
                return text
                    .trim_start_matches(|c: char| c == '*' || c == '_' || c == ' ' || c.is_alphanumeric());
            }
        }
    }
}

mod tests {
    use super::*;

    #[test]
    fn what_a_module_uses() {
        let uses = |text: &str| {
            let files = [
                ("", "mod base;\npub use base::error::{Error, Result};\npub use system::System;\n"),
                ("base/error", ""),
                ("base/pid", ""),
                ("system", ""),
                ("kernel/linger", ""),
                ("kernel/task", text),
                ("kernel/task/tests", "use crate::base::pid::Pid;"),
            ];
            let path =
                |path: &str| path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
            let source = Source::new(files.iter().map(|(name, text)| (path(name), (*text).to_owned())));
            source.uses().into_iter().map(|(_, used)| used.join("::")).collect::<Vec<_>>()
        };
        // The file of the tests counts where it is not said to be one.
        let cases: [(&str, &[&str]); 9] = [
            ("use crate::base::error::Error;", &["base::error", "base::pid"]),
            (
                "use crate::base::{error::{Error, Kind}};\nmod x;",
                &["base::error", "base::error", "base::pid"],
            ),
            ("use crate::{\n    Error,\n    System,\n};", &["base::error", "system", "base::pid"]),
            ("fn f() -> crate::System<'_> {}", &["system", "base::pid"]),
            (
                "use crate::system::*;\nuse crate::base::error::E as F;",
                &["system", "base::error", "base::pid"],
            ),
            ("use super::linger::Linger;", &["kernel::linger", "base::pid"]),
            ("// crate::System\n/// [`crate::System`]\nfn f() {} // crate::System", &["base::pid"]),
            (
                "#[cfg(test)]\nmod more {\n    use crate::System;\n}\nuse crate::Error;",
                &["base::error", "base::pid"],
            ),
            (
                "#[cfg(all(test, loom))]\n#[cfg(unix)]\npub(crate) mod tests;\nuse crate::Error;",
                &["base::error"],
            ),
        ];
        for (text, used) in cases {
            assert_eq!(uses(text), used, "{text}");
        }
    }
}
