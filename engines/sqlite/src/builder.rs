use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use dactor_engine::{BootClock, Clock};

use crate::{OpenError, Sqlite};

/// Configures and opens a database.
///
/// ```no_run
/// use std::time::Duration;
/// use dactor_sqlite::Sqlite;
///
/// let sqlite = Sqlite::builder("bank").timeout(Duration::from_secs(5)).largest_state(64 << 20).open()?;
/// # Ok::<_, dactor_sqlite::OpenError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
#[non_exhaustive]
pub struct SqliteBuilder {
    pub(crate) path: PathBuf,
    pub(crate) batch: usize,
    pub(crate) busy_limit: Duration,
    pub(crate) timeout: Duration,
    pub(crate) largest_state: usize,
    pub(crate) max_pages: Option<u32>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl SqliteBuilder {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            batch: 256,
            busy_limit: Duration::from_secs(5),
            timeout: Duration::from_secs(10),
            largest_state: 16 << 20,
            max_pages: None,
            clock: Arc::new(BootClock),
        }
    }

    /// The maximum number of requests in one transaction, at least 1; 256 by default. With 1, each save is a
    /// transaction of its own.
    pub fn batch(mut self, most: usize) -> Self {
        self.batch = most.max(1);
        self
    }

    /// The timeout for a lock held by another process; 5 s by default.
    pub fn busy_limit(mut self, limit: Duration) -> Self {
        self.busy_limit = limit;
        self
    }

    /// The timeout of an operation; 10 s by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The maximum size of a state in bytes; 16 MiB by default.
    pub fn largest_state(mut self, bytes: usize) -> Self {
        self.largest_state = bytes;
        self
    }

    /// Limits `state.db` to this many pages of 4 KiB. A write beyond the limit fails as on a full disk.
    pub fn max_pages(mut self, pages: u32) -> Self {
        self.max_pages = Some(pages);
        self
    }

    /// The clock of the leases; the [boot clock](BootClock) by default. All processes must use the same
    /// clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Opens the database, and creates or migrates it if necessary. Blocks for disk access.
    pub fn open(self) -> Result<Sqlite, OpenError> {
        Sqlite::start(self)
    }
}
