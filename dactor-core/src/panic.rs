use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The text of a caught panic.
#[derive(Debug, Clone)]
pub(crate) struct Panic {
    text: Arc<str>,
}

impl Panic {
    pub(crate) fn new(payload: Box<dyn Any + Send>) -> Self {
        let text = if let Some(text) = payload.downcast_ref::<&str>() {
            Arc::from(*text)
        } else if let Some(text) = payload.downcast_ref::<String>() {
            Arc::from(text.as_str())
        } else {
            Arc::from("a payload that is not text")
        };
        // A payload's own destructor may panic, too.
        discard(payload);
        Self { text }
    }
}

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Panic {}

/// Calls user code that must not take the caller down.
pub(crate) fn contain<T>(call: impl FnOnce() -> T) -> Result<T, Panic> {
    catch_unwind(AssertUnwindSafe(call)).map_err(Panic::new)
}

/// Drops a user's value. A destructor that panics is logged and otherwise ignored.
pub(crate) fn discard<T>(value: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        // The payload of a panicking destructor is forgotten, or this could go on forever.
        std::mem::forget(panic);
        tracing::warn!("a destructor panicked while an actor was cleaning up");
    }
}
