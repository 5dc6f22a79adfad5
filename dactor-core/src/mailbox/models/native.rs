//! Loom models: the native handle, `ActorCore::native` and `refill`.

use super::*;

/// As `ActorCore::native` does, with its orderings.
fn expose(exposed: &AtomicBool, mailbox: &MailboxRef, host: &Bell) {
    if !exposed.swap(true, Ordering::Relaxed) {
        wake(mailbox.repark(), host);
    }
}

/// As `refill` does for a cell that is run by turns, with its orderings, until the cell has handled `enough`
/// and is in its host. Returns whether it has lingered.
fn live_by_turns(exposed: &AtomicBool, mailbox: &MailboxRef, host: &Arc<Bell>, enough: usize) -> bool {
    let bell = Bell::new();
    let waker = Waker::from(bell.clone());
    let (mut handled, mut lingered) = (Vec::new(), false);
    let mut batch = Queue::new();
    loop {
        let mut may_linger = !handled.is_empty();
        let mut foreign = false;
        loop {
            let was_exposed = exposed.load(Ordering::Relaxed);
            let native = foreign || (was_exposed && !may_linger);
            let park = if native { Park::Native } else { Park::Pending(&waker) };
            match mailbox.take(&mut batch, park) {
                Taken::Some => break,
                Taken::Called => unreachable!("no thread calls the cell"),
                Taken::Ending => unreachable!("no thread ends the cell"),
                Taken::Parked if native && handled.len() == enough => return lingered,
                Taken::Parked if native => assert_eq!(host.wait(), 1),
                Taken::Parked if !was_exposed && exposed.load(Ordering::Relaxed) => {}
                Taken::Parked if was_exposed => {
                    may_linger = false;
                    lingered = true;
                    // The runtime polls it again.
                }
                Taken::Parked => {
                    foreign = true;
                    assert_eq!(bell.wait(), 1);
                }
            }
        }
        handled.extend(batch.by_ref());
    }
}

#[test]
fn a_cell_whose_handle_is_given_out_goes_to_its_host() {
    for messages in [&[][..], &[1]] {
        let outcomes = explore(move || {
            let mailbox = ModelMailbox::new(None);
            let exposed = Arc::new(AtomicBool::new(false));
            let host = Bell::new();
            let askers = [(), ()].map(|()| {
                let exposed = exposed.clone();
                beside(&mailbox, &host, move |mailbox, host| expose(&exposed, mailbox, host))
            });
            let sender = beside(&mailbox, &host, move |mailbox, host| tell(mailbox, host, messages));
            let lingered = live_by_turns(&exposed, &mailbox, &host, messages.len());
            askers.into_iter().for_each(|asker| asker.join().unwrap());
            assert!(sender.join().unwrap().is_empty());
            assert_eq!(host.rung(), 0, "a cell that runs is not woken");
            assert!(matches!(mailbox.push(2, Normal), Ok(Wakeup::Native)), "the cell is in its host");
            lingered
        });
        let expected: &[bool] = if messages.is_empty() { &[false] } else { &[false, true] };
        assert!(outcomes.iter().eq(expected), "{outcomes:?}");
    }
}
