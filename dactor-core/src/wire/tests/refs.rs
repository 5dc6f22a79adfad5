//! Refs and paths as fields of messages.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Account, Deposit, Inside, account};
use crate::path::ActorPathParts;
use crate::wire::scope::enter;
use crate::wire::{Accepts, WantedRef, WireScope};
use crate::{ActorPath, ActorRef, Codec, Error, ErrorKind, Recipient, Result, System, WireCodec};

/// A node with one system.
struct Node(System);

impl WireScope for Node {
    fn path_of(&self, path: &ActorPath) -> Result<ActorPath> {
        let text = path.to_serialization_format().replace("pekko://testbed/", "pekko://testbed@here:1/");
        text.parse().map_err(|error| Error::new(ErrorKind::InvalidPath).because(error))
    }

    fn resolve(&self, path: &ActorPath, wanted: &mut dyn WantedRef) -> Result<()> {
        let local: ActorPath = path.to_serialization_format().replace("@here:1", "").parse().unwrap();
        let accepts = Accepts::<Account>::of()?;
        wanted.local(&self.0.find(&local)?, Some(&accepts))
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Nested {
    Refs { list: Vec<ActorRef<Account>>, map: BTreeMap<String, Option<Recipient<Deposit>>> },
    Path { path: ActorPath },
}

fn there_and_back(value: &Nested, codec: Codec) -> Result<Nested> {
    let wire = WireCodec::<Nested>::serde();
    let mut buffer = Vec::new();
    wire.encode(value, codec, &mut buffer)?;
    wire.decode(&buffer, codec)
}

#[tokio::test]
async fn refs_come_back_wherever_they_are() {
    let actor = account().await;
    let value = Nested::Refs {
        list: vec![actor.clone(), actor.clone()],
        map: [("a".to_owned(), Some(actor.recipient())), ("b".to_owned(), None)].into(),
    };
    let _scope = enter(Arc::new(Node(actor.system().clone())));
    for codec in [Codec::MessagePack, Codec::Json] {
        let back = there_and_back(&value, codec).unwrap();
        assert_eq!(back, value, "{codec:?}");
        let Nested::Refs { list, map } = back else { panic!("the same variant") };
        list[0].tell(Deposit { cents: 1 }).unwrap();
        map["a"].as_ref().unwrap().ask(Deposit { cents: 1 }).await.unwrap();
    }
    assert_eq!(actor.ask(Inside).await.unwrap(), 4);
}

#[tokio::test]
async fn a_path_gets_the_address_of_its_node() {
    let actor = account().await;
    let path = actor.path();
    let encoded = |path: &ActorPath| serde_json::to_string(path).unwrap();
    let plain = encoded(&path);
    let scope = enter(Arc::new(Node(actor.system().clone())));
    assert!(encoded(&path).starts_with("\"pekko://testbed@here:1/user/"), "{}", encoded(&path));
    let Nested::Path { path: back } =
        there_and_back(&Nested::Path { path: path.clone() }, Codec::Json).unwrap()
    else {
        panic!("the same variant")
    };
    assert_eq!(back.authority().map(|authority| authority.to_string()).as_deref(), Some("here:1"));
    assert_eq!(back.uid(), path.uid());
    drop(scope);
    assert_eq!(encoded(&path), plain, "outside of a scope it stays what it is");
    assert!(ActorPathParts::new("testbed").is_ok_and(|parts| path.is_in(&parts)));
}

#[tokio::test]
async fn without_a_scope_there_is_an_error() {
    let actor = account().await;
    let value = || Nested::Refs { list: vec![actor.clone()], map: BTreeMap::new() };
    let error = there_and_back(&value(), Codec::MessagePack).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::EncodeFailed);
    assert!(format!("{error:#}").contains("scope of a node"), "{error:#}");
    // Leaving a nested scope restores the outer one.
    let node = || Arc::new(Node(actor.system().clone()));
    let outer = enter(node());
    drop(enter(node()));
    assert!(there_and_back(&value(), Codec::MessagePack).is_ok());
    drop(outer);
    assert!(there_and_back(&value(), Codec::MessagePack).is_err());
}

#[tokio::test]
async fn a_ref_that_leads_nowhere_is_a_typed_error() {
    let actor = account().await;
    let _scope = enter(Arc::new(Node(actor.system().clone())));
    let wire = WireCodec::<Nested>::serde();
    for (path, kind) in [
        ("pekko://testbed/user/nobody", ErrorKind::NoSuchActor),
        ("pekko://gone/user/a", ErrorKind::Unresolved),
        ("nonsense", ErrorKind::InvalidPath),
        (&format!("{}#9", actor.path()), ErrorKind::WrongIncarnation),
    ] {
        let text = format!(r#"{{"kind":"Refs","list":["{path}"],"map":{{}}}}"#);
        let error = wire.decode(text.as_bytes(), Codec::Json).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DecodeFailed);
        assert_eq!(error.downcast_ref::<Error>().map(Error::kind), Some(kind), "{path}: {error:?}");
    }
    // An error that was ignored is not the cause of the next one.
    let unrelated = wire.decode(b"{}", Codec::Json).unwrap_err();
    assert!(unrelated.downcast_ref::<Error>().is_none(), "{unrelated:?}");
}

#[tokio::test]
async fn a_ref_of_another_type_is_refused() {
    use crate::interceptors::testbed::Echo;
    let actor = account().await;
    let other = actor.system().spawn(Echo).await.unwrap();
    let _scope = enter(Arc::new(Node(actor.system().clone())));
    let path = other.path().to_serialization_format();
    let texts = [
        format!(r#"{{"kind":"Refs","list":["{path}"],"map":{{}}}}"#),
        format!(r#"{{"kind":"Refs","list":[],"map":{{"a":"{path}"}}}}"#),
    ];
    for text in texts {
        let error = WireCodec::<Nested>::serde().decode(text.as_bytes(), Codec::Json).unwrap_err();
        let cause = error.downcast_ref::<Error>().unwrap();
        assert_eq!(cause.kind(), ErrorKind::WrongActorType, "{error:?}");
        assert!(cause.get("type").unwrap().ends_with("Echo") && cause.get("expected").is_some());
    }
}
