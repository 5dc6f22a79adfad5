use std::task::Context;

use futures_util::task::noop_waker_ref;

use super::*;
use crate::path::Guardian;
use crate::system::test_actors::{system, test_actor};

#[test]
fn a_restart_without_a_wait_needs_no_clock() {
    for (ending, expected) in [
        (Ending::None, Ok(())),
        (Ending::Drain, Ok(())),
        (Ending::Stop, Err("stopped")),
        (Ending::Kill, Err("killed")),
    ] {
        let actor = test_actor(&system(), Guardian::User);
        let _ = actor.mailbox.signal(ending);
        // No runtime here: a sleep would panic.
        let polled = pin!(back_off(&actor, Duration::ZERO)).poll(&mut Context::from_waker(noop_waker_ref()));
        let Poll::Ready(found) = polled else { panic!("{ending:?}: it waits") };
        let found = found.map_err(|exit| match exit {
            LoopExit::Lost(StopReason::Stopped) => "stopped",
            LoopExit::Lost(StopReason::Killed) => "killed",
            _ => "otherwise",
        });
        assert_eq!(found, expected, "{ending:?}");
    }
}

#[test]
fn what_follows_a_decision() {
    let after = Duration::from_secs(1);
    let restart = Decision::Restart { after };
    for (decision, instance, is_restartable, expected) in [
        (Decision::Resume, Instance::Sound, true, Recovery::Resume),
        (Decision::Resume, Instance::Panicked, true, Recovery::Resume),
        (Decision::Resume, Instance::NotStarted, true, Recovery::End),
        (restart, Instance::Sound, true, Recovery::Restart { after }),
        (restart, Instance::NotStarted, true, Recovery::Restart { after }),
        (restart, Instance::Sound, false, Recovery::EndWithoutFactory),
        (Decision::Stop, Instance::Panicked, true, Recovery::End),
        (Decision::Escalate, Instance::Sound, true, Recovery::Escalate),
        (Decision::Exhausted, Instance::NotStarted, true, Recovery::Escalate),
    ] {
        let found = recovery(decision, instance, is_restartable);
        assert_eq!(found, expected, "{decision:?} {instance:?} {is_restartable}");
    }
}
