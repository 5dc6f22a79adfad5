use std::error::Error;
use std::fmt;
use std::time::Duration;

use dactor_engine::{ErrorKind, FailedStatement, Operation, StorageError};
use tokio_postgres::error::{DbError, Severity, SqlState};

/// Why a database could not be opened. Nothing was changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The connection string or a setting of the builder is not valid.
    Config(String),
    /// The server is unreachable, or the connection to it failed.
    Unreachable(tokio_postgres::Error),
    /// The server did not answer in time.
    TimedOut(Duration),
    /// The server has no free connections.
    TooManyConnections(tokio_postgres::Error),
    /// The server is starting up, shutting down, or a standby.
    NotReady(String),
    /// The server refuses the user, the password or the database.
    Refused(tokio_postgres::Error),
    /// TLS is required but not available.
    Tls(String),
    /// The server is too old.
    ServerVersion {
        /// The version of the server.
        found: String,
        /// The minimum major version.
        oldest: u32,
    },
    /// The encoding of the database is not UTF-8, so that it cannot store every key.
    Encoding(String),
    /// The schema has tables of another application.
    ForeignSchema(String),
    /// The schema was written by a newer version of this crate.
    NewerVersion {
        /// The schema.
        schema: String,
        /// Its version.
        found: i32,
        /// The newest version that this version of the crate supports.
        known: i32,
    },
    /// A statement failed.
    Sql(tokio_postgres::Error),
    /// The tokio runtime is shutting down.
    NoRuntime,
}

impl OpenError {
    /// Whether opening can succeed later with the same configuration.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Unreachable(_) | Self::TimedOut(_) | Self::TooManyConnections(_) | Self::NotReady(_)
        )
    }

    pub(crate) fn connecting(error: tokio_postgres::Error) -> Self {
        let Some(state) = error.code() else {
            return match error.to_string() {
                text if text.contains("TLS") => Self::Tls(describe(&error)),
                text if text.contains("invalid configuration") => Self::Config(describe(&error)),
                text if text.contains("authentication") => Self::Refused(error),
                _ => Self::Unreachable(error),
            };
        };
        match state {
            state if *state == SqlState::TOO_MANY_CONNECTIONS => Self::TooManyConnections(error),
            state if *state == SqlState::CANNOT_CONNECT_NOW => Self::NotReady(describe(&error)),
            state if is_shutdown(state) => Self::NotReady(describe(&error)),
            state if state.code().starts_with("53") => Self::TooManyConnections(error),
            state if state.code().starts_with("08") => Self::Unreachable(error),
            _ => Self::Refused(error),
        }
    }

    pub(crate) fn sql(error: tokio_postgres::Error) -> Self {
        match error.code() {
            None => Self::Unreachable(error),
            Some(state) if is_shutdown(state) => Self::NotReady(describe(&error)),
            Some(_) => Self::Sql(error),
        }
    }
}

/// Whether the server terminates or has terminated the session.
fn is_shutdown(state: &SqlState) -> bool {
    state.code().starts_with("57P")
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(text) => write!(f, "the configuration is not valid: {text}"),
            Self::Unreachable(error) => write!(f, "the server cannot be reached: {}", describe(error)),
            Self::TimedOut(limit) => write!(f, "the server did not answer within {limit:?}"),
            Self::TooManyConnections(error) => {
                write!(f, "the server has no connection left: {}", describe(error))
            }
            Self::NotReady(text) => write!(f, "the server is not ready: {text}"),
            Self::Refused(error) => write!(f, "the server refuses the connection: {}", describe(error)),
            Self::Tls(text) => write!(f, "the connection cannot be encrypted: {text}"),
            Self::ServerVersion { found, oldest } => {
                write!(f, "the server has version {found}; version {oldest} or newer is needed")
            }
            Self::Encoding(found) => {
                write!(f, "the encoding of the database is {found}; UTF8 is needed")
            }
            Self::ForeignSchema(schema) => {
                write!(f, "the schema {schema} has tables of another application")
            }
            Self::NewerVersion { schema, found, known } => write!(
                f,
                "the schema {schema} has version {found}, and this version of dactor-postgres knows versions up to {known}"
            ),
            Self::Sql(error) => write!(f, "a statement failed: {}", describe(error)),
            Self::NoRuntime => f.write_str("the tokio runtime is shutting down"),
        }
    }
}

impl Error for OpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unreachable(error)
            | Self::TooManyConnections(error)
            | Self::Refused(error)
            | Self::Sql(error) => Some(error),
            _ => None,
        }
    }
}

/// The text of an error with its causes: tokio-postgres says "db error", and the server's message is the
/// cause.
pub(crate) fn describe(error: &tokio_postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        return format!("{} {}: {}", error.severity(), error.code().code(), error.message());
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// Whether a statement writes: if so, a lost response leaves the outcome unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    Read,
    Write,
}

/// An error without operation and id, which are added later. Several requests may share it.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    kind: ErrorKind,
    transient: bool,
    text: String,
    /// Whether the server responded and rolled the statement back.
    rolled_back: bool,
    statement: Option<FailedStatement>,
}

impl Fault {
    pub(crate) fn new(kind: ErrorKind, text: impl Into<String>) -> Self {
        let transient = matches!(kind, ErrorKind::Unavailable | ErrorKind::UnknownOutcome);
        Self { kind, transient, text: text.into(), rolled_back: false, statement: None }
    }

    pub(crate) fn permanent(mut self) -> Self {
        self.transient = false;
        self
    }

    pub(crate) fn kind(&self) -> ErrorKind {
        self.kind
    }

    pub(crate) fn in_statement(mut self, statement: FailedStatement) -> Self {
        self.statement = Some(statement);
        self
    }

    /// Whether the server rejected the statement and changed nothing.
    pub(crate) fn was_rolled_back(&self) -> bool {
        self.rolled_back
    }

    /// The response timed out, or the connection was lost.
    pub(crate) fn lost(effect: Effect, text: impl Into<String>) -> Self {
        let kind = match effect {
            Effect::Read => ErrorKind::Unavailable,
            Effect::Write => ErrorKind::UnknownOutcome,
        };
        Self::new(kind, text)
    }

    /// A statement failed.
    pub(crate) fn executing(error: &tokio_postgres::Error, effect: Effect) -> Self {
        let text = describe(error);
        let Some(answer) = error.as_db_error() else {
            return match error.to_string() {
                // The values could not be encoded; nothing was sent.
                text if text.starts_with("error serializing") || text.starts_with("error encoding") => {
                    Self::new(ErrorKind::Serialization, describe(error))
                }
                text if text.contains("parameters but got") => {
                    Self::new(ErrorKind::Serialization, describe(error))
                }
                _ => Self::lost(effect, text),
            };
        };
        let (kind, transient) = match answer.code().code() {
            "40003" => return Self::lost(effect, text),
            // The session ends: the statement may have been committed before.
            _ if ends_the_session(answer) => return Self::lost(effect, text),
            "53100" | "53200" | "58030" => (ErrorKind::Io, true),
            "54000" | "22003" | "22001" => (ErrorKind::TooLarge, false),
            "25006" => (ErrorKind::Unavailable, true),
            // The application's transaction has already failed.
            "25P02" => (ErrorKind::Statement, false),
            code => match &code[..2] {
                "08" | "40" | "53" | "55" | "57" => (ErrorKind::Unavailable, true),
                "28" => (ErrorKind::Unavailable, false),
                "22" => (ErrorKind::Serialization, false),
                _ => (ErrorKind::Io, false),
            },
        };
        Self { kind, transient, text, rolled_back: true, statement: None }
    }

    /// A statement of the application failed. It is not committed in any case.
    pub(crate) fn application(error: &tokio_postgres::Error) -> Self {
        let fault = Self::executing(error, Effect::Read);
        let is_its_own = match error.as_db_error() {
            Some(answer) => is_of_statement(answer.code().code()),
            None => fault.kind == ErrorKind::Serialization,
        };
        if is_its_own { Self { kind: ErrorKind::Statement, transient: false, ..fault } } else { fault }
    }

    /// A commit of the application failed. Its outcome is unknown, unless the server reports a rollback, for
    /// example for a violated deferred constraint.
    pub(crate) fn committing(error: &tokio_postgres::Error) -> Self {
        let fault = Self::executing(error, Effect::Write);
        if fault.rolled_back { Self::application(error) } else { fault }
    }

    pub(crate) fn on(&self, operation: Operation, id: &impl fmt::Display) -> StorageError {
        let mut error = StorageError::new(self.kind, operation).on(id).transient(self.transient);
        if let Some(statement) = &self.statement {
            error = error.in_statement(statement.clone());
        }
        if self.text.is_empty() { error } else { error.because(&*self.text) }
    }
}

/// Whether the statement is invalid or does not match the tables. Other errors are caused by the server.
fn is_of_statement(code: &str) -> bool {
    !matches!(&code[..2], "08" | "40" | "53" | "55" | "57" | "58" | "XX")
}

fn ends_the_session(error: &DbError) -> bool {
    is_shutdown(error.code())
        || matches!(error.parsed_severity(), Some(Severity::Fatal | Severity::Panic))
        || matches!(error.severity(), "FATAL" | "PANIC")
}

impl From<ErrorKind> for Fault {
    fn from(kind: ErrorKind) -> Self {
        Self::new(kind, "")
    }
}

/// While the engine runs, a failure to connect changes nothing.
impl From<OpenError> for Fault {
    fn from(error: OpenError) -> Self {
        let fault = Self::new(ErrorKind::Unavailable, error.to_string());
        if error.is_transient() { fault } else { fault.permanent() }
    }
}
