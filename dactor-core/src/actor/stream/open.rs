//! The streams that an instance of an actor produces or consumes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use slab::Slab;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::Error;
use crate::delivery::channel::AnyStream;

/// The open streams of one instance, created for the first. Shared with their producers and inputs, which may
/// outlive the handler.
#[derive(Clone)]
pub(crate) struct OpenStreams(Arc<Table>);

struct Table {
    streams: Mutex<Slab<(Side, Arc<dyn AnyStream>)>>,
    /// A stream was closed.
    closed: Notify,
    /// Cancelled when the actor drains.
    finishing: CancellationToken,
}

/// Which end of a stream the actor has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Producer,
    Consumer,
}

impl OpenStreams {
    pub(crate) fn new(finishing: CancellationToken) -> Self {
        Self(Arc::new(Table { streams: Mutex::default(), closed: Notify::new(), finishing }))
    }

    fn lock(&self) -> MutexGuard<'_, Slab<(Side, Arc<dyn AnyStream>)>> {
        self.0.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a stream until the registration is dropped.
    pub(crate) fn register(&self, side: Side, stream: Arc<dyn AnyStream>) -> Registration {
        let key = self.lock().insert((side, stream));
        Registration { streams: self.clone(), key }
    }

    /// Ends all streams with this error. Produced streams come first: a task that sees its input end drops
    /// its producer, and the consumer would not get this error.
    pub(crate) fn fail_all(&self, error: &Error) {
        let streams: Vec<_> = self.lock().iter().map(|(_, stream)| stream.clone()).collect();
        for side in [Side::Producer, Side::Consumer] {
            let of_side = streams.iter().filter(|(of, _)| *of == side);
            of_side.for_each(|(_, stream)| stream.fail(error.clone()));
        }
    }

    /// Waits until all streams are closed.
    pub(crate) async fn all_closed(&self) {
        loop {
            let closed = self.0.closed.notified();
            if self.lock().is_empty() {
                return;
            }
            closed.await;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }
}

/// The registration of one stream in its actor's table.
pub(crate) struct Registration {
    streams: OpenStreams,
    key: usize,
}

impl Registration {
    /// Cancelled when the actor drains.
    pub(crate) fn finishing(&self) -> &CancellationToken {
        &self.streams.0.finishing
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let stream = self.streams.lock().try_remove(self.key);
        self.streams.0.closed.notify_waiters();
        drop(stream);
    }
}
