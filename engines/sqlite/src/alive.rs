use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use dactor_engine::Incarnation;

/// A locked file for each node of this process. The operating system releases the lock when the process ends
/// for any reason.
#[derive(Debug)]
pub(crate) struct AliveLocks {
    directory: PathBuf,
    held: Mutex<HashMap<Incarnation, File>>,
}

impl AliveLocks {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { directory, held: Mutex::default() }
    }

    fn path(&self, incarnation: Incarnation) -> PathBuf {
        self.directory.join(incarnation.to_string())
    }

    fn held<T>(&self, access: impl FnOnce(&mut HashMap<Incarnation, File>) -> T) -> T {
        access(&mut self.held.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Locks the file of a node before the node joins. Returns `false` if the lock was already held.
    pub(crate) fn hold(&self, incarnation: Incarnation) -> io::Result<bool> {
        if self.held(|held| held.contains_key(&incarnation)) {
            return Ok(false);
        }
        let file = open(&self.path(incarnation), true)?;
        file.try_lock().map_err(io::Error::from)?;
        self.held(|held| held.insert(incarnation, file));
        Ok(true)
    }

    /// Whether the process of a node has ended. A missing file proves nothing.
    pub(crate) fn is_gone(&self, incarnation: Incarnation) -> bool {
        // A shared lock, so that two processes checking at once do not take each other for the owner.
        open(&self.path(incarnation), false).is_ok_and(|file| {
            !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock | TryLockError::Error(_)))
        })
    }

    /// Unlocks and removes the file of a node whose death is recorded.
    pub(crate) fn forget(&self, incarnation: Incarnation) {
        self.held(|held| held.remove(&incarnation));
        // The file is needed only while the node may be alive.
        let _ = fs::remove_file(self.path(incarnation));
    }
}

fn open(path: &Path, create: bool) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(create).truncate(false).open(path)
}
