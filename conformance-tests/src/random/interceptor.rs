//! The interceptors of a program.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dactor_core::{Delivery, Inbound, Outbound, Verdict};

use super::message::INJECTED;
use super::program::InterceptSpec;

/// Applies the verdict to every third message.
pub(super) struct EveryThird {
    pub(super) verdict: InterceptSpec,
    pub(super) seen: AtomicUsize,
}

impl Inbound for EveryThird {
    fn on_receive(&self, _: &mut Delivery<'_>) -> Verdict {
        if self.seen.fetch_add(1, Ordering::SeqCst) % 3 != 2 {
            return Verdict::Continue;
        }
        verdict(self.verdict)
    }
}

/// Applies the verdict to every message.
pub(super) struct EveryMessage(pub(super) InterceptSpec);

impl Outbound for EveryMessage {
    fn on_send(&self, _: &mut Delivery<'_>) -> Verdict {
        verdict(self.0)
    }
}

fn verdict(intercept: InterceptSpec) -> Verdict {
    match intercept {
        InterceptSpec::Continue => Verdict::Continue,
        InterceptSpec::Delay(ms) => Verdict::Delay(Duration::from_millis(ms)),
        InterceptSpec::Drop => Verdict::Drop,
        InterceptSpec::Reject => Verdict::Reject("injected by the program".to_owned()),
        InterceptSpec::Panic => panic!("{INJECTED}"),
    }
}
