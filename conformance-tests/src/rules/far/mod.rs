//! Actors of another system, through a link on which everything travels as frames.

pub(crate) mod coverage;
pub(crate) mod ends;
pub(crate) mod faults;
pub(crate) mod messages;
pub(crate) mod refs;
pub(crate) mod streams;

/// Waits for something that other tasks do.
async fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        tokio::task::yield_now().await;
    }
}
