//! Malformed input is rejected with typed errors that name the cause.

use serde::{Deserialize, Serialize};

use super::{Account, Deposit};
use crate::wire::Body;
use crate::wire::{
    Accepts, Call, EncodedHeaders, Frame, HeaderDecoders, MAX_DEPTH, MAX_HEADERS, Remote, Target,
    decode_error, encode_error,
};
use crate::{
    Actor, Codec, Context, Deadline, Error, ErrorKind, Exclusive, Handler, Header, Headers, MAX_WIRE_NAME,
    Message, Outcome, Result, Wire, WireCodec,
};

macro_rules! named {
    ($($message:ident, $name:expr;)*) => {
        $(
            #[derive(Serialize, Deserialize)]
            struct $message;
            impl Message for $message {
                type Reply = ();
                type Access = Exclusive;
                const WIRE: Option<Wire<Self>> = Some(Wire::serde($name));
            }
            impl Handler<$message> for Bad {
                async fn handle(&mut self, _: $message, _: &mut Context<Self>) -> Outcome<()> {
                    Ok(())
                }
            }
        )*
    };
}

struct Bad;
impl Actor for Bad {}

const LONGEST: &str = include_str!("longest_name.txt");

named! {
    One, "same";
    Other, "same";
    Empty, "";
    Longest, LONGEST;
    Fine, "fine";
}

impl Remote for Bad {
    const TYPE: &'static str = "bad";

    fn accepts(messages: &mut Accepts<Self>) {
        CHOICE.with(|choice| choice.get()(messages));
    }
}

thread_local! {
    static CHOICE: std::cell::Cell<fn(&mut Accepts<Bad>)> = const { std::cell::Cell::new(|_| {}) };
}

fn listed(list: fn(&mut Accepts<Bad>)) -> Result<Accepts<Bad>> {
    CHOICE.with(|choice| choice.set(list));
    Accepts::of()
}

#[test]
fn wire_names_are_checked() {
    assert_eq!(LONGEST.len(), MAX_WIRE_NAME + 1);
    let error = |list| {
        let error = listed(list).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidWireName);
        assert!(error.get("type").unwrap().ends_with("Bad"), "{error:?}");
        error
    };
    let twice = error(|messages| _ = messages.message::<One>().message::<Other>());
    assert_eq!(twice.get("wire name"), Some("same"));
    assert!(twice.get("message").unwrap().ends_with("Other") && twice.get("other").unwrap().ends_with("One"));
    let itself = error(|messages| _ = messages.message::<Fine>().message::<Fine>());
    assert_eq!(itself.get("wire name"), Some("fine"));
    let empty = error(|messages| _ = messages.message::<Fine>().message::<Empty>());
    assert!(
        empty.get("because").unwrap().contains("empty") && empty.get("message").unwrap().ends_with("Empty")
    );
    let long = error(|messages| _ = messages.message::<Longest>());
    assert_eq!((long.get("bytes"), long.get("limit")), (Some("256"), Some("255")));
    assert_eq!(listed(|messages| _ = messages.message::<Fine>()).unwrap().names(), ["fine"]);
}

struct Unnamed;
impl Actor for Unnamed {}
impl Remote for Unnamed {
    const TYPE: &'static str = "";
}

#[test]
fn a_type_of_actors_has_a_name() {
    assert_eq!(Accepts::<Unnamed>::of().unwrap_err().kind(), ErrorKind::InvalidWireName);
}

#[test]
fn an_unknown_message_is_named_with_its_actor() {
    let accepts = Accepts::<Account>::of().unwrap();
    let error = accepts.open("bank.Withdraw", super::tell(b"null")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownMessage);
    assert_eq!((error.get("type"), error.get("wire name")), (Some("bank.Account"), Some("bank.Withdraw")));
}

/// A recursive type, nested as deep as its input.
#[derive(Debug, Serialize, Deserialize)]
enum Deep {
    End,
    More(Box<Deep>),
}

#[derive(Debug, Serialize, Deserialize)]
struct Wrapped(Vec<Wrapped>);

fn deep(levels: usize) -> Deep {
    (0..levels).fold(Deep::End, |deep, _| Deep::More(Box::new(deep)))
}

#[test]
fn nesting_has_a_limit() {
    let wire = WireCodec::<Deep>::serde();
    for codec in [Codec::MessagePack, Codec::Json] {
        for (levels, fits) in [(MAX_DEPTH - 1, true), (MAX_DEPTH, false)] {
            let mut buffer = Vec::new();
            wire.encode(&deep(levels), codec, &mut buffer).unwrap();
            let decoded = wire.decode(&buffer, codec);
            assert_eq!(decoded.is_ok(), fits, "{codec:?} {levels}: {decoded:?}");
        }
    }
    // Far below the limit of a frame, and far beyond that of the stack.
    let bombs: [(Codec, Vec<u8>); 3] = [
        (Codec::MessagePack, b"\x81\xa4More".repeat(100_000)),
        (Codec::MessagePack, vec![0x91; 100_000]),
        (Codec::Json, br#"{"More":"#.repeat(100_000)),
    ];
    for (codec, bomb) in bombs {
        let error = wire.decode(&bomb, codec).unwrap_err();
        assert_eq!((error.kind(), error.get("codec")), (ErrorKind::DecodeFailed, Some(codec.name())));
        let text = format!("{error:#}");
        assert!(
            ["nested", "recursion", "ends inside", "invalid type: sequence"]
                .iter()
                .any(|why| text.contains(why)),
            "{text}"
        );
        assert!(WireCodec::<Wrapped>::serde().decode(&bomb, codec).is_err());
    }
}

#[test]
fn a_payload_is_one_whole_value() {
    let wire = Deposit::WIRE.unwrap().message();
    let mut whole = Vec::new();
    wire.encode(&Deposit { cents: 300 }, Codec::MessagePack, &mut whole).unwrap();
    for cut in 0..whole.len() {
        assert_eq!(
            wire.decode(&whole[..cut], Codec::MessagePack).unwrap_err().kind(),
            ErrorKind::DecodeFailed
        );
    }
    whole.push(0);
    let error = wire.decode(&whole, Codec::MessagePack).unwrap_err();
    assert!(format!("{error:#}").contains("more follows"), "{error:#}");
    assert!(error.get("value").unwrap().ends_with("Deposit"));
    // Fields have names: their order is irrelevant, and an additional field is ignored.
    let newer = rmp_serde::to_vec_named(&serde_json::json!({"note": "x", "cents": 7})).unwrap();
    assert_eq!(wire.decode(&newer, Codec::MessagePack).unwrap(), Deposit { cents: 7 });
}

#[derive(Clone, Debug, PartialEq)]
struct Tenant(String);

impl Header for Tenant {
    const NAME: &'static str = "tenant";

    fn encode(&self) -> Option<String> {
        Some(self.0.clone())
    }

    fn decode(text: &str) -> Result<Self> {
        assert!(text != "panic", "a header that panics");
        Ok(Self(text.to_owned()))
    }
}

#[test]
fn headers_of_users_survive() {
    let mut headers = Headers::default();
    headers.insert(Tenant("acme".into()));
    headers.insert_raw("opaque", [0xff, 0x00]);
    let encoded = EncodedHeaders::of(&headers).unwrap();
    let unaware = HeaderDecoders::default().decode(encoded.as_raw()).unwrap();
    assert_eq!((unaware.get::<Tenant>(), unaware.get_raw("tenant")), (None, Some(&b"acme"[..])));
    // Forwarded by a process that does not know the headers, and decoded by a process that does.
    let passed_on = EncodedHeaders::of(&unaware).unwrap();
    let mut decoders = HeaderDecoders::default();
    decoders.register::<Tenant>().unwrap();
    let aware = decoders.decode(passed_on.as_raw()).unwrap();
    assert_eq!(aware.get::<Tenant>(), Some(&Tenant("acme".into())));
    assert_eq!(aware.get_raw("opaque"), Some(&[0xff, 0x00][..]));
}

#[test]
fn headers_have_limits() {
    let invalid = |error: Error, name: &str| {
        assert_eq!((error.kind(), error.get("header")), (ErrorKind::InvalidHeader, Some(name)), "{error:?}");
    };
    let mut decoders = HeaderDecoders::default();
    decoders.register::<Tenant>().unwrap();
    invalid(decoders.register::<Tenant>().unwrap_err(), "tenant");
    invalid(decoders.register::<Deadline>().unwrap_err(), "deadline");

    let mut headers = Headers::default();
    headers.insert_raw("large", vec![0; Headers::MAX_BYTES + 1]);
    invalid(EncodedHeaders::of(&headers).unwrap_err(), "large");
    let mut headers = Headers::default();
    (0..=MAX_HEADERS).for_each(|index| headers.insert_raw(format!("h{index}"), *b"x"));
    invalid(EncodedHeaders::of(&headers).unwrap_err(), "h64");
    let mut headers = Headers::default();
    headers.insert_raw("n".repeat(256), *b"x");
    invalid(EncodedHeaders::of(&headers).unwrap_err(), &"n".repeat(256));
    for (name, value) in [("deadline", &b"soon"[..]), ("tenant", b"panic"), ("tenant", b"\xff")] {
        let mut headers = Headers::default();
        headers.insert_raw(name, value);
        let encoded = EncodedHeaders::of(&headers).unwrap();
        invalid(decoders.decode(encoded.as_raw()).unwrap_err(), name);
    }
}

#[test]
fn what_does_not_fit_into_a_frame_is_refused() {
    let path = |path| Target::Path { path, uid: None };
    let long = "p".repeat(70_000);
    let encode = |call: Call<'_>| {
        let mut buffer = Vec::new();
        let encoded = Frame { correlation: 1, body: Body::OneWay(call) }.encode(&mut buffer);
        assert!(buffer.is_empty() || encoded.is_ok());
        encoded.map_err(|error| error.kind())
    };
    assert_eq!(encode(Call::new(path("p"), "n")), Ok(()));
    assert_eq!(encode(Call::new(path("p"), "")), Err(ErrorKind::InvalidWireName));
    assert_eq!(encode(Call::new(path("p"), LONGEST)), Err(ErrorKind::InvalidWireName));
    assert_eq!(encode(Call::new(path(&long), "n")), Err(ErrorKind::InvalidPath));
    assert_eq!(encode(Call::new(Target::Id(""), "n")), Err(ErrorKind::InvalidPath));
    assert_eq!(
        encode(Call { sender: Some(&long), ..Call::new(path("p"), "n") }),
        Err(ErrorKind::InvalidPath)
    );
}

fn over_the_wire(error: &Error) -> Error {
    let mut payload = Vec::new();
    encode_error(error, &mut payload);
    decode_error(&payload).unwrap()
}

#[test]
fn every_kind_of_error_survives() {
    for kind in ErrorKind::ALL {
        for error in [Error::new(*kind).unhandled(), Error::new(*kind).perhaps_handled()] {
            let back = over_the_wire(&error);
            assert_eq!(back.kind(), *kind);
            assert_eq!(back.may_have_been_handled(), error.may_have_been_handled(), "{kind:?}");
        }
    }
    let error = Error::new(ErrorKind::Failed)
        .with("actor", "pekko://bank/user/a")
        .with("message", "Deposit")
        .with_retry_after(std::time::Duration::from_millis(1500))
        .because(Error::new(ErrorKind::Panicked).because("index out of bounds"));
    let back = over_the_wire(&error);
    assert_eq!((format!("{back:?}"), format!("{back:#}")), (format!("{error:?}"), format!("{error:#}")));
    assert_eq!(back.retry_after(), error.retry_after());
    assert_eq!(format!("{:?}", over_the_wire(&back)), format!("{error:?}"), "also the second time");
}

#[test]
fn a_kind_of_a_newer_version_keeps_its_name() {
    let mut payload = Vec::new();
    encode_error(&Error::new(ErrorKind::Failed).with("actor", "a"), &mut payload);
    let newer = String::from_utf8(payload).unwrap().replace("\u{6}failed", "\u{6}frozen").into_bytes();
    let error = decode_error(&newer).unwrap();
    assert_eq!(
        (error.kind(), error.get("kind"), error.get("actor")),
        (ErrorKind::Other, Some("frozen"), Some("a"))
    );
    assert!(error.may_have_been_handled(), "as the other process said");
    let mut again = Vec::new();
    encode_error(&error, &mut again);
    assert_eq!(again, newer, "passed on as it came");
}

#[test]
fn texts_of_errors_are_cut() {
    let long = "é".repeat(50_000);
    let mut error = Error::new(ErrorKind::Failed).with("reason", &long).because(long.clone());
    for _ in 0..100 {
        error = error.with("reason", "x");
    }
    let mut payload = Vec::new();
    encode_error(&error, &mut payload);
    assert!(payload.len() < 10_000, "{}", payload.len());
    let back = decode_error(&payload).unwrap();
    assert_eq!((back.get("reason").map(str::len), back.context().count()), (Some(4096), 64));
}
