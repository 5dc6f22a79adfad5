use std::error::Error;
use std::fmt;

type Source = Box<dyn Error + Send + Sync>;

/// Why an operation of an engine failed.
///
/// [`kind`](Self::kind) is for programs. The text contains the operation, the entity or node, and the cause.
pub struct StorageError(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    operation: Operation,
    id: Option<Box<str>>,
    detail: Option<Box<str>>,
    transient: bool,
    maybe_applied: bool,
    statement: Option<FailedStatement>,
    source: Option<Source>,
}

/// The failed statement of a save.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailedStatement {
    /// Its index among the statements of the save.
    pub index: usize,
    /// Its text.
    pub sql: Box<str>,
    /// The number of rows it changed, if that was the failure.
    pub rows: Option<u64>,
}

impl FailedStatement {
    /// The statement at this index.
    pub fn new(index: usize, sql: impl Into<Box<str>>) -> Self {
        Self { index, sql: sql.into(), rows: None }
    }

    /// Adds the number of changed rows.
    #[must_use]
    pub fn rows(mut self, rows: u64) -> Self {
        self.rows = Some(rows);
        self
    }
}

/// The kind of a [`StorageError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Stored data cannot be decoded, or a value cannot be encoded.
    Serialization,
    /// The device or the file failed. Nothing was changed.
    Io,
    /// The store is unreachable or busy. Nothing was changed.
    Unavailable,
    /// There is no such row: the state was never opened.
    NotFound,
    /// The caller lost its ownership or its lease. Nothing was changed, and no retry can succeed.
    Fenced,
    /// The stored etag differs from the etag that the caller read. Nothing was changed.
    Conflict,
    /// The state exceeds the limit of the engine. Nothing was changed.
    TooLarge,
    /// The operation may or may not have been applied, and may still be applied later. See [`settle`](crate::settle).
    UnknownOutcome,
    /// A statement of the application failed. Nothing was changed.
    Statement,
    /// A statement of the application changed a different number of rows than expected. Nothing was changed.
    RowCount,
    /// The engine does not support the operation.
    Unsupported,
}

/// A failed operation of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// [`Directory::lookup`](crate::Directory::lookup).
    Lookup,
    /// [`Directory::claim`](crate::Directory::claim).
    Claim,
    /// [`Directory::release`](crate::Directory::release).
    Release,
    /// A watch of the directory or of the members.
    Watch,
    /// [`Membership::join`](crate::Membership::join).
    Join,
    /// [`Membership::renew`](crate::Membership::renew).
    Renew,
    /// [`Membership::evict`](crate::Membership::evict).
    Evict,
    /// [`Membership::leave`](crate::Membership::leave).
    Leave,
    /// [`Membership::members`](crate::Membership::members).
    Members,
    /// [`StateStore::open`](crate::StateStore::open).
    Open,
    /// [`StateStore::read`](crate::StateStore::read).
    Read,
    /// [`StateStore::save`](crate::StateStore::save).
    Save,
    /// [`StateStore::clear`](crate::StateStore::clear).
    Clear,
    /// [`StateStore::list`](crate::StateStore::list).
    List,
    /// [`FencedSql::query`](crate::FencedSql::query).
    Query,
    /// A transaction of the application under the fence of an entity.
    Transaction,
}

impl Operation {
    /// The name of the operation.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lookup => "lookup",
            Self::Claim => "claim",
            Self::Release => "release",
            Self::Watch => "watch",
            Self::Join => "join",
            Self::Renew => "renew",
            Self::Evict => "evict",
            Self::Leave => "leave",
            Self::Members => "members",
            Self::Open => "open",
            Self::Read => "read",
            Self::Save => "save",
            Self::Clear => "clear",
            Self::List => "list",
            Self::Query => "query",
            Self::Transaction => "transaction",
        }
    }
}

impl StorageError {
    /// Creates an error of this kind. It is transient if the kind is `Unavailable` or `UnknownOutcome`.
    pub fn new(kind: ErrorKind, operation: Operation) -> Self {
        let transient = matches!(kind, ErrorKind::Unavailable | ErrorKind::UnknownOutcome);
        let maybe_applied = kind == ErrorKind::UnknownOutcome;
        Self(Box::new(Inner {
            kind,
            operation,
            id: None,
            detail: None,
            transient,
            maybe_applied,
            statement: None,
            source: None,
        }))
    }

    /// Adds the entity or node of the operation.
    #[must_use]
    pub fn on(mut self, id: &impl fmt::Display) -> Self {
        self.0.id = Some(id.to_string().into());
        self
    }

    /// Adds an explanation.
    #[must_use]
    pub fn because(mut self, detail: impl Into<String>) -> Self {
        self.0.detail = Some(detail.into().into());
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Source>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Adds the failed statement of the application.
    #[must_use]
    pub fn in_statement(mut self, statement: FailedStatement) -> Self {
        self.0.statement = Some(statement);
        self
    }

    /// Sets whether the same operation can succeed later.
    #[must_use]
    pub fn transient(mut self, transient: bool) -> Self {
        self.0.transient = transient;
        self
    }

    /// Marks that an earlier attempt may have been applied.
    pub(crate) fn maybe_applied(mut self) -> Self {
        self.0.maybe_applied = true;
        self
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The operation that failed.
    pub fn operation(&self) -> Operation {
        self.0.operation
    }

    /// The entity or node of the operation, as text.
    pub fn id(&self) -> Option<&str> {
        self.0.id.as_deref()
    }

    /// The failed statement of the application.
    pub fn statement(&self) -> Option<&FailedStatement> {
        self.0.statement.as_ref()
    }

    /// Whether the same operation can succeed later. Otherwise the error is permanent.
    pub fn is_transient(&self) -> bool {
        self.0.transient
    }

    /// Whether the operation may have been applied although it failed.
    pub fn may_have_been_applied(&self) -> bool {
        self.0.maybe_applied
    }
}

impl ErrorKind {
    /// The description of the kind, as in the text of an error.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Serialization => "the data cannot be encoded or decoded",
            Self::Io => "the storage failed",
            Self::Unavailable => "the storage is unavailable",
            Self::NotFound => "the state was never opened",
            Self::Fenced => "the ownership or the lease was lost",
            Self::Conflict => "the stored etag differs from the one read",
            Self::TooLarge => "the state is too large",
            Self::UnknownOutcome => "the outcome is unknown; the operation may have been applied",
            Self::Statement => "a statement failed",
            Self::RowCount => "a statement changed another number of rows than it expects",
            Self::Unsupported => "the engine does not support it",
        }
    }
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, operation, id, detail, statement, source, .. } = &*self.0;
        f.write_str(operation.name())?;
        if let Some(id) = id {
            write!(f, " {id}")?;
        }
        write!(f, ": {}", kind.text())?;
        if let Some(detail) = detail {
            write!(f, ": {detail}")?;
        }
        if let Some(FailedStatement { index, sql, .. }) = statement {
            write!(f, " (statement {index}: {sql})")?;
        }
        if f.alternate()
            && let Some(source) = source
        {
            write!(f, ": {source}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({self:#})", self.0.kind)
    }
}

impl Error for StorageError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_names_operation_and_id() {
        let error = StorageError::new(ErrorKind::Fenced, Operation::Save)
            .on(&"prod::Account/alice")
            .because("the fence is 8, not 7");
        assert_eq!(
            error.to_string(),
            "save prod::Account/alice: the ownership or the lease was lost: the fence is 8, not 7"
        );
        assert_eq!((error.kind(), error.operation()), (ErrorKind::Fenced, Operation::Save));
        assert_eq!(error.id(), Some("prod::Account/alice"));
        assert!(!error.is_transient() && !error.may_have_been_applied());
    }

    #[test]
    fn transient_or_permanent() {
        let error = |kind| StorageError::new(kind, Operation::Save);
        assert!(error(ErrorKind::Unavailable).is_transient());
        assert!(error(ErrorKind::UnknownOutcome).is_transient());
        assert!(error(ErrorKind::UnknownOutcome).may_have_been_applied());
        assert!(!error(ErrorKind::TooLarge).is_transient());
        assert!(error(ErrorKind::Io).transient(true).is_transient());
    }

    #[test]
    fn the_alternate_form_has_the_source() {
        let source = std::io::Error::other("no space left");
        let error = StorageError::new(ErrorKind::Io, Operation::Save).with_source(source);
        assert_eq!(error.to_string(), "save: the storage failed");
        assert_eq!(format!("{error:#}"), "save: the storage failed: no space left");
        assert!(error.source().is_some());
    }
}
