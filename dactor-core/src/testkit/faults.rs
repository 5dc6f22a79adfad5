use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{Failure, Outcome};

/// Fault injection on the n-th call, counted from one across all clones, and so across restarts.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use dactor_core::testkit::Faults;
///
/// let faults = Faults::new().fail_on(2, "disk full");
/// assert!(faults.strike().await.is_ok());
/// assert_eq!(faults.strike().await.unwrap_err().to_string(), "disk full");
/// assert!(faults.strike().await.is_ok());
/// assert_eq!(faults.calls(), 3);
/// # });
/// ```
#[derive(Debug, Clone, Default)]
pub struct Faults {
    calls: Arc<AtomicUsize>,
    plan: HashMap<usize, Fault>,
}

#[derive(Debug, Clone)]
enum Fault {
    Panic(String),
    Fail(String),
    Hang,
}

impl Faults {
    /// No faults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The n-th call panics.
    #[must_use]
    pub fn panic_on(self, call: usize, text: impl Into<String>) -> Self {
        self.plan(call, Fault::Panic(text.into()))
    }

    /// The n-th call returns an error.
    #[must_use]
    pub fn fail_on(self, call: usize, text: impl Into<String>) -> Self {
        self.plan(call, Fault::Fail(text.into()))
    }

    /// The n-th call never returns: it stays pending at an await.
    #[must_use]
    pub fn hang_on(self, call: usize) -> Self {
        self.plan(call, Fault::Hang)
    }

    /// Injects the planned fault, typically as the first statement of a handler:
    /// `self.faults.strike().await?`.
    ///
    /// # Errors
    ///
    /// When a failure is planned for this call.
    ///
    /// # Panics
    ///
    /// When a panic is planned for this call.
    pub async fn strike(&self) -> Outcome<()> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        match self.plan.get(&call) {
            None => Ok(()),
            Some(Fault::Panic(text)) => panic!("{text}"),
            Some(Fault::Fail(text)) => Err(Failure::new(text.as_str())),
            Some(Fault::Hang) => std::future::pending().await,
        }
    }

    /// The number of calls so far.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    fn plan(mut self, call: usize, fault: Fault) -> Self {
        self.plan.insert(call, fault);
        self
    }
}
