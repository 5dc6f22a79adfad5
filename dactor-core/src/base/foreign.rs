//! User errors inside kernel errors.

use std::error::Error as StdError;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::base::panic::discard;

/// A user error. The log, an observer or another actor may format and drop it, so its formatting and its
/// destructor run under the panic guard.
#[derive(Clone)]
pub(crate) struct Foreign(Option<Arc<dyn StdError + Send + Sync>>);

impl Foreign {
    pub(crate) fn new(error: Arc<dyn StdError + Send + Sync>) -> Self {
        Self(Some(error))
    }

    pub(crate) fn get(&self) -> &(dyn StdError + Send + Sync + 'static) {
        match &self.0 {
            Some(error) => &**error,
            None => unreachable!("the error is there until it is dropped"),
        }
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        discard(self.0.take());
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, |f| fmt::Display::fmt(self.get(), f))
    }
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, |f| fmt::Debug::fmt(self.get(), f))
    }
}

/// Formats user text. If it panics, the output says so in its place.
pub(crate) fn show(
    f: &mut fmt::Formatter<'_>,
    print: impl FnOnce(&mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    catch_unwind(AssertUnwindSafe(|| print(f))).unwrap_or_else(|payload| {
        discard(payload);
        f.write_str("(its text cannot be shown: it panicked)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, ErrorKind, Failure};

    struct Broken;

    impl fmt::Display for Broken {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("display");
        }
    }

    impl fmt::Debug for Broken {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("debug");
        }
    }

    impl Drop for Broken {
        fn drop(&mut self) {
            panic!("drop");
        }
    }

    impl StdError for Broken {}

    #[test]
    fn an_error_that_panics_can_be_printed_and_dropped() {
        let failure = Failure::from(Broken);
        let error = Error::new(ErrorKind::Failed).because_shared(failure.shared());
        for text in [format!("{failure}"), format!("{failure:?}"), format!("{error:#}"), format!("{error:?}")]
        {
            assert!(text.contains("it panicked"), "{text}");
        }
        assert!(error.to_string().starts_with("the handler failed"), "{error}");
        drop((failure, error));
        drop(Error::new(ErrorKind::Failed).because(Broken));
    }
}
