use super::*;
use crate::delivery::ask_state::{AskState, Terms};
use crate::path::Guardian;
use crate::system::test_actors::{system, test_actor};
use crate::{ErrorKind, Headers, Message};

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

struct Question;

impl Message for Question {
    type Reply = ();
    type Access = crate::Exclusive;
}

#[test]
fn each_ask_accounts_for_one_clone_of_the_waker_of_its_turn() {
    let actor = test_actor(&system(), Guardian::User).meta.pid();
    let turn = Arc::new(TurnWaker { inner: Waker::noop().clone(), woken: AtomicBool::new(false) });
    let waker = Waker::from(turn.clone());
    let [one, other] = [(); 2].map(|()| -> Arc<dyn Asker> {
        Arc::new(AskState::new(Question, Headers::default(), Terms::default(), None))
    });
    // The waits and clones that are counted in a turn of this actor.
    let counted_in = |pid, waker: &Waker, asks: &[&Arc<dyn Asker>]| {
        COUNTED.set(Some(Counted { pid, waker: turn.clone(), waits: Vec::new(), clones: 0 }));
        asks.iter().for_each(|ask| assert!(note(actor, waker, Arc::clone(ask), 0).is_none()));
        let counted = COUNTED.take().unwrap();
        (counted.waits.len(), counted.clones)
    };
    // The test is no actor.
    let pid = Pid::NOBODY;
    assert_eq!(counted_in(pid, &waker, &[&one, &other, &one]), (2, 2));
    assert_eq!(counted_in(pid, Waker::noop(), &[&one]), (0, 0), "another waker");
    assert_eq!(counted_in(actor, &waker, &[&one]), (0, 0), "another actor");

    FAILING.set(Some(Failing { ask: one.clone(), error: Error::new(ErrorKind::AskCycle) }));
    assert!(note(actor, &waker, other, 0).is_none(), "another ask has to fail");
    assert!(note(actor, &waker, one.clone(), 0).is_some());
    assert!(note(actor, &waker, one, 0).is_none(), "it has failed");
}
