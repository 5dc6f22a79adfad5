use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::OpenError;
use crate::machine::network_file_system;

/// The files of a database.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    pub(crate) directory: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) lease: PathBuf,
    pub(crate) gate: PathBuf,
    pub(crate) alive: PathBuf,
}

impl Files {
    /// Creates the directory, and runs the checks that need no database connection.
    pub(crate) fn prepare(path: &Path) -> Result<Self, OpenError> {
        if path.exists() && !path.is_dir() {
            return Err(OpenError::NotADirectory(path.to_owned()));
        }
        fs::create_dir_all(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotADirectory => OpenError::NotADirectory(path.to_owned()),
            _ => OpenError::io(path, error),
        })?;
        let directory = path.canonicalize().map_err(|error| OpenError::io(path, error))?;
        let kind = network_file_system(&directory).map_err(|error| OpenError::io(&directory, error))?;
        if let Some(kind) = kind {
            return Err(OpenError::NetworkFileSystem { path: directory, kind });
        }
        let files = Self {
            state: directory.join("state.db"),
            lease: directory.join("lease.db"),
            gate: directory.join("gate"),
            alive: directory.join("alive"),
            directory,
        };
        writable(&files.directory)?;
        for file in [&files.state, &files.lease, &files.gate] {
            writable(file)?;
            if file.exists() && !file.is_file() {
                return Err(OpenError::NotAFile(file.clone()));
            }
        }
        fs::create_dir_all(&files.alive).map_err(|error| OpenError::io(&files.alive, error))?;
        Ok(files)
    }
}

/// Checks the permissions. They do not restrict a privileged process, but express the user's intent.
fn writable(path: &Path) -> Result<(), OpenError> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.permissions().readonly() => Err(OpenError::ReadOnly(path.to_owned())),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(OpenError::io(path, error)),
    }
}

/// The type of a file, by its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Header {
    /// Missing or empty.
    New,
    /// A database with this application id.
    Database(u32),
    /// A database that must be recovered first.
    Unknown,
    /// Another file type.
    Other,
}

impl Header {
    /// Reads the header. Does not let SQLite touch a foreign file.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let mut journal = path.as_os_str().to_owned();
        journal.push("-journal");
        if fs::metadata(journal).is_ok_and(|journal| journal.len() > 0) {
            return Ok(Self::Unknown);
        }
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::New),
            Err(error) => return Err(error),
        };
        let mut header = [0; 100];
        let mut length = 0;
        while length < header.len() {
            match file.read(&mut header[length..])? {
                0 => break,
                read => length += read,
            }
        }
        Ok(match length {
            0 => Self::New,
            100 if header.starts_with(b"SQLite format 3\0") => {
                Self::Database(u32::from_be_bytes([header[68], header[69], header[70], header[71]]))
            }
            _ => Self::Other,
        })
    }
}

/// A lock around each write transaction, granted to waiting processes in FIFO order.
#[derive(Debug)]
pub(crate) struct Gate {
    file: File,
}

impl Gate {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        Ok(Self { file: options.read(true).write(true).create(true).truncate(false).open(path)? })
    }

    /// Waits for the lock, in FIFO order.
    pub(crate) fn enter(&self) -> io::Result<GateGuard<'_>> {
        self.file.lock()?;
        Ok(GateGuard(&self.file))
    }

    /// Waits at most this long, without FIFO order.
    pub(crate) fn enter_within(&self, limit: Duration) -> io::Result<Option<GateGuard<'_>>> {
        let start = Instant::now();
        loop {
            match self.file.try_lock() {
                Ok(()) => return Ok(Some(GateGuard(&self.file))),
                Err(TryLockError::WouldBlock) if start.elapsed() < limit => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

/// Unlocks the gate when dropped.
#[derive(Debug)]
pub(crate) struct GateGuard<'a>(&'a File);

impl Drop for GateGuard<'_> {
    fn drop(&mut self) {
        // Closing the file unlocks it in any case.
        let _ = self.0.unlock();
    }
}
