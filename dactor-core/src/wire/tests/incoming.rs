//! Received messages: each ask is answered exactly once.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::{Account, Back, Inside, account, ask, open, tell};
use crate::interceptors::testbed::system;
use crate::wire::deliver;
use crate::{ActorRef, CorrelationId, Delivery, ErrorKind, Headers, Inbound, Overflow, Priority, Verdict};

fn send(actor: &ActorRef<Account>, name: &str, payload: &[u8], back: &Arc<Back>) {
    let opened = open(name, ask(payload, back)).unwrap();
    deliver(actor, opened.envelope, Priority::Normal).unwrap();
}

#[tokio::test]
async fn an_ask_is_answered_with_the_encoded_reply() {
    let (actor, back) = (account().await, Arc::new(Back::default()));
    send(&actor, "bank.Deposit", br#"{"cents":20}"#, &back);
    let (correlation, answer, headers) = back.next().await;
    assert_eq!((correlation, answer.unwrap(), headers.is_empty()), (7, b"20".to_vec(), true));
    let told = open("bank.Deposit", tell(br#"{"cents":1}"#)).unwrap();
    assert!(told.ask.is_none());
    deliver(&actor, told.envelope, Priority::Normal).unwrap();
    assert_eq!(actor.ask(Inside).await.unwrap(), 21);
    assert!(back.now().is_none(), "one answer for one ask");
}

#[tokio::test]
async fn what_goes_wrong_is_answered_once() {
    let (actor, back) = (account().await, Arc::new(Back::default()));
    for (name, payload, kind, handled) in [
        ("bank.Fault", &br#""Fail""#[..], ErrorKind::Failed, true),
        ("bank.Odd", b"null", ErrorKind::EncodeFailed, true),
        ("bank.Fault", br#""Panic""#, ErrorKind::Panicked, true),
        // The panic has stopped the actor.
        ("bank.Deposit", br#"{"cents":20}"#, ErrorKind::Stopped, false),
    ] {
        if kind == ErrorKind::Stopped {
            actor.wait().await.unwrap();
            let opened = open(name, ask(payload, &back)).unwrap();
            deliver(&actor, opened.envelope, Priority::Normal).unwrap_err();
        } else {
            send(&actor, name, payload, &back);
        }
        let error = back.error().await;
        assert_eq!((error.kind(), error.may_have_been_handled()), (kind, handled), "{error:?}");
        assert!(error.get("message").is_some(), "{error:?}");
        assert!(back.now().is_none(), "{kind:?}: one answer for one ask");
    }
}

#[tokio::test]
async fn an_ask_that_cannot_be_opened_has_been_answered() {
    let back = Arc::new(Back::default());
    for (name, payload, kind) in [
        ("bank.Inside", &b"null"[..], ErrorKind::UnknownMessage),
        ("bank.Deposit", b"{}", ErrorKind::DecodeFailed),
    ] {
        let error = open(name, ask(payload, &back)).unwrap_err();
        let answered = back.error().await;
        for error in [error, answered] {
            assert_eq!((error.kind(), error.get("type")), (kind, Some("bank.Account")), "{error:?}");
            assert!(!error.may_have_been_handled());
        }
        assert!(back.now().is_none(), "{kind:?}");
    }
}

#[tokio::test]
async fn an_ask_that_is_dropped_is_answered() {
    let back = Arc::new(Back::default());
    drop(open("bank.Deposit", ask(br#"{"cents":20}"#, &back)).unwrap());
    assert_eq!(back.error().await.kind(), ErrorKind::NoReply);
    assert!(back.now().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_late_ask_is_not_handled() {
    let (actor, back) = (account().await, Arc::new(Back::default()));
    let mut late = ask(br#"{"cents":20}"#, &back);
    late.deadline = Some(Instant::now());
    let opened = open("bank.Deposit", late).unwrap();
    tokio::time::advance(Duration::from_millis(1)).await;
    deliver(&actor, opened.envelope, Priority::Normal).unwrap();
    let error = back.error().await;
    assert_eq!((error.kind(), error.may_have_been_handled()), (ErrorKind::Timeout, false));
    assert_eq!(actor.ask(Inside).await.unwrap(), 0);
}

#[tokio::test]
async fn a_cancelled_ask_leaves_the_mailbox_and_is_not_answered() {
    let gate = Arc::new(Notify::new());
    let busy = Account { balance: 0, gate: Some(gate.clone()) };
    let system = system(|builder| builder);
    let actor = system.spawn(busy).bounded(1, Overflow::Reject).await.unwrap();
    let back = Arc::new(Back::default());
    let running = open("bank.Fault", ask(br#""Wait""#, &back)).unwrap();
    deliver(&actor, running.envelope, Priority::Normal).unwrap();
    gate.notified().await;
    let waiting = open("bank.Deposit", ask(br#"{"cents":20}"#, &back)).unwrap();
    deliver(&actor, waiting.envelope, Priority::Normal).unwrap();
    let refused = open("bank.Deposit", ask(br#"{"cents":9}"#, &back)).unwrap();
    deliver(&actor, refused.envelope, Priority::Normal).unwrap_err();
    assert_eq!(back.error().await.kind(), ErrorKind::MailboxFull);

    waiting.ask.unwrap().cancel();
    assert_eq!(actor.queued(), Some(0), "it takes no room");
    let third = open("bank.Deposit", ask(br#"{"cents":1}"#, &back)).unwrap();
    deliver(&actor, third.envelope, Priority::Normal).unwrap();
    // The handler learns that the caller has given up.
    running.ask.unwrap().cancel();
    gate.notified().await;
    assert_eq!(back.next().await.1.unwrap(), b"1", "the cancelled ones are not answered");
    assert!(back.now().is_none());
}

#[tokio::test]
async fn an_ask_that_is_cancelled_before_it_is_delivered_goes_no_further() {
    let (actor, back) = (account().await, Arc::new(Back::default()));
    let opened = open("bank.Deposit", ask(br#"{"cents":20}"#, &back)).unwrap();
    opened.ask.unwrap().cancel();
    let _ = deliver(&actor, opened.envelope, Priority::Normal);
    assert_eq!(actor.ask(Inside).await.unwrap(), 0);
    assert!(back.now().is_none());
}

/// Adds a header to each reply, and keeps the reply until then.
struct Stamp;

impl Inbound for Stamp {
    fn on_receive(&self, delivery: &mut Delivery<'_>) -> Verdict {
        assert!(delivery.headers().get_raw("tenant").is_some(), "headers come with the message");
        Verdict::Continue
    }

    fn on_complete(&self, completion: &mut crate::Completion<'_>) {
        completion.set_reply_header(CorrelationId::new(9));
    }
}

#[tokio::test]
async fn headers_travel_both_ways() {
    let system = system(|builder| builder);
    let actor = system.spawn(Account::default()).inbound(Stamp).await.unwrap();
    let back = Arc::new(Back::default());
    let mut asked = ask(br#"{"cents":20}"#, &back);
    let mut headers = Headers::default();
    headers.insert_raw("tenant", *b"acme");
    asked.headers = headers;
    let opened = open("bank.Deposit", asked).unwrap();
    deliver(&actor, opened.envelope, Priority::Normal).unwrap();
    let (_, answer, headers) = back.next().await;
    assert_eq!(answer.unwrap(), b"20");
    assert_eq!(headers.get::<CorrelationId>(), Some(&CorrelationId::new(9)));
    assert!(back.now().is_none());
}
