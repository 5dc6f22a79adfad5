//! What `#[message(wire = "..")]` adds to the derives.

use dactor::wire::{Accepts, Remote};
use dactor::{
    Actor, Codec, Context, Expand, ExpandHandler, Handler, Message, Outcome, Producer, Reduce, Transform,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize, Message)]
#[message(reply = u64, wire = "bank.Deposit")]
struct Deposit {
    cents: u64,
}

#[derive(Message)]
struct Inside;

#[derive(Serialize, Deserialize, Expand)]
#[message(item = String, wire = "bank.Statement")]
struct Statement;

#[derive(Serialize, Deserialize, Reduce)]
#[message(item = u64, reply = String, wire = "bank.Sum")]
struct Sum;

#[derive(Serialize, Deserialize, Transform)]
#[message(input = u8, output = u16, wire = "bank.Convert")]
struct Convert;

struct Account;
impl Actor for Account {}

impl Handler<Deposit> for Account {
    async fn handle(&mut self, deposit: Deposit, _: &mut Context<Self>) -> Outcome<u64> {
        Ok(deposit.cents)
    }
}

impl ExpandHandler<Statement> for Account {
    async fn expand(&mut self, _: Statement, out: Producer<String>, _: &mut Context<Self>) -> Outcome<()> {
        Ok(out.finish().await?)
    }
}

impl Remote for Account {
    const TYPE: &'static str = "bank.Account";

    fn accepts(messages: &mut Accepts<Self>) {
        messages.message::<Deposit>().expand::<Statement>();
    }
}

#[test]
fn a_message_with_a_wire_name_can_be_encoded() {
    let wire = Deposit::WIRE.unwrap();
    assert_eq!(wire.name(), "bank.Deposit");
    for codec in [Codec::MessagePack, Codec::Json] {
        let mut buffer = Vec::new();
        wire.message().encode(&Deposit { cents: 20 }, codec, &mut buffer).unwrap();
        assert_eq!(wire.message().decode(&buffer, codec).unwrap(), Deposit { cents: 20 });
        buffer.clear();
        wire.reply().encode(&7, codec, &mut buffer).unwrap();
        assert_eq!(wire.reply().decode(&buffer, codec).unwrap(), 7);
    }
    assert!(Inside::WIRE.is_none());
}

#[test]
fn items_have_codecs_of_their_own() {
    let expand = Statement::WIRE.unwrap();
    let mut buffer = Vec::new();
    expand.output().encode(&"line".to_owned(), Codec::Json, &mut buffer).unwrap();
    assert_eq!((expand.name(), &*buffer), ("bank.Statement", &b"\"line\""[..]));
    let (reduce, transform) = (Sum::WIRE.unwrap(), Convert::WIRE.unwrap());
    assert_eq!((reduce.name(), transform.name()), ("bank.Sum", "bank.Convert"));
    assert_eq!(transform.output().decode(b"300", Codec::Json).unwrap(), 300);
    assert_eq!(reduce.output().decode(b"\"s\"", Codec::Json).unwrap(), "s");
}

#[test]
fn an_actor_lists_what_it_accepts() {
    assert_eq!(Accepts::<Account>::of().unwrap().names(), ["bank.Deposit", "bank.Statement"]);
}
