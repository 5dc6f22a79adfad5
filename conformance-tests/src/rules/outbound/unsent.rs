//! Messages that outbound interceptors saw and that were not sent.

use std::future::{Future, poll_fn};
use std::task::Poll;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Overflow};

use crate::fixtures::interceptor::RecordingInterceptor;
use crate::fixtures::scripted::{ScriptedActor, reply_with, script, wait_at};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[Rule::must(
    "OUT-17",
    Topic::Outbound,
    &[(Topic::Outbound, State::Idle), (Topic::Outbound, State::Handling)],
    "Every message that `on_send` saw and that is not sent reaches `on_reply` once, with the reason: refused by the mailbox, dropped by its overflow policy, or given up or refused while it waits for room, whether it was told, sent, forwarded or asked. A told message that is sent does not reach `on_reply`.",
    "An interceptor can release what it acquired for a message.",
    body!(unsent),
)];

/// A reference to an actor with this mailbox, with one current and one queued message.
async fn full(
    rule: &RuleContext,
    overflow: Overflow,
    recorder: RecordingInterceptor,
) -> (ActorRef<ScriptedActor>, Gate) {
    let (gate, scripted) = (Gate::new(), rule.system().spawn(ScriptedActor::default()).bounded(1, overflow));
    let scripted = scripted.await.unwrap();
    scripted.tell(wait_at(&gate)).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    scripted.tell(reply_with(0)).unwrap();
    (scripted.outbound(recorder), gate)
}

/// Notes how a message ended, and whether it got through.
fn ending(journal: &Journal) -> RecordingInterceptor {
    let noted = journal.clone();
    RecordingInterceptor::new("a", &Journal::new()).on_end(move |completion| {
        let how = completion.error().map_or("ok".to_owned(), |error| format!("{:?}", error.kind()));
        noted.note(format!("{:?} {how} {}", completion.mode(), completion.got_through()));
    })
}

async fn unsent(rule: RuleContext) {
    let journal = Journal::new();
    let (scripted, gate) = full(&rule, Overflow::Reject, ending(&journal)).await;
    scripted.tell(reply_with(1)).unwrap_err();
    scripted.try_tell(reply_with(1)).unwrap_err();
    rule.soon("a send is refused", scripted.send(reply_with(1))).await.unwrap_err();
    scripted.ask(reply_with(1)).enqueue().unwrap_err();
    let to = scripted.clone();
    let router = scripted.system().spawn(ScriptedActor::default()).await.unwrap();
    let forwarded = router.ask(script(move |_, ctx| ctx.forward(&to, reply_with(1))));
    rule.soon("a forward is refused", forwarded).await.unwrap_err();
    let mut expected = ["Tell MailboxFull false"; 5];
    expected[3] = "Ask MailboxFull false";
    // The interceptor of the forwarding reference runs after the asker is answered.
    rule.soon("the forward is refused", journal.wait_len(5)).await;
    assert_eq!(journal.entries(), expected);
    gate.open();
    rule.soon("a send is accepted", async { while scripted.send(reply_with(1)).await.is_err() {} }).await;
    assert_eq!(rule.soon("an ask is answered", router.ask(reply_with(2))).await.unwrap(), 2);
    assert!(journal.entries()[5..].iter().all(|entry| entry == "Tell MailboxFull false"), "{journal:?}");

    let journal = Journal::new();
    let (scripted, gate) = full(&rule, Overflow::DropNewest, ending(&journal)).await;
    scripted.tell(reply_with(1)).unwrap();
    scripted.try_tell(reply_with(1)).unwrap();
    rule.soon("the send returns", scripted.send(reply_with(1))).await.unwrap();
    rule.soon("an ask is refused", scripted.ask(reply_with(1))).await.unwrap_err();
    assert_eq!(journal.entries()[..3], ["Tell MailboxFull false"; 3]);
    assert_eq!(journal.entries()[3..], ["Ask MailboxFull false"]);
    gate.open();

    // A sender waiting for room has not got through yet.
    let journal = Journal::new();
    let (scripted, gate) = full(&rule, Overflow::Block, ending(&journal)).await;
    let mut sends = [Box::pin(scripted.send(reply_with(1))), Box::pin(scripted.send(reply_with(1)))];
    for send in &mut sends {
        let waits = poll_fn(|cx| Poll::Ready(send.as_mut().poll(cx).is_pending())).await;
        assert!(waits && journal.is_empty());
    }
    let [given_up, refused] = sends;
    drop(given_up);
    scripted.kill();
    rule.soon("the sender gets the error", refused).await.unwrap_err();
    drop(gate);
    assert_eq!(journal.entries(), ["Tell Cancelled false", "Tell Stopped false"]);
}
