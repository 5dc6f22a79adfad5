//! Messages that outbound interceptors saw and that were not sent.

use std::future::{Future, poll_fn};
use std::task::Poll;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Overflow};

use super::body;
use super::fixture::{Desk, Spy, give, pass, quick};
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[Rule::must(
    "OUT-17",
    Topic::Outbound,
    &[(Topic::Outbound, State::Idle), (Topic::Outbound, State::Handling)],
    "Every message that `on_send` saw and that is not sent comes to `on_reply` once, with the reason: refused by the mailbox, dropped by its policy, given up or refused while it waits for room, told, sent, forwarded or asked. One that is told and sent does not.",
    "What was taken for a message can be given back.",
    body!(unsent),
)];

/// A ref to a desk with this mailbox, of which one message is in hand and one waits.
async fn full(lab: &Lab, overflow: Overflow, spy: Spy) -> (ActorRef<Desk>, Gate) {
    let (gate, desk) = (Gate::new(), lab.system().spawn(Desk::default()).bounded(1, overflow));
    let desk = desk.await.unwrap();
    desk.tell(pass(&gate)).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    desk.tell(give(0)).unwrap();
    (desk.outbound(spy), gate)
}

/// Notes how a message ended, and whether it was sent.
fn ending(journal: &Journal) -> Spy {
    let noted = journal.clone();
    Spy::new("a", &Journal::new()).witness(move |completion| {
        let how = completion.error().map_or("ok".to_owned(), |error| format!("{:?}", error.kind()));
        noted.note(format!("{:?} {how} {}", completion.mode(), completion.got_through()));
    })
}

async fn unsent(lab: Lab) {
    let journal = Journal::new();
    let (desk, gate) = full(&lab, Overflow::Reject, ending(&journal)).await;
    desk.tell(give(1)).unwrap_err();
    desk.try_tell(give(1)).unwrap_err();
    lab.soon("a send is refused", desk.send(give(1))).await.unwrap_err();
    desk.ask(give(1)).enqueue().unwrap_err();
    let to = desk.clone();
    let router = desk.system().spawn(Desk::default()).await.unwrap();
    let forwarded = router.ask(quick(move |_, ctx| ctx.forward(&to, give(1))));
    lab.soon("a forward is refused", forwarded).await.unwrap_err();
    let mut expected = ["Tell MailboxFull false"; 5];
    expected[3] = "Ask MailboxFull false";
    // The forwarding actor's ref is told after the asker.
    lab.soon("the forward is over", journal.wait_len(5)).await;
    assert_eq!(journal.entries(), expected);
    gate.open();
    lab.soon("a send is accepted", async { while desk.send(give(1)).await.is_err() {} }).await;
    assert_eq!(lab.soon("an ask is answered", router.ask(give(2))).await.unwrap(), 2);
    assert!(journal.entries()[5..].iter().all(|entry| entry == "Tell MailboxFull false"), "{journal:?}");

    let journal = Journal::new();
    let (desk, gate) = full(&lab, Overflow::DropNewest, ending(&journal)).await;
    desk.tell(give(1)).unwrap();
    desk.try_tell(give(1)).unwrap();
    lab.soon("a send is over", desk.send(give(1))).await.unwrap();
    lab.soon("an ask is refused", desk.ask(give(1))).await.unwrap_err();
    assert_eq!(journal.entries()[..3], ["Tell MailboxFull false"; 3]);
    assert_eq!(journal.entries()[3..], ["Ask MailboxFull false"]);
    gate.open();

    // A sender that waits for room is not through before it has a place.
    let journal = Journal::new();
    let (desk, gate) = full(&lab, Overflow::Block, ending(&journal)).await;
    let mut sends = [Box::pin(desk.send(give(1))), Box::pin(desk.send(give(1)))];
    for send in &mut sends {
        let waits = poll_fn(|cx| Poll::Ready(send.as_mut().poll(cx).is_pending())).await;
        assert!(waits && journal.is_empty());
    }
    let [given_up, refused] = sends;
    drop(given_up);
    desk.kill();
    lab.soon("the sender is told", refused).await.unwrap_err();
    drop(gate);
    assert_eq!(journal.entries(), ["Tell Cancelled false", "Tell Stopped false"]);
}
