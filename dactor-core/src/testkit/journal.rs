use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

/// A log shared by actors and the test, in order of events.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use dactor_core::testkit::Journal;
///
/// let journal = Journal::new();
/// let writer = journal.clone();
/// tokio::spawn(async move {
///     writer.note("started");
///     writer.note("handled 7");
/// });
/// journal.wait_for("handled 7").await;
/// assert_eq!(journal.entries(), ["started", "handled 7"]);
/// # });
/// ```
#[derive(Clone)]
pub struct Journal {
    entries: Arc<watch::Sender<Vec<String>>>,
}

impl Journal {
    /// An empty journal.
    pub fn new() -> Self {
        Self { entries: Arc::new(watch::Sender::new(Vec::new())) }
    }

    /// Appends an entry.
    pub fn note(&self, entry: impl fmt::Display) {
        let entry = entry.to_string();
        self.entries.send_modify(|entries| entries.push(entry));
    }

    /// All entries so far.
    pub fn entries(&self) -> Vec<String> {
        self.entries.borrow().clone()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.borrow().len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How often this entry occurs.
    pub fn count(&self, entry: &str) -> usize {
        self.entries.borrow().iter().filter(|other| *other == entry).count()
    }

    /// Waits until this entry exists.
    pub async fn wait_for(&self, entry: &str) {
        self.until(|entries| entries.iter().any(|other| other == entry)).await;
    }

    /// Waits until there are at least this many entries.
    pub async fn wait_len(&self, len: usize) {
        self.until(|entries| entries.len() >= len).await;
    }

    async fn until(&self, reached: impl FnMut(&Vec<String>) -> bool) {
        // The sender lives as long as this call: the wait cannot fail.
        let _ = self.entries.subscribe().wait_for(reached).await;
    }
}

impl Default for Journal {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries.borrow().iter()).finish()
    }
}
