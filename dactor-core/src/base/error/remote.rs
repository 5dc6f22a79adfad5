//! An error that came from another process.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{Error, ErrorKind, Inner};
use crate::base::foreign::Foreign;

/// A cause in another process: its text.
#[derive(Debug)]
struct RemoteCause {
    text: String,
    behind: Option<Box<RemoteCause>>,
}

impl fmt::Display for RemoteCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl StdError for RemoteCause {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.behind.as_deref().map(|cause| cause as &(dyn StdError + 'static))
    }
}

/// The parts of an error that travel.
#[derive(Debug)]
pub(crate) struct RemoteError {
    pub(crate) kind: ErrorKind,
    pub(crate) context: Vec<(String, String)>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) handled: bool,
    /// The texts of the causes, the nearest first.
    pub(crate) causes: Vec<String>,
}

impl From<RemoteError> for Error {
    fn from(error: RemoteError) -> Self {
        let RemoteError { kind, context, retry_after, handled, causes } = error;
        let cause =
            causes.into_iter().rev().fold(None, |behind, text| Some(Box::new(RemoteCause { text, behind })));
        let source = cause.map(|cause| {
            let cause: Box<dyn StdError + Send + Sync> = cause;
            Foreign::new(cause.into())
        });
        let context = context.into_iter().map(|(name, value)| (Cow::Owned(name), value)).collect();
        Self { inner: Arc::new(Inner { kind, context, retry_after, handled: Some(handled), source }) }
    }
}
