//! Generates the documentation pages, or checks that they are up to date.
//!
//! ```text
//! conformance-pages [--check] <docs directory> [<directory of reports>]
//! conformance-pages --broken <docs directory>
//! ```
//!
//! `--broken` runs every rule on every broken backend, which takes minutes, and writes `broken-backends.md`.
//! `--check` only checks that this page lists every broken backend and every rule that names it.
//!
//! `spec.md` is generated from the rules, `conformance.md` from the JSONL reports; without reports `conformance.md`
//! is not changed.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use dactor_conformance::{broken, pages};

fn main() -> ExitCode {
    let (flags, paths): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let check = flags.iter().any(|flag| flag == "--check");
    let mut paths = paths.into_iter().map(PathBuf::from);
    let (Some(docs), reports) = (paths.next(), paths.next()) else {
        eprintln!("usage: conformance-pages [--check] <docs directory> [<directory of reports>]");
        return ExitCode::FAILURE;
    };
    if flags.iter().any(|flag| flag == "--broken") {
        let measured = broken::measure(|broken| eprintln!("{}", broken.row()));
        return conclude(
            &docs.join("broken-backends.md"),
            write(&docs.join("broken-backends.md"), &broken::page(&measured)),
        );
    }
    let mut written = vec![(docs.join("spec.md"), pages::spec())];
    if let Some(reports) = reports {
        match pages::matrix(&reports) {
            Ok(page) => written.push((docs.join("conformance.md"), page)),
            Err(error) => {
                eprintln!("{}: {error}", reports.display());
                return ExitCode::FAILURE;
            }
        }
    }
    let mut code = ExitCode::SUCCESS;
    for (path, page) in written {
        let done = if check { fresh(&path, &page) } else { write(&path, &page) };
        if conclude(&path, done) == ExitCode::FAILURE {
            code = ExitCode::FAILURE;
        }
    }
    if check
        && conclude(&docs.join("broken-backends.md"), complete(&docs.join("broken-backends.md")))
            == ExitCode::FAILURE
    {
        code = ExitCode::FAILURE;
    }
    code
}

fn conclude(path: &Path, done: Result<(), String>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{}: {problem}", path.display());
            ExitCode::FAILURE
        }
    }
}

fn complete(path: &Path) -> Result<(), String> {
    let page = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    match broken::stale(&page).as_slice() {
        [] => Ok(()),
        stale => Err(format!("is outdated, generate it again with --broken: {}", stale.join("; "))),
    }
}

fn fresh(path: &Path, page: &str) -> Result<(), String> {
    match std::fs::read_to_string(path) {
        Ok(there) if there == page => Ok(()),
        Ok(_) => Err("is outdated, generate it again".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn write(path: &Path, page: &str) -> Result<(), String> {
    let parent = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent)
        .and_then(|()| std::fs::write(path, page))
        .map_err(|error| error.to_string())
}
