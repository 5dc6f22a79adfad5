use std::sync::Arc;

use tokio::sync::watch;

/// A barrier: tasks that pass wait until the test opens it, and the test can wait for their arrival. So a
/// test can hold an actor in "handling", "starting" or "stopping" for as long as it needs.
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

    /// Lets all tasks through from now on.
    pub fn open(&self) {
        self.open.send_replace(true);
    }

    /// Arrives, and waits until the gate is open.
    pub async fn pass(&self) {
        self.arrivals.send_modify(|count| *count += 1);
        // The sender lives as long as this call: the wait cannot fail.
        let _ = self.open.subscribe().wait_for(|open| *open).await;
    }

    /// Waits until a task has arrived.
    pub async fn reached(&self) {
        self.reached_by(1).await;
    }

    /// Waits until this many tasks have arrived.
    pub async fn reached_by(&self, count: usize) {
        let _ = self.arrivals.subscribe().wait_for(|arrived| *arrived >= count).await;
    }

    /// How many tasks have arrived so far.
    pub fn arrivals(&self) -> usize {
        *self.arrivals.borrow()
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}
