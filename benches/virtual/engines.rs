//! The engines that are measured. A further one is one more line in [`ENGINES`].

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use dactor::cluster::engine::Engine;
use dactor::cluster::{Memory, Sqlite};

/// An engine, and how to open it.
pub(crate) struct EngineKind {
    pub(crate) name: &'static str,
    /// Opens a store in an empty directory, or a fresh store elsewhere.
    pub(crate) open: fn(&Path) -> Engine,
    /// The same with one transaction per save and the same settings, if that is not what it does anyway.
    pub(crate) one_by_one: Option<fn(&Path) -> Engine>,
    /// It writes to a disk or to a network: fewer operations are enough.
    pub(crate) is_slow: bool,
}

/// Those that run here.
pub(crate) const ENGINES: [EngineKind; 2] = [
    EngineKind { name: "memory", open: |_| Memory::new().into(), one_by_one: None, is_slow: false },
    EngineKind {
        name: "sqlite",
        open: |directory| Sqlite::open(directory).expect("a database").into(),
        one_by_one: Some(|directory| Sqlite::builder(directory).batch(1).open().expect("a database").into()),
        is_slow: true,
    },
];

/// A directory of its own, removed at the end.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("virtual-{}-{number}", std::process::id());
        Self(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
