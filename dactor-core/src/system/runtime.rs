//! The tokio runtime of the caller.

use std::cell::Cell;
use std::time::Duration;

use tokio::runtime::{Handle, Id};

use crate::base::panic::contain;
use crate::{Error, ErrorKind, Result};

thread_local! {
    /// The last runtime with a timer seen on this thread.
    static TIMED: Cell<Option<Id>> = const { Cell::new(None) };
}

/// The current runtime, which must have its timer enabled.
///
/// Actors wait for children and before restarts, and a shutdown has deadlines: without a timer, these would
/// panic much later. Tokio cannot be asked, so the first call on each thread probes it.
pub(crate) fn check(call: &'static str) -> Result<Handle> {
    let error = || Error::new(ErrorKind::NoRuntime).with("call", call);
    let runtime = Handle::try_current().map_err(|outside| error().because(outside))?;
    let id = Some(runtime.id());
    if TIMED.get() != id {
        contain(|| drop(tokio::time::sleep(Duration::ZERO))).map_err(|panic| {
            error().because(panic).with("because", "the runtime was built without `enable_time`")
        })?;
        TIMED.set(id);
    }
    Ok(runtime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_needs_a_timer() {
        assert_eq!(check("test").unwrap_err().kind(), ErrorKind::NoRuntime);
        let build = |builder: &mut tokio::runtime::Builder| builder.build().unwrap();
        let timed = build(tokio::runtime::Builder::new_current_thread().enable_time());
        let plain = build(&mut tokio::runtime::Builder::new_current_thread());
        for _ in 0..2 {
            timed.block_on(async { check("test").unwrap() });
            let error = plain.block_on(async { check("test").unwrap_err() });
            assert_eq!((error.kind(), error.get("call")), (ErrorKind::NoRuntime, Some("test")));
            assert!(error.to_string().contains("enable_time"), "{error}");
        }
    }
}
