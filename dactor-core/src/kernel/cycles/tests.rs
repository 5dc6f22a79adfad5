use super::*;
use crate::path::Guardian;
use crate::system::test_actors::{system, test_actor};

/// Whether the actor is in the table.
fn is_listed(pid: Pid) -> bool {
    blocked().contains_key(&pid)
}

#[test]
fn an_actor_leaves_the_table_when_its_code_goes_on_or_is_dropped() {
    let system = system();
    let [waiting, other] = [(); 2].map(|()| test_actor(&system, Guardian::User));
    let pid = waiting.meta.pid();
    let wait = || vec![Wait { actor: other.meta.pid(), ask: None }];
    let mut watch = Watch::new();
    for _ in 0..2 {
        assert!(watch.enter(&waiting.meta, wait(), Waker::noop()).is_none());
        assert!(is_listed(pid));
        watch.leave_table();
        assert!(!is_listed(pid));
    }
    // Its code is polled again.
    assert!(watch.enter(&waiting.meta, wait(), Waker::noop()).is_none());
    let done = watch.poll(
        &waiting.meta,
        std::pin::pin!(std::future::ready(())),
        &mut Context::from_waker(Waker::noop()),
    );
    assert!(done.is_ready() && !is_listed(pid));
    assert!(watch.enter(&waiting.meta, wait(), Waker::noop()).is_none());
    drop(watch);
    assert!(!is_listed(pid));
}
