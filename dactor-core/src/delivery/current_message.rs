//! What comes with a message, while it is handled.

use std::fmt;
use std::mem;
use std::sync::Arc;

use crate::Headers;
use crate::base::panic::{Panic, contain};
use crate::delivery::ask_state::Asker;

/// The headers and the asker of the message that is being handled.
///
/// They are user values and may panic when they are dropped: a header, or a reply that its asker has not fetched.
#[derive(Default)]
pub(crate) struct CurrentMessage {
    pub(crate) headers: Headers,
    pub(crate) asker: Option<Arc<dyn Asker>>,
}

impl CurrentMessage {
    /// Begins a message. The one before has been released.
    #[inline(always)]
    pub(crate) fn begin(&mut self, headers: Headers, asker: Option<Arc<dyn Asker>>) {
        debug_assert!(self.is_empty(), "the message before was not released");
        // Most messages are told and have neither.
        if !headers.is_empty() {
            self.headers = headers;
        }
        if asker.is_some() {
            self.asker = asker;
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.headers.is_empty() && self.asker.is_none()
    }

    /// Drops what came with the message, each value under a guard of its own.
    #[inline]
    pub(crate) fn release(&mut self) -> Result<(), Panic> {
        if self.is_empty() { Ok(()) } else { self.release_values() }
    }

    fn release_values(&mut self) -> Result<(), Panic> {
        let asker = self.asker.take();
        let dropped = contain(|| drop(asker));
        if self.headers.is_empty() {
            return dropped;
        }
        let headers = mem::take(&mut self.headers);
        contain(|| drop(headers)).and(dropped)
    }
}

/// A message may be dropped at any await of its handler.
impl Drop for CurrentMessage {
    #[inline]
    fn drop(&mut self) {
        if let Err(panic) = self.release() {
            tracing::warn!(%panic, "a destructor panicked");
        }
    }
}

impl fmt::Debug for CurrentMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CurrentMessage").field(&self.headers).finish()
    }
}
