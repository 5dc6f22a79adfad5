use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use crate::foreign::Foreign;

/// What a handler or hook returns: a value, or a [`Failure`] that `?` builds from any error.
pub type Outcome<T> = std::result::Result<T, Failure>;

/// Why a handler or hook did not produce its value.
///
/// It converts from every standard error, so `?` works in handlers. Like `anyhow::Error` it therefore
/// cannot implement [`std::error::Error`] itself; [`Failure::source`] gives the error it carries.
///
/// ```
/// use dactor_core::{Failure, Outcome};
///
/// fn parse(text: &str) -> Outcome<u64> {
///     if text.is_empty() {
///         return Err(Failure::new("nothing to parse"));
///     }
///     Ok(text.parse()?)
/// }
/// assert_eq!(parse("").unwrap_err().to_string(), "nothing to parse");
/// assert!(parse("x").unwrap_err().source().is::<std::num::ParseIntError>());
/// ```
#[derive(Clone)]
pub struct Failure {
    source: Foreign,
}

impl Failure {
    /// A failure that is only a text.
    pub fn new(text: impl Into<String>) -> Self {
        let text = Box::<dyn StdError + Send + Sync>::from(text.into());
        Self { source: Foreign::new(text.into()) }
    }

    /// The error this failure carries.
    pub fn source(&self) -> &(dyn StdError + Send + Sync + 'static) {
        self.source.get()
    }

    /// Says that the handler has passed the reply on, instead of giving it.
    pub(crate) fn promise() -> Self {
        Promise.into()
    }

    pub(crate) fn is_promise(&self) -> bool {
        self.source.get().is::<Promise>()
    }

    pub(crate) fn shared(&self) -> Foreign {
        self.source.clone()
    }
}

#[derive(Debug)]
struct Promise;

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the reply comes later")
    }
}

impl StdError for Promise {}

impl<E: StdError + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self { source: Foreign::new(Arc::new(error)) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.source, f)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Failure").field(&self.source).finish()
    }
}
