use std::task::Context;

use futures_util::task::noop_waker_ref;

use super::*;
use crate::path::Guardian;
use crate::puppet::{puppet, system};

#[test]
fn a_restart_without_a_wait_needs_no_clock() {
    for (ending, expected) in [
        (Ending::None, Ok(())),
        (Ending::Drain, Ok(())),
        (Ending::Stop, Err("stopped")),
        (Ending::Kill, Err("killed")),
    ] {
        let actor = puppet(&system(), Guardian::User);
        let _ = actor.mailbox.signal(ending);
        // There is no runtime here: a sleep would panic.
        let polled = pin!(back_off(&actor, Duration::ZERO)).poll(&mut Context::from_waker(noop_waker_ref()));
        let Poll::Ready(found) = polled else { panic!("{ending:?}: it waits") };
        let found = found.map_err(|left| match left {
            Left::Lost(StopReason::Stopped) => "stopped",
            Left::Lost(StopReason::Killed) => "killed",
            _ => "otherwise",
        });
        assert_eq!(found, expected, "{ending:?}");
    }
}
