use std::fmt;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

/// A stream of changes in a store.
///
/// A change is a hint: it may be late, and a slow reader misses changes. Changes of one entity or node are in
/// order.
pub struct Watch<T> {
    receiver: broadcast::Receiver<T>,
    filter: Box<dyn Fn(&T) -> bool + Send + Sync>,
}

/// A notification of a [`Watch`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice<T> {
    /// A change.
    Changed(T),
    /// Changes were dropped because the reader was too slow: reload everything.
    Missed,
    /// The engine was closed.
    Closed,
}

impl<T: Clone> Watch<T> {
    /// Waits for the next change. Cancel safe.
    pub async fn next(&mut self) -> Notice<T> {
        loop {
            match self.receiver.recv().await {
                Ok(change) if (self.filter)(&change) => return Notice::Changed(change),
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => return Notice::Missed,
                Err(RecvError::Closed) => return Notice::Closed,
            }
        }
    }
}

impl<T> fmt::Debug for Watch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

/// The sending side of watches, for engines.
#[derive(Debug, Clone)]
pub struct Publisher<T> {
    sender: broadcast::Sender<T>,
}

impl<T: Clone> Publisher<T> {
    /// A publisher that buffers this many changes for a slow reader.
    pub fn new(capacity: usize) -> Self {
        Self { sender: broadcast::Sender::new(capacity) }
    }

    /// Publishes a change to all watches.
    pub fn publish(&self, change: T) {
        // Fails if there is no watch.
        let _ = self.sender.send(change);
    }

    /// Watches the changes from now on that pass the filter.
    pub fn watch(&self, filter: impl Fn(&T) -> bool + Send + Sync + 'static) -> Watch<T> {
        Watch { receiver: self.sender.subscribe(), filter: Box::new(filter) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn notices() {
        let publisher = Publisher::new(2);
        publisher.publish(1);
        let mut even = publisher.watch(|number| number % 2 == 0);
        let mut all = publisher.watch(|_| true);
        publisher.publish(3);
        publisher.publish(4);
        assert_eq!(even.next().await, Notice::Changed(4));
        publisher.publish(6);
        assert_eq!(all.next().await, Notice::Missed);
        assert_eq!(all.next().await, Notice::Changed(4));
        drop(publisher);
        assert_eq!(even.next().await, Notice::Changed(6));
        assert_eq!(even.next().await, Notice::Closed);
    }
}
