use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use crate::base::error::chain;
use crate::base::foreign::Foreign;

/// The result of a handler or hook: a value, or a [`Failure`] that `?` builds from any error.
pub type Outcome<T> = std::result::Result<T, Failure>;

/// Why a handler or hook failed.
///
/// It converts from every standard error, so `?` works in handlers; for other values (a text, a boxed error,
/// `anyhow::Error`) use [`or_fail`](OrFail::or_fail). Like `anyhow::Error`, it therefore cannot implement
/// [`std::error::Error`] itself; [`Failure::source`] returns the error it carries.
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
    /// Creates a failure from a text, a boxed error, or anything else that can be boxed as an error.
    pub fn new(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { source: Foreign::new(error.into().into()) }
    }

    /// The first error of type `E` in the chain of causes: see
    /// [`Error::downcast_ref`](crate::Error::downcast_ref).
    pub fn downcast_ref<E: StdError + 'static>(&self) -> Option<&E> {
        let first: &(dyn StdError + 'static) = self.source.get();
        chain(Some(first)).find_map(|cause| cause.downcast_ref())
    }

    /// The error this failure carries.
    pub fn source(&self) -> &(dyn StdError + Send + Sync + 'static) {
        self.source.get()
    }

    /// Marks that the handler has deferred or passed on its reply.
    pub(crate) fn promise() -> Self {
        Promise.into()
    }

    /// Also finds the marker as the source of a handler's own error.
    pub(crate) fn is_promise(&self) -> bool {
        self.downcast_ref::<Promise>().is_some()
    }

    pub(crate) fn shared(&self) -> Foreign {
        self.source.clone()
    }
}

/// Lets `?` fail a handler with a value that is not a standard error: a text, a boxed error, an
/// `anyhow::Error`.
///
/// Rust does not allow a second blanket `From` beside the one for standard errors, so the conversion has a
/// name. The asker finds the error with [`Error::downcast_ref`](crate::Error::downcast_ref). An
/// `anyhow::Error` hides the type of its inner error, unless the feature `anyhow` is on.
///
/// ```
/// use dactor_core::{OrFail, Outcome};
///
/// fn amount(text: Option<&'static str>) -> Outcome<u64> {
///     let text = text.ok_or("no amount").or_fail()?; // a text
///     let cents: u64 = text.parse()?; // a standard error needs only `?`
///     checked(cents).or_fail() // a boxed error
/// }
///
/// fn checked(cents: u64) -> Result<u64, Box<dyn std::error::Error + Send + Sync>> {
///     if cents > 100 { Err("too much".into()) } else { Ok(cents) }
/// }
///
/// assert_eq!(amount(Some("7")).unwrap(), 7);
/// assert_eq!(amount(None).unwrap_err().to_string(), "no amount");
/// assert_eq!(amount(Some("700")).unwrap_err().to_string(), "too much");
/// ```
pub trait OrFail<T> {
    /// The value, or a [`Failure`] that carries the error.
    fn or_fail(self) -> Outcome<T>;
}

impl<T, E: Into<Box<dyn StdError + Send + Sync>> + 'static> OrFail<T> for std::result::Result<T, E> {
    fn or_fail(self) -> Outcome<T> {
        self.map_err(|error| {
            #[cfg(feature = "anyhow")]
            let error = match reveal(error) {
                Ok(failure) => return failure,
                Err(error) => error,
            };
            Failure::new(error)
        })
    }
}

/// Unwraps an `anyhow::Error`, so that its inner error can be found by type.
#[cfg(feature = "anyhow")]
fn reveal<E: 'static>(error: E) -> std::result::Result<Failure, E> {
    let mut error = Some(error);
    let any: &mut dyn std::any::Any = &mut error;
    if let Some(anyhow) = any.downcast_mut::<Option<anyhow::Error>>().and_then(Option::take) {
        return Ok(Failure::new(anyhow.reallocate_into_boxed_dyn_error_without_backtrace()));
    }
    match error {
        Some(error) => Err(error),
        None => unreachable!("the type is checked before the value is taken"),
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

#[cfg(all(test, feature = "anyhow"))]
mod tests {
    use std::num::ParseIntError;

    use anyhow::Context;

    use super::*;

    #[test]
    fn the_error_inside_of_an_anyhow_error_is_found() {
        let parsed = || "x".parse::<u8>();
        let plain = parsed().map_err(anyhow::Error::from).or_fail().unwrap_err();
        assert!(plain.source().is::<ParseIntError>());
        let deep = parsed().context("a port").or_fail().unwrap_err();
        assert_eq!(deep.to_string(), "a port");
        assert!(deep.downcast_ref::<ParseIntError>().is_some());
        assert!(deep.downcast_ref::<std::io::Error>().is_none());
        assert_eq!(Err::<(), _>(anyhow::anyhow!("no")).or_fail().unwrap_err().to_string(), "no");
    }
}
