//! Messages sent to other processes.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use super::{Account, Deposit, Inside, OddReply};
use crate::base::label::Labelled;
use crate::delivery::ask_state::{AskState, GivenUp, Holder, Terms};
use crate::mailbox::slot::Slot;
use crate::path::{ActorPathParts, ActorUid, Guardian};
use crate::spi::{Envelope, FarAsk};
use crate::{ActorPath, Codec, CorrelationId, Error, ErrorKind, Headers, Message, Mode, Pid, SentTo};

fn state<M: Message>(message: M) -> Arc<AskState<M>> {
    Arc::new(AskState::new(message, Headers::default(), Terms::default(), None))
}

/// The remote actor; counts the asks that were abandoned.
struct Elsewhere(ActorPathParts, Mutex<usize>);

impl Labelled for Elsewhere {
    fn path(&self) -> ActorPath {
        ActorPath::new(&self.0, Guardian::User).unwrap()
    }

    fn pid(&self) -> Pid {
        Pid::NOBODY
    }

    fn uid(&self) -> ActorUid {
        ActorUid::new(1)
    }

    fn address(&self) -> &ActorPathParts {
        &self.0
    }

    fn actor_type(&self) -> &'static str {
        "Elsewhere"
    }

    fn queued(&self) -> usize {
        0
    }
}

impl Holder for Elsewhere {
    fn unread(&self, _: &'static str, _: Option<&Error>) {}

    fn withdraw(&self, give_up: &mut dyn FnMut() -> Option<Slot>) {
        *self.1.lock().unwrap() += 1;
        give_up();
    }

    fn asker_gone(&self) {}
}

fn give_up<M: Message>(state: &AskState<M>) -> (GivenUp<M>, usize) {
    let elsewhere = Arc::new(Elsewhere(ActorPathParts::new("far").unwrap(), Mutex::default()));
    let found = state.give_up_from(|| elsewhere.clone());
    let asked = *elsewhere.1.lock().unwrap();
    (found, asked)
}

fn poll<M: Message>(state: &AskState<M>) -> Poll<(crate::Result<M::Reply>, Headers)> {
    state.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn an_envelope_can_be_encoded_and_is_still_whole() {
    let mut headers = Headers::default();
    headers.insert(CorrelationId::new(1));
    let envelopes: [(Envelope<Account>, Mode, bool); 4] = [
        (Deposit { cents: 20 }.into_tell(Headers::default()), Mode::Tell, true),
        (Deposit { cents: 20 }.into_tell(headers), Mode::Tell, false),
        (Envelope::ask(state(Deposit { cents: 20 })), Mode::Ask, true),
        (Envelope::forward(Deposit { cents: 20 }, Headers::default(), state(Inside)), Mode::Ask, true),
    ];
    for (envelope, mode, bare) in envelopes {
        for _ in 0..2 {
            let mut buffer = b"before ".to_vec();
            envelope.encode(Codec::Json, &mut buffer).unwrap();
            assert_eq!(buffer, br#"before {"cents":20}"#);
        }
        assert_eq!(envelope.wire_name().unwrap(), "bank.Deposit");
        assert_eq!((envelope.mode(), envelope.headers().is_empty()), (mode, bare));
        assert_eq!(envelope.into_far_ask().is_some(), mode.has_caller());
    }
}

#[test]
fn a_message_without_a_wire_name_stays() {
    let envelopes: [Envelope<Account>; 3] = [
        Inside.into_tell(Headers::default()),
        Envelope::ask(state(Inside)),
        Envelope::forward(Inside, Headers::default(), state(Deposit { cents: 1 })),
    ];
    for envelope in envelopes {
        let mut buffer = Vec::new();
        let encoded = envelope.encode(Codec::MessagePack, &mut buffer).unwrap_err();
        for error in [encoded, envelope.wire_name().unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::NotRemotable);
            assert!(error.get("type").unwrap().ends_with("Account"), "{error}");
            assert!(error.get("message").unwrap().ends_with("Inside"), "{error}");
            assert!(!error.may_have_been_handled());
        }
        assert!(buffer.is_empty());
    }
}

#[test]
fn an_ask_that_leaves_is_answered_once() {
    let state = state(Deposit { cents: 20 });
    let far = Envelope::<Account>::ask(state.clone()).into_far_ask().unwrap();
    assert_eq!((far.wire_name(), far.mode(), far.is_gone()), (Some("bank.Deposit"), Mode::Ask, false));
    let mut buffer = Vec::new();
    far.encode(Codec::MessagePack, &mut buffer).unwrap();
    assert!(far.sent().unwrap().is_empty(), "it has no streams");
    assert!(far.sent().is_none(), "it leaves once");
    assert_eq!(far.encode(Codec::MessagePack, &mut buffer).unwrap_err().kind(), ErrorKind::Cancelled);
    let mut headers = Headers::default();
    headers.insert(CorrelationId::new(3));
    assert!(far.answer(b"20", Codec::Json, headers));
    assert!(!far.answer(b"21", Codec::Json, Headers::default()) && !far.fail(Error::new(ErrorKind::Failed)));
    let Poll::Ready((Ok(20), headers)) = poll(&state) else { panic!("the first answer") };
    assert_eq!(headers.get::<CorrelationId>(), Some(&CorrelationId::new(3)));
}

#[test]
fn a_reply_that_cannot_be_decoded_is_an_error_of_a_handled_message() {
    let state = state(Deposit { cents: 20 });
    let far: Arc<dyn FarAsk> = state.clone();
    assert!(far.answer(b"twenty", Codec::Json, Headers::default()));
    let Poll::Ready((Err(error), _)) = poll(&state) else { panic!("an error") };
    assert_eq!((error.kind(), error.may_have_been_handled()), (ErrorKind::DecodeFailed, true));
    assert!(
        error.get("message").unwrap().ends_with("Deposit") && error.get("value") == Some("u64"),
        "{error:?}"
    );
}

#[test]
fn an_asker_who_gives_up_takes_back_what_has_not_left() {
    let before = state(Deposit { cents: 20 });
    let (found, asked) = give_up(&before);
    assert!(matches!(found, GivenUp::Withdrawn(Deposit { cents: 20 })) && asked == 1);
    assert!(FarAsk::is_gone(&*before) && before.sent().is_none(), "it must not be sent");
    assert_eq!(before.encode(Codec::Json, &mut Vec::new()).unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(!FarAsk::answer(&*before, b"1", Codec::Json, Headers::default()));

    let after = state(Deposit { cents: 20 });
    after.sent().unwrap();
    let (found, asked) = give_up(&after);
    assert!(matches!(found, GivenUp::Claimed), "it may have been handled");
    assert_eq!(asked, 1, "the route learns that an asker has given up");
}

#[test]
fn a_forwarded_ask_is_answered_by_the_other_process() {
    let asker = state(Deposit { cents: 1 });
    let envelope: Envelope<Account> =
        Envelope::forward(Deposit { cents: 20 }, Headers::default(), asker.clone());
    let far = envelope.into_far_ask().unwrap();
    let mut buffer = Vec::new();
    far.encode(Codec::Json, &mut buffer).unwrap();
    assert_eq!(buffer, br#"{"cents":20}"#);
    far.sent().unwrap();
    assert!(far.sent().is_none());
    assert!(far.answer(b"20", Codec::Json, Headers::default()));
    assert!(matches!(poll(&asker), Poll::Ready((Ok(20), _))));
    assert!(!far.fail(Error::new(ErrorKind::Failed)));

    let gone = state(Deposit { cents: 1 });
    let envelope: Envelope<Account> =
        Envelope::forward(Deposit { cents: 20 }, Headers::default(), gone.clone());
    let far = envelope.into_far_ask().unwrap();
    drop(give_up(&gone));
    assert!(far.is_gone() && far.sent().is_none(), "it goes no further");
}

#[test]
fn an_unencodable_value_leaves_nothing_behind() {
    let mut buffer = b"before".to_vec();
    let wire = super::Odd::WIRE.unwrap();
    let error =
        crate::delivery::far_codec::encode(&wire.reply(), &OddReply, Codec::Json, &mut buffer).unwrap_err();
    assert_eq!((error.kind(), &*buffer), (ErrorKind::EncodeFailed, &b"before"[..]));
    assert!(format!("{error:#}").contains("an odd reply"), "{error:#}");
}
