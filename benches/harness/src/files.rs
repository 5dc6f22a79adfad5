use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The output files of a bench.
#[derive(Debug)]
pub struct Files {
    root: PathBuf,
    name: &'static str,
}

impl Files {
    /// The files of the bench `name` in the package at `root`.
    pub fn of(root: &str, name: &'static str) -> Self {
        Self { root: PathBuf::from(root), name }
    }

    /// Writes the figures as JSON: `bench/NAME.json` in the target directory.
    pub fn write_json(&self, text: &str) -> io::Result<()> {
        let target = env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| self.root.join("target"), |folder| self.root.join(folder));
        write(&target.join("bench").join(self.name).with_extension("json"), text)
    }

    /// Writes a file for the documentation: `docs/bench/NAME.EXTENSION`.
    pub fn write_docs(&self, extension: &str, text: &str) -> io::Result<()> {
        write(&self.root.join("docs/bench").join(self.name).with_extension(extension), text)
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, text)?;
    eprintln!("wrote {}", path.display());
    Ok(())
}
