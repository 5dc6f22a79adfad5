//! Ready-made interceptors.
//!
//! | | what it does | where it is registered |
//! | --- | --- | --- |
//! | [`Trace`] | a `tracing` span for each message, linked to its cause, and a W3C trace | [`Trace::install`] |
#![cfg_attr(
    feature = "metrics",
    doc = "| [`Metrics`] | counts and times, through the `metrics` facade | [`Metrics::install`] |"
)]
#![cfg_attr(feature = "rate-limit", doc = "| [`RateLimit`] | a rate limit | inbound or outbound |")]
//! | [`Breaker`] | a circuit breaker for a failing actor | outbound |
//! | [`DefaultTimeout`] | a deadline for asks that set none | outbound |
//! | [`Retry`] | retries asks that fail with a temporary error | not registered: it is called |
//!
//! # Order
//!
//! Interceptors see a message in registration order; after a refusal, later ones do not see it. So a counter
//! before a limit counts attempts, and a counter after it counts admitted messages:
//!
#![cfg_attr(feature = "rate-limit", doc = "```")]
#![cfg_attr(not(feature = "rate-limit"), doc = "```ignore")]
//! # use std::sync::Arc;
//! # use std::sync::atomic::{AtomicU32, Ordering};
//! # use std::time::Duration;
//! # use dactor_core::{Delivery, Outbound, System, Verdict};
//! use dactor_core::interceptors::RateLimit;
//!
#![doc = include_str!("backend.md")]
//! #[derive(Clone, Default)]
//! struct Count(Arc<AtomicU32>);
//!
//! impl Outbound for Count {
//!     fn on_send(&self, _: &mut Delivery<'_>) -> Verdict {
//!         self.0.fetch_add(1, Ordering::Relaxed);
//!         Verdict::Continue
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> dactor_core::Result<()> {
//! # let system = System::builder("order").backend(TokioTasks).build()?;
//! let (before, behind) = (Count::default(), Count::default());
//! let limit = RateLimit::new(2, Duration::from_secs(60));
//! let echo = system.spawn(Echo).await?.outbound(before.clone()).outbound(limit).outbound(behind.clone());
//! for number in 1..=5 {
//!     let _ = echo.ask(Say(number)).await; // the last three are refused
//! }
//! assert_eq!(before.0.load(Ordering::Relaxed), 5);
//! assert_eq!(behind.0.load(Ordering::Relaxed), 2);
//! # Ok(())
//! # }
//! ```
//!
//! The same holds for the others. A [`Breaker`] in front of a limit does not take a refusal of the limit for a failure
//! of the actor, but behind it, it does not even see it. [`Trace`] and the metrics belong in front of what refuses
//! messages, so that the refused ones show up.

mod breaker;
#[cfg(feature = "rate-limit")]
mod limit;
#[cfg(feature = "metrics")]
mod metrics;
mod retry;
#[cfg(test)]
pub(crate) mod testbed;
mod timeout;
mod trace;

pub use breaker::{Breaker, BreakerState};
#[cfg(feature = "rate-limit")]
pub use limit::RateLimit;
#[cfg(feature = "metrics")]
pub use metrics::Metrics;
pub use retry::Retry;
pub use timeout::DefaultTimeout;
pub use trace::Trace;
