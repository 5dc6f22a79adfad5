//! The panic guard around user code: a panic is caught, and reported by the caller.

use std::any::{Any, type_name};
use std::fmt;
use std::future::Future;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

/// The text of a caught panic.
#[derive(Debug, Clone)]
pub(crate) struct Panic {
    text: Arc<str>,
}

impl Panic {
    pub(crate) fn new(payload: Box<dyn Any + Send>) -> Self {
        let text = Arc::from(text_of(&*payload));
        // The payload's own destructor may panic, too.
        discard(payload);
        Self { text }
    }
}

fn text_of(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a payload that is not text")
}

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Panic {}

/// Calls user code and catches its panic.
pub(crate) fn contain<T>(call: impl FnOnce() -> T) -> Result<T, Panic> {
    catch_unwind(AssertUnwindSafe(call)).map_err(Panic::new)
}

/// Drops a user value where no actor can fail because of it. A panic of its destructor is logged.
#[inline]
pub(crate) fn discard<T>(value: T) {
    if mem::needs_drop::<T>() {
        drop_guarded(value);
    }
}

/// The same for a value that may be gone already: then there is no guard to set up.
#[inline]
pub(crate) fn discard_from<T>(place: &mut Option<T>) {
    if let Some(value) = place.take() {
        discard(value);
    }
}

fn drop_guarded<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        tracing::warn!(of = type_name::<T>(), panic = text_of(&*payload), "a destructor panicked");
        // The payload of a panicking destructor is forgotten, or this could recurse forever.
        mem::forget(payload);
    }
}

pin_project! {
    /// A user future whose panics are its output. It is also dropped under the guard, at any stage.
    pub(crate) struct Contained<F> {
        // `None` when it has ended.
        #[pin]
        code: Option<F>,
    }

    impl<F> PinnedDrop for Contained<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut code = this.project().code;
            if code.is_some()
                && let Err(panic) = contain(|| code.set(None))
            {
                tracing::warn!(of = type_name::<F>(), %panic, "a destructor panicked");
            }
        }
    }
}

impl<F> Contained<F> {
    pub(crate) fn new(code: F) -> Self {
        Self { code: Some(code) }
    }
}

impl<F: Future> Future for Contained<F> {
    type Output = Result<F::Output, Panic>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut code = self.project().code;
        // Outside the guard: a panic of the future's destructor must not drop the output while it unwinds.
        let mut output = None;
        let polled = contain(|| {
            let Some(running) = code.as_mut().as_pin_mut() else {
                unreachable!("it is polled to its end once")
            };
            if let Poll::Ready(ready) = running.poll(cx) {
                output = Some(ready);
                code.set(None);
            }
        });
        match (polled, output) {
            (Ok(()), None) => Poll::Pending,
            (Ok(()), Some(output)) => Poll::Ready(Ok(output)),
            (Err(panic), output) => {
                discard(output);
                Poll::Ready(Err(panic))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::pin::pin;
    use std::task::Waker;

    use super::*;

    /// Panics on drop, even while another panic unwinds.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("bomb");
        }
    }

    /// A future that panics on drop.
    struct Armed<F>(F, #[allow(dead_code)] Bomb);

    impl<F: Future + Unpin> Future for Armed<F> {
        type Output = F::Output;

        fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
            Pin::new(&mut self.0).poll(cx)
        }
    }

    fn poll<F: Future>(code: Pin<&mut Contained<F>>) -> Poll<Result<F::Output, Panic>> {
        code.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_future_that_panics_in_its_destructor_has_panicked() {
        let mut ends = pin!(Contained::new(Armed(ready(Bomb), Bomb)));
        let Poll::Ready(Err(panic)) = poll(ends.as_mut()) else { panic!("it has not") };
        assert_eq!(panic.to_string(), "bomb", "and its output is dropped under a guard of its own");
        let mut waits = Box::pin(Contained::new(Armed(pending::<()>(), Bomb)));
        assert!(poll(waits.as_mut()).is_pending());
        drop(waits);
    }

    #[test]
    fn a_guard_holds_while_another_panic_unwinds() {
        struct Guards(Option<Bomb>);
        impl Drop for Guards {
            fn drop(&mut self) {
                discard(self.0.take());
            }
        }
        let panic = contain(|| {
            let _guards = (Guards(Some(Bomb)), Guards(Some(Bomb)));
            panic!("first");
        });
        assert_eq!(panic.unwrap_err().to_string(), "first");
    }
}
