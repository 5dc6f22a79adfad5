use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use dactor_engine::{ErrorKind, FailedStatement, Operation, StorageError};
use rusqlite::ErrorCode;

/// Why a database could not be opened. Nothing was changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The path is not a directory.
    NotADirectory(PathBuf),
    /// A file of the database is not a regular file.
    NotAFile(PathBuf),
    /// The directory or a file of the database is read-only.
    ReadOnly(PathBuf),
    /// The directory is on a network file system.
    NetworkFileSystem {
        /// The directory.
        path: PathBuf,
        /// The type of the file system.
        kind: &'static str,
    },
    /// The file is not an SQLite database.
    NotADatabase(PathBuf),
    /// The file is an SQLite database of another application.
    ForeignDatabase(PathBuf),
    /// The file was written by a newer version of this crate.
    NewerVersion {
        /// The file.
        path: PathBuf,
        /// The schema version of the file.
        found: i64,
        /// The newest schema version that this version of the crate supports.
        known: i64,
    },
    /// `lease.db` is missing or belongs to another `state.db`.
    Unpaired(PathBuf),
    /// Another process or connection holds a lock.
    Locked(PathBuf),
    /// The file is damaged.
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
    /// An I/O error.
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Another error of SQLite.
    Sqlite {
        /// The file.
        path: PathBuf,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
}

impl OpenError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => Self::ReadOnly(path),
            _ => Self::Io { path, source },
        }
    }

    pub(crate) fn sqlite(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked(path),
            Some(ErrorCode::ReadOnly) => Self::ReadOnly(path),
            Some(ErrorCode::NotADatabase) => Self::NotADatabase(path),
            Some(ErrorCode::DatabaseCorrupt) => Self::Corrupt { path, source },
            _ => Self::Sqlite { path, source },
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotADirectory(path) => write!(f, "{} is not a directory", path.display()),
            Self::NotAFile(path) => write!(f, "{} is not a file", path.display()),
            Self::ReadOnly(path) => write!(f, "{} is read-only", path.display()),
            Self::NetworkFileSystem { path, kind } => {
                write!(f, "{} is on a network file system ({kind}); use a local disk", path.display())
            }
            Self::NotADatabase(path) => write!(f, "{} is not an SQLite database", path.display()),
            Self::ForeignDatabase(path) => {
                write!(f, "{} is a database of another application", path.display())
            }
            Self::NewerVersion { path, found, known } => write!(
                f,
                "{} has schema version {found}, and this version of dactor-sqlite knows versions up to {known}",
                path.display()
            ),
            Self::Unpaired(path) => write!(
                f,
                "lease.db in {} is missing or belongs to another state.db; the two are only valid together",
                path.display()
            ),
            Self::Locked(path) => write!(f, "{} is locked by another process or connection", path.display()),
            Self::Corrupt { path, .. } => write!(f, "{} is damaged", path.display()),
            Self::Io { path, .. } => write!(f, "{} cannot be accessed", path.display()),
            Self::Sqlite { path, .. } => write!(f, "{} cannot be opened", path.display()),
        }
    }
}

impl Error for OpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Corrupt { source, .. } | Self::Sqlite { source, .. } => Some(source),
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// An error without operation and id, which are added later. Several requests may share it.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    kind: ErrorKind,
    transient: bool,
    text: String,
    statement: Option<FailedStatement>,
}

impl Fault {
    pub(crate) fn new(kind: ErrorKind, text: impl Into<String>) -> Self {
        let transient = matches!(kind, ErrorKind::Unavailable | ErrorKind::UnknownOutcome);
        Self { kind, transient, text: text.into(), statement: None }
    }

    pub(crate) fn permanent(mut self) -> Self {
        self.transient = false;
        self
    }

    pub(crate) fn in_statement(mut self, statement: FailedStatement) -> Self {
        self.statement = Some(statement);
        self
    }

    /// The commit failed: its outcome is unknown.
    pub(crate) fn into_unknown(self) -> Self {
        Self { kind: ErrorKind::UnknownOutcome, transient: true, ..self }
    }

    pub(crate) fn on(&self, operation: Operation, id: &impl fmt::Display) -> StorageError {
        let mut error = StorageError::new(self.kind, operation).on(id).transient(self.transient);
        if let Some(statement) = &self.statement {
            error = error.in_statement(statement.clone());
        }
        if self.text.is_empty() { error } else { error.because(&*self.text) }
    }
}

impl From<ErrorKind> for Fault {
    fn from(kind: ErrorKind) -> Self {
        Self::new(kind, "")
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        let text = error.to_string();
        let fault = |kind, transient| Self { kind, transient, text: text.clone(), statement: None };
        match &error {
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..) => fault(ErrorKind::Serialization, false),
            _ => match error.sqlite_error_code() {
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                    fault(ErrorKind::Unavailable, true)
                }
                // The engine's own statements violate no constraint.
                Some(ErrorCode::ConstraintViolation) => fault(ErrorKind::Statement, false),
                Some(ErrorCode::TooBig) => fault(ErrorKind::TooLarge, false),
                Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure | ErrorCode::OutOfMemory) => {
                    fault(ErrorKind::Io, true)
                }
                _ => fault(ErrorKind::Io, false),
            },
        }
    }
}
