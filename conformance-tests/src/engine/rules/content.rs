//! What can be stored, under which ids, and how it is listed.

use bytes::Bytes;
use dactor_engine::{ClaimToken, EntityId, ErrorKind, Etag};

use super::body;
use crate::engine::context::{NAMESPACE, entity, refused};
use crate::engine::{EngineContext, EngineRule};

pub(super) static RULES: &[EngineRule] = &[
    EngineRule::must(
        "ENGINE-34",
        "A state of 1 MiB comes back as it was, and an empty one is not a cleared one.",
        "The engine stores bytes, and does not interpret them.",
        &["truncates", "takes-empty-for-cleared"],
        body!(sizes),
    ),
    EngineRule::must(
        "ENGINE-35",
        "Keys are compared byte by byte: unicode, case, spaces, wildcards and quotes are kept as they are.",
        "Two keys that differ in any way are two entities.",
        &["folds-case", "trims-keys"],
        body!(keys),
    ),
    EngineRule::must(
        "ENGINE-36",
        "Ids whose fields differ are different entities, also if they read the same with the delimiters `::` and `/`.",
        "A text made of the fields is not an identity.",
        &["joins-the-fields"],
        body!(delimiters),
    ),
    EngineRule::must(
        "ENGINE-37",
        "The same key in another namespace or of another type is another entity, with its own owner, fence and state.",
        "Clusters and actor types share a store without affecting each other.",
        &["ignores-namespaces", "ignores-types"],
        body!(isolation),
    ),
    EngineRule::must(
        "ENGINE-38",
        "A list has the keys of one type that have a state, each once, in the order of their bytes, page by page until there are no more.",
        "Work that was open at a crash is found by listing.",
        &["lists-cleared-states", "repeats-the-last-key", "ignores-the-limit", "lists-all-types"],
        body!(list),
    ),
];

async fn sizes(kit: EngineContext) {
    let engine = kit.open().await;
    let node = kit.join(&engine).await;
    let owned = kit.own(&engine, &node, &entity("large")).await;
    let large: Bytes =
        (0..1 << 20).map(|index: u32| (index.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let etag = owned.save(None, large.clone()).await.expect("a large save");
    assert!(owned.stored().await.body == Some(large.clone()), "the large state differs");
    let next = kit.own(&engine, &node, &entity("large")).await;
    assert!(next.opened.body == Some(large), "the large state differs after an open");
    next.save(Some(etag), Bytes::new()).await.expect("an empty save");
    assert_eq!(next.stored().await.body, Some(Bytes::new()), "the empty state");
    let reopened = kit.own(&engine, &node, &entity("large")).await;
    assert_eq!(reopened.opened.body, Some(Bytes::new()), "the empty state after an open");
    let page = engine.state.list(NAMESPACE, "Account", None, 10).await.expect("a list");
    assert_eq!(page.keys, ["large"], "the empty state in a list");
}

async fn keys(kit: EngineContext) {
    let keys = [
        "alice",
        "Alice",
        "ALICE",
        " alice",
        "alice ",
        "älice",
        "a\u{308}lice",
        "爱丽丝",
        "🦀",
        "%",
        "_",
        "*",
        "?",
        "'",
        "\"",
        "\\",
        "a'; DROP TABLE state; --",
        "\t",
        "\n",
        "\u{202e}",
        "\u{10ffff}",
        "a%",
        "a_",
        "0",
        "00",
    ];
    let engine = kit.open().await;
    let node = kit.join(&engine).await;
    let mut saved = Vec::new();
    for key in keys {
        let owned = kit.own(&engine, &node, &entity(key)).await;
        assert_eq!(owned.generation.get(), 1, "the first generation of {key:?}");
        let etag = owned.save(None, key).await;
        saved.push((owned, etag.unwrap_or_else(|error| panic!("{key:?}: {error}"))));
    }
    for (owned, etag) in saved {
        let stored = owned.stored().await;
        let expected = (Some(etag), Some(Bytes::copy_from_slice(owned.id.key().as_bytes())));
        assert_eq!((stored.etag, stored.body), expected, "{:?}", owned.id);
    }
    let page = engine.state.list(NAMESPACE, "Account", None, 100).await.expect("a list");
    let mut sorted = keys.map(str::to_owned).to_vec();
    sorted.sort();
    assert_eq!(page.keys, sorted);
    let longest = "k".repeat(EntityId::LONGEST - NAMESPACE.len() - "Account".len());
    let owned = kit.own(&engine, &node, &entity(&longest)).await;
    owned.save(None, "x").await.expect("a save under the longest key");
}

async fn delimiters(kit: EngineContext) {
    let engine = kit.open().await;
    let fields = [
        ("kit", "b/c", "d"),
        ("kit", "b", "c/d"),
        ("kit::b", "c", "d"),
        ("kit", "b::c", "d"),
        ("kit:", ":b", "d"),
        ("kit", "::b", "d"),
        ("kit/b", "c", "d"),
    ];
    let mut owners = Vec::new();
    for (namespace, actor_type, key) in fields {
        let id = EntityId::new(namespace, actor_type, key).expect("a valid id");
        let node = kit.join_in(namespace, &engine).await;
        let owned = kit.own(&engine, &node, &id).await;
        owned.save(None, format!("{id:?}")).await.unwrap_or_else(|error| panic!("{id:?}: {error}"));
        owners.push(owned);
    }
    for owned in owners {
        let body = owned.stored().await.body.expect("a state");
        assert_eq!(body, format!("{:?}", owned.id));
    }
}

async fn isolation(kit: EngineContext) {
    let engine = kit.open().await;
    let here = entity("alice");
    let other_type = EntityId::new(NAMESPACE, "Ledger", "alice").expect("a valid id");
    let other_namespace = EntityId::new("elsewhere", "Account", "alice").expect("a valid id");
    let (node, elsewhere) = (kit.join(&engine).await, kit.join_in("elsewhere", &engine).await);
    for _ in 0..3 {
        kit.own(&engine, &node, &here).await;
    }
    let owned = kit.own(&engine, &node, &here).await;
    let etag = owned.save(None, "here").await.expect("a save");
    for (id, node) in [(&other_type, &node), (&other_namespace, &elsewhere)] {
        assert_eq!(engine.directory.lookup(id).await.expect("a lookup"), None, "{id}");
        assert_eq!(engine.state.read(id).await.expect("a read"), None, "{id}");
        let other = kit.own(&engine, node, id).await;
        assert_eq!(other.generation.get(), 1, "the first generation of {id}");
        assert_eq!(other.opened.etag, None, "{id}");
        let save = engine.state.save(id, owned.generation, Some(etag), Etag::random(), "x".into()).await;
        refused(save, ErrorKind::Fenced, "a save with the generation of another entity");
        let open = engine.state.open(id, other.generation, ClaimToken::random()).await;
        refused(open, ErrorKind::Fenced, "an open with another token");
        other.save(None, "there").await.expect("a save");
    }
    assert_eq!(owned.stored().await.body.as_deref(), Some(&b"here"[..]));
}

async fn list(kit: EngineContext) {
    let engine = kit.open().await;
    let node = kit.join(&engine).await;
    let list = async |after: Option<String>, limit| {
        engine.state.list(NAMESPACE, "Account", after.as_deref(), limit).await.expect("a list")
    };
    let empty = list(None, 10).await;
    assert_eq!((empty.keys.len(), empty.next), (0, None));
    let mut expected = Vec::new();
    for number in 0..25 {
        let key = format!("key-{number:02}");
        let owned = kit.own(&engine, &node, &entity(&key)).await;
        match number % 5 {
            // Opened, and never saved.
            1 => continue,
            2 => {
                let etag = owned.save(None, "x").await.expect("a save");
                owned.clear(Some(etag)).await.expect("a clear");
                continue;
            }
            _ => owned.save(None, "x").await.expect("a save"),
        };
        expected.push(key);
    }
    let foreign = EntityId::new(NAMESPACE, "Ledger", "key-00x").expect("a valid id");
    kit.own(&engine, &node, &foreign).await.save(None, "x").await.expect("a save");
    for limit in [1, 2, 5, 14, 15, 16, 100] {
        let (mut keys, mut after, mut pages) = (Vec::new(), None, 0);
        loop {
            let page = list(after, limit).await;
            assert!(page.keys.len() <= limit, "{} keys with the limit {limit}", page.keys.len());
            keys.extend(page.keys);
            pages += 1;
            assert!(pages <= 100, "the list does not end");
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        assert_eq!(keys, expected, "with the limit {limit}");
    }
    assert_eq!(list(Some("key-03".into()), 1).await.keys, ["key-04"]);
    assert_eq!(list(Some("z".into()), 10).await.keys.len(), 0);
}
