//! Shared code of the long random tests.

// By path: a dependency on the conformance kit would switch the core's testkit on for all tests of this package.
#[path = "../../conformance-tests/src/random/splitmix.rs"]
#[expect(unreachable_pub, dead_code, reason = "the kit exports it, and uses all of it")]
mod splitmix;

pub(crate) use splitmix::SplitMix64;

/// A number from the environment.
pub(crate) fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Hides injected panics.
pub(crate) fn hide_ordered_panics() {
    let loud = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if info.payload().downcast_ref::<&str>() != Some(&"as ordered") {
            loud(info);
        }
    }));
}
