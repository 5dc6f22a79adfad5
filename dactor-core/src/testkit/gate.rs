use std::sync::Arc;

use tokio::sync::watch;

/// Holds whoever passes until the test opens it, and says when somebody has arrived: so "handling", "starting"
/// and "stopping" are states that a test can be in for as long as it likes.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use dactor_core::testkit::Gate;
///
/// let gate = Gate::new();
/// let inside = gate.clone();
/// let task = tokio::spawn(async move { inside.pass().await });
/// gate.reached().await;
/// assert!(!task.is_finished());
/// gate.open();
/// task.await.unwrap();
/// # });
/// ```
#[derive(Debug, Clone)]
pub struct Gate {
    open: Arc<watch::Sender<bool>>,
    arrivals: Arc<watch::Sender<usize>>,
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self { open: Arc::new(watch::Sender::new(false)), arrivals: Arc::new(watch::Sender::new(0)) }
    }

    /// Lets everybody through from now on.
    pub fn open(&self) {
        self.open.send_replace(true);
    }

    /// Arrives, and waits until the gate is open.
    pub async fn pass(&self) {
        self.arrivals.send_modify(|count| *count += 1);
        // The sender lives as long as this call: the wait cannot fail.
        let _ = self.open.subscribe().wait_for(|open| *open).await;
    }

    /// Waits until somebody has arrived.
    pub async fn reached(&self) {
        self.reached_by(1).await;
    }

    /// Waits until this many have arrived.
    pub async fn reached_by(&self, count: usize) {
        let _ = self.arrivals.subscribe().wait_for(|arrived| *arrived >= count).await;
    }

    /// How many have arrived so far.
    pub fn arrivals(&self) -> usize {
        *self.arrivals.borrow()
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}
