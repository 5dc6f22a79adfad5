//! Loom models: a launch that races with messages and the end.

use super::*;

/// A host that the cell may not have reached yet.
#[derive(Debug)]
struct Unbound {
    bound: AtomicBool,
    bell: Arc<Bell>,
}

impl Unbound {
    fn wake(&self, wakeup: Wakeup) {
        if matches!(wakeup, Wakeup::Native | Wakeup::Stop) {
            assert!(self.bound.load(Ordering::Relaxed), "only a cell that is in its host is parked there");
        }
        wake(wakeup, &self.bell);
    }
}

fn launch_and_send(ending: Option<Ending>, priority: Priority) -> BTreeSet<MessageOutcome> {
    explore(move || {
        let mailbox = ModelMailbox::new(None);
        let host = Arc::new(Unbound { bound: AtomicBool::new(false), bell: Bell::new() });
        let sender = thread::spawn({
            let (mailbox, host) = (mailbox.clone(), host.clone());
            move || mailbox.push(1, priority).map(|wakeup| host.wake(wakeup)).is_err()
        });
        let stopper = ending.map(|ending| {
            let (mailbox, host) = (mailbox.clone(), host.clone());
            thread::spawn(move || host.wake(mailbox.signal(ending)))
        });
        let cell = thread::spawn({
            let (mailbox, bell) = (mailbox.clone(), host.bell.clone());
            let enough = if ending.is_some() { usize::MAX } else { 1 };
            move || Cell::new(&mailbox, &bell, At::Host).live(enough)
        });
        // `on_start` was pending once.
        let spawner = Bell::new();
        assert!(!mailbox.wait_for_signal(&Waker::from(spawner)));
        mailbox.started();
        host.bound.store(true, Ordering::Relaxed);
        host.wake(mailbox.launch());
        let gone: &[(u32, MessageOutcome)] = if sender.join().unwrap() { &[(1, Back)] } else { &[] };
        if let Some(stopper) = stopper {
            stopper.join().unwrap();
        }
        let lived = cell.join().unwrap();
        assert_eq!(host.bell.rung(), 0, "a cell that runs is not woken");
        lived.outcome(1, gone)
    })
}

#[test]
fn a_launch_that_meets_a_message_wakes_the_host_once() {
    for priority in [High, Normal, Low] {
        assert_eq!(launch_and_send(None, priority), BTreeSet::from([Handled]), "{priority:?}");
    }
}

#[test]
fn a_launch_that_meets_a_message_and_an_end_wakes_the_host_once() {
    assert_eq!(launch_and_send(Some(Ending::Stop), Normal), BTreeSet::from([Handled, Rest, Back]));
    assert_eq!(launch_and_send(Some(Ending::Drain), Normal), BTreeSet::from([Handled, Back]));
}

#[test]
fn a_resident_cell_may_run_before_its_launch() {
    let outcomes = explore(|| {
        let mailbox = ModelMailbox::new(None);
        // A resident cell needs no host to wake it.
        let (bell, host) = (Bell::new(), Bell::new());
        let sender = beside(&mailbox, &host, |mailbox, host| {
            let gone = tell(mailbox, host, &[1]);
            wake(mailbox.signal(Ending::Drain), host);
            gone
        });
        let cell = thread::spawn({
            let (mailbox, bell) = (mailbox.clone(), bell.clone());
            move || Cell::new(&mailbox, &bell, At::Pending).live(usize::MAX)
        });
        wake(mailbox.launch(), &host);
        let gone = sender.join().unwrap();
        let lived = cell.join().unwrap();
        (lived.outcome(1, &gone), lived.woken)
    });
    assert_eq!(outcomes, BTreeSet::from([(Handled, 0), (Handled, 1), (Handled, 2)]));
}
