//! The part of a [`Lifecycle`](crate::spi::Lifecycle) that decides about one message.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::Result;

/// A future that a [`Lifecycle`](crate::spi::Lifecycle) gives.
pub type LifecycleFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Admits a message and its answer.
pub(crate) trait Gate: Send + Sync {
    /// See [`Lifecycle::admit`](crate::spi::Lifecycle::admit).
    fn admit(&self, is_activity: bool) -> Result<Option<LifecycleFuture<'static, ()>>>;
    /// See [`Lifecycle::may_reply`](crate::spi::Lifecycle::may_reply).
    fn may_reply(&self, is_activity: bool) -> Result<()>;
}

/// A gate that the holder of a deferred reply has, too.
pub(crate) type SharedGate = Arc<dyn Gate>;
