//! Writes the generated pages, or checks that they are fresh.
//!
//! ```text
//! conformance-pages [--check] <docs directory> [<directory of reports>]
//! ```
//!
//! `spec.md` comes from the rules alone, `conformance.md` from the JSONL reports; without reports it is left alone.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use dactor_conformance::pages;

fn main() -> ExitCode {
    let (flags, paths): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let check = flags.iter().any(|flag| flag == "--check");
    let mut paths = paths.into_iter().map(PathBuf::from);
    let (Some(docs), reports) = (paths.next(), paths.next()) else {
        eprintln!("usage: conformance-pages [--check] <docs directory> [<directory of reports>]");
        return ExitCode::FAILURE;
    };
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
        if let Err(problem) = if check { fresh(&path, &page) } else { write(&path, &page) } {
            eprintln!("{}: {problem}", path.display());
            code = ExitCode::FAILURE;
        }
    }
    code
}

fn fresh(path: &Path, page: &str) -> Result<(), String> {
    match std::fs::read_to_string(path) {
        Ok(there) if there == page => Ok(()),
        Ok(_) => Err("is stale: generate it again".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn write(path: &Path, page: &str) -> Result<(), String> {
    let parent = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent)
        .and_then(|()| std::fs::write(path, page))
        .map_err(|error| error.to_string())
}
