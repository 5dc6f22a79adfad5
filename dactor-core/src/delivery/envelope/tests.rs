use std::any::type_name;

use super::*;
use crate::delivery::ask_state::Terms;
use crate::{Context, CorrelationId, Handler, Outcome, ReadContext, ReadHandler};

struct Nobody;
impl Actor for Nobody {}

struct Note;
impl Message for Note {
    type Reply = ();
    type Access = crate::Exclusive;

    fn describe(&self) -> Option<String> {
        Some("a note".to_owned())
    }
}

impl Handler<Note> for Nobody {
    async fn handle(&mut self, _: Note, _: &mut Context<Self>) -> Outcome<()> {
        Ok(())
    }
}

#[test]
fn an_envelope_is_three_words() {
    assert_eq!(size_of::<Envelope<Nobody>>(), 3 * size_of::<usize>());
}

#[test]
fn a_letter_says_what_is_in_it() {
    let mut headers = Headers::default();
    headers.insert(CorrelationId::new(1));
    let ask = || Arc::new(AskState::new(Note, Headers::default(), Terms::default(), None));
    let letters: [(&str, Envelope<Nobody>); 4] = [
        ("tell", Envelope::tell(Note, Headers::default())),
        ("with headers", Envelope::tell(Note, headers)),
        ("ask", Envelope::ask(ask())),
        ("forward", Envelope::forward(Note, Headers::default(), ask())),
    ];
    for (which, letter) in letters {
        assert!(letter.is_letter(), "{which}");
        assert!(!item::Item::is_notice(&letter), "{which} takes room");
        assert_eq!(letter.message_type(), type_name::<Note>(), "{which}");
        assert_eq!(letter.describe().as_deref(), Some("a note"), "{which}");
    }
}

macro_rules! reads {
    ($($message:ident: $access:ident),*) => {$(
        struct $message;
        impl Message for $message {
            type Reply = ();
            type Access = crate::$access;
        }

        impl ReadHandler<$message> for Nobody {
            async fn read(&self, _: $message, _: &ReadContext<Self>) -> Outcome<()> {
                Ok(())
            }
        }
    )*};
}

reads!(Look: Shared, Peek: Interleaved);

#[test]
fn an_envelope_says_how_its_message_shares_the_actor() {
    fn all<M: Message<Reply = ()>>(make: fn() -> M, expected: Sharing)
    where
        Nobody: Handles<M>,
    {
        let ask = || Arc::new(AskState::new(make(), Headers::default(), Terms::default(), None));
        let all: [Envelope<Nobody>; 3] = [
            Envelope::tell(make(), Headers::default()),
            Envelope::ask(ask()),
            Envelope::forward(make(), Headers::default(), ask()),
        ];
        for (at, envelope) in all.into_iter().enumerate() {
            assert_eq!(envelope.sharing(), expected, "{at}");
            assert!(envelope.is_letter() && !item::Item::is_notice(&envelope), "{at}");
            assert_eq!(item::Item::interleaves(&envelope), expected == Sharing::Interleaved, "{at}");
            assert_eq!(envelope.asker().is_some(), at > 0, "{at}");
            assert_eq!(envelope.share(&Nobody).is_some(), expected != Sharing::Exclusive, "{at}");
        }
    }
    all(|| Note, Sharing::Exclusive);
    all(|| Look, Sharing::Read);
    all(|| Peek, Sharing::Interleaved);
}
