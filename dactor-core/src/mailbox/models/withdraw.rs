//! Loom models: askers that give up while their message waits.

use super::*;
use crate::mailbox::slot::AtomicSlot;

/// An ask as seen by the mailbox, and whether its asker or its handler has it.
#[derive(Debug, Clone)]
struct Ask {
    number: u32,
    state: Arc<ModelAsk>,
}

#[derive(Debug)]
struct ModelAsk {
    slot: AtomicSlot,
    /// Stands for the message: taken by the first.
    message: AtomicBool,
}

impl Item for Ask {
    fn is_notice(&self) -> bool {
        false
    }

    fn slot(&self) -> Option<&AtomicSlot> {
        Some(&self.state.slot)
    }
}

impl Ask {
    fn new(number: u32) -> Self {
        let message = AtomicBool::new(true);
        Self { number, state: Arc::new(ModelAsk { slot: AtomicSlot::new(), message }) }
    }

    fn claim(&self) -> bool {
        self.state.message.swap(false, Ordering::AcqRel)
    }

    /// As `InFlight::give_up` does. Returns whether the asker got the message back.
    fn give_up(&self, mailbox: &Mailbox<Self>, host: &Bell) -> bool {
        let mut back = false;
        wake(
            mailbox.withdraw(&mut || {
                back = self.claim();
                if back { self.state.slot.withdraw() } else { None }
            }),
            host,
        );
        back
    }
}

fn bounded(capacity: usize, overflow: Overflow) -> Arc<Mailbox<Ask>> {
    launched(Some(Limit { capacity, overflow, shed: None }))
}

fn launched(limit: Option<Limit>) -> Arc<Mailbox<Ask>> {
    let mailbox = Mailbox::new(limit);
    assert!(matches!(mailbox.launch(), Wakeup::None));
    Arc::new(mailbox)
}

fn push(mailbox: &Mailbox<Ask>, host: &Bell, ask: &Ask) -> Option<Ticket> {
    let (wakeup, ticket) = mailbox.push_or_join(ask.clone(), Normal, None).expect("it is open");
    wake(wakeup, host);
    ticket
}

/// Takes once, as a cell that does not wait, and claims the messages it finds.
fn take(mailbox: &Mailbox<Ask>) -> Vec<u32> {
    let mut batch = Queue::new();
    mailbox.take(&mut batch, Park::Native);
    batch.filter(Ask::claim).map(|ask| ask.number).collect()
}

/// No counter has a leftover.
fn assert_empty(mailbox: &Mailbox<Ask>) {
    let inner = mailbox.lock();
    assert_eq!((inner.len(), inner.withdrawn), (0, 0));
}

#[test]
fn an_ask_is_taken_or_withdrawn() {
    for limit in [None, Some(Limit { capacity: 2, overflow: Overflow::Reject, shed: None })] {
        let outcomes = explore(move || {
            let (mailbox, host) = (launched(limit), Bell::new());
            let (ask, other) = (Ask::new(0), Ask::new(1));
            assert!(push(&mailbox, &host, &ask).is_none() && push(&mailbox, &host, &other).is_none());
            let asker = thread::spawn({
                let (mailbox, host, ask) = (mailbox.clone(), host.clone(), ask.clone());
                move || ask.give_up(&mailbox, &host)
            });
            let mut handled = take(&mailbox);
            handled.extend(take(&mailbox));
            let back = asker.join().unwrap();
            handled.extend(take(&mailbox));
            assert_empty(&mailbox);
            assert!(handled.ends_with(&[1]));
            assert_eq!(handled.contains(&0), !back, "one of them has it");
            back
        });
        assert_eq!(outcomes, BTreeSet::from([false, true]));
    }
}

#[test]
fn an_ask_is_refused_or_withdrawn_when_the_mailbox_closes() {
    let outcomes = explore(|| {
        let (mailbox, host) = (launched(None), Bell::new());
        let ask = Ask::new(0);
        assert!(push(&mailbox, &host, &ask).is_none());
        let asker = thread::spawn({
            let (mailbox, host, ask) = (mailbox.clone(), host.clone(), ask.clone());
            move || ask.give_up(&mailbox, &host)
        });
        let left = mailbox.close().count();
        let back = asker.join().unwrap();
        assert_empty(&mailbox);
        assert!(left == 1 || back, "it is in the rest, or its asker has it");
        (left, back)
    });
    // A message in the rest can still be withdrawn, before it is refused.
    assert_eq!(outcomes, BTreeSet::from([(0, true), (1, true)]));
}

#[test]
fn a_withdrawal_lets_the_next_in_at_once() {
    let outcomes = explore(|| {
        let (mailbox, host) = (bounded(1, Overflow::Block), Bell::new());
        let asks = [0, 1, 2].map(Ask::new);
        assert!(push(&mailbox, &host, &asks[0]).is_none());
        assert!(push(&mailbox, &host, &asks[1]).is_some() && push(&mailbox, &host, &asks[2]).is_some());
        // The first is queued, the second in line.
        let askers = [0, 1].map(|at| {
            let (mailbox, host, ask) = (mailbox.clone(), host.clone(), asks[at].clone());
            thread::spawn(move || ask.give_up(&mailbox, &host))
        });
        let mut handled = take(&mailbox);
        let backs = askers.map(|asker| asker.join().unwrap());
        // In any case, the last one has room now, or was admitted.
        assert!(mailbox.len() <= 1, "over capacity");
        (0..2).for_each(|_| handled.extend(take(&mailbox)));
        assert_empty(&mailbox);
        assert_eq!(handled.last(), Some(&2));
        for at in [0, 1] {
            assert_eq!(handled.contains(&(at as u32)), !backs[at], "one of them has {at}");
        }
        (handled, backs)
    });
    let expected = [
        (vec![2], [true, true]),
        (vec![0, 2], [false, true]),
        (vec![1, 2], [true, false]),
        (vec![0, 1, 2], [false, false]),
    ];
    assert!(outcomes.iter().all(|outcome| expected.contains(outcome)), "{outcomes:?}");
    assert!(outcomes.contains(&expected[0]) && outcomes.contains(&expected[1]));
}

#[test]
fn room_that_a_withdrawal_makes_is_given_once() {
    let outcomes = explore(|| {
        let (mailbox, host) = (bounded(1, Overflow::Reject), Bell::new());
        let ask = Ask::new(0);
        assert!(push(&mailbox, &host, &ask).is_none());
        let senders = [1, 2].map(|number| {
            let (mailbox, host) = (mailbox.clone(), host.clone());
            thread::spawn(move || match mailbox.push(Ask::new(number), Normal) {
                Ok(wakeup) => {
                    wake(wakeup, &host);
                    true
                }
                Err(_) => false,
            })
        });
        assert!(ask.give_up(&mailbox, &host));
        let sent = senders.map(|sender| sender.join().unwrap());
        assert_eq!(mailbox.len(), usize::from(sent != [false, false]), "over capacity");
        sent
    });
    let expected = [[false, false], [false, true], [true, false]];
    assert_eq!(outcomes, BTreeSet::from(expected));
}
