//! Saves and clears of the owner: conditional on the etag, and independent of each other.

use dactor_engine::{ErrorKind, Etag, Generation, Opened, Stored};
use tokio::task::JoinSet;

use super::body;
use crate::engine::context::{entity, refused};
use crate::engine::{EngineContext, EngineRule};

pub(super) static RULES: &[EngineRule] = &[
    EngineRule::must(
        "ENGINE-17",
        "A new state has neither etag nor body; a saved one has both, and a read shows them with the fence.",
        "The owner has to know whether it has ever saved.",
        &["read-hides-the-etag", "loads-an-old-body"],
        body!(load),
    ),
    EngineRule::must(
        "ENGINE-18",
        "A save or clear whose etag is not the stored one gets `Conflict` and changes nothing; no etag matches only a state that was never saved.",
        "A writer that does not know the present state must not replace it.",
        &["ignores-etags", "lets-no-etag-match"],
        body!(etags),
    ),
    EngineRule::must(
        "ENGINE-19",
        "Of the saves with the same etag at the same time, exactly one is applied, and the others get `Conflict`.",
        "The condition and the write are one step.",
        &["compares-etags-too-early"],
        body!(same_etag),
    ),
    EngineRule::must(
        "ENGINE-20",
        "A save or clear of a state that was never opened gets `NotFound`, and creates nothing.",
        "A row without a fence would accept any writer.",
        &["creates-on-save"],
        body!(never_opened),
    ),
    EngineRule::must(
        "ENGINE-21",
        "A cleared state has no body, and the etag of the clear, which the next save has to name.",
        "A clear is a write like any other.",
        &["clear-ignores-its-etag", "clear-keeps-the-body"],
        body!(clear),
    ),
    EngineRule::must(
        "ENGINE-22",
        "Saves that are refused do not affect the saves of other entities at the same time.",
        "An engine may commit many saves together; a conflict of one must not fail its neighbours.",
        &["fails-the-neighbours"],
        body!(neighbours),
    ),
];

async fn load(kit: EngineContext) {
    let (engine, other) = (kit.open().await, kit.open().await);
    let (node, id) = (kit.join(&engine).await, entity("alice"));
    assert_eq!(engine.state.read(&id).await.expect("a read"), None);
    let owned = kit.own(&engine, &node, &id).await;
    assert_eq!(owned.opened, Opened { etag: None, body: None });
    let mut etag = None;
    for body in ["one", "two", "three"] {
        etag = Some(owned.save(etag, body).await.expect("a save"));
        let stored = other.state.read(&id).await.expect("a read");
        assert_eq!(stored, Some(Stored { fence: owned.generation, etag, body: Some(body.into()) }));
    }
    let next = kit.own(&other, &node, &id).await;
    assert_eq!(next.opened, Opened { etag, body: Some("three".into()) });
}

async fn etags(kit: EngineContext) {
    let engine = kit.open().await;
    let node = kit.join(&engine).await;
    let owned = kit.own(&engine, &node, &entity("alice")).await;
    refused(owned.save(Some(Etag::random()), "y").await, ErrorKind::Conflict, "an etag for a new state");
    refused(owned.clear(Some(Etag::random())).await, ErrorKind::Conflict, "an etag for a new state");
    let etag = owned.save(None, "x").await.expect("the first save");
    let before = owned.stored().await;
    refused(owned.save(None, "y").await, ErrorKind::Conflict, "no etag for a saved state");
    refused(owned.clear(None).await, ErrorKind::Conflict, "no etag for a saved state");
    refused(owned.save(Some(Etag::random()), "y").await, ErrorKind::Conflict, "another etag");
    refused(owned.clear(Some(Etag::random())).await, ErrorKind::Conflict, "another etag");
    assert_eq!(owned.stored().await, before, "after the conflicts");
    let second = owned.save(Some(etag), "y").await.expect("the second save");
    refused(owned.save(Some(etag), "z").await, ErrorKind::Conflict, "the etag before the last");
    owned.save(Some(second), "z").await.expect("the third save");
}

async fn same_etag(kit: EngineContext) {
    let engine = kit.open().await;
    let node = kit.join(&engine).await;
    for round in 0..10 {
        let owned = kit.own(&engine, &node, &entity(&format!("raced-{round}"))).await;
        let mut saves = JoinSet::new();
        for task in 0..32_u8 {
            let owned = owned.clone();
            saves.spawn(async move { (task, owned.save(None, vec![task]).await) });
        }
        let mut winners = Vec::new();
        for (task, result) in saves.join_all().await {
            match result {
                Ok(etag) => winners.push((Some(etag), task)),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict, "{error}"),
            }
        }
        assert_eq!(winners.len(), 1, "the saves that were applied in round {round}");
        let stored = owned.stored().await;
        assert_eq!((stored.etag, stored.body), (winners[0].0, Some(vec![winners[0].1].into())));
    }
}

async fn never_opened(kit: EngineContext) {
    let engine = kit.open().await;
    let (id, generation) = (entity("alice"), Generation::FIRST);
    let save = engine.state.save(&id, generation, None, Etag::random(), "x".into()).await;
    refused(save, ErrorKind::NotFound, "a save");
    let clear = engine.state.clear(&id, generation, None, Etag::random()).await;
    refused(clear, ErrorKind::NotFound, "a clear");
    assert_eq!(engine.state.read(&id).await.expect("a read"), None);
}

async fn clear(kit: EngineContext) {
    let engine = kit.open().await;
    let (node, id) = (kit.join(&engine).await, entity("alice"));
    let owned = kit.own(&engine, &node, &id).await;
    let etag = owned.save(None, "x").await.expect("a save");
    let cleared = owned.clear(Some(etag)).await.expect("a clear");
    let stored = owned.stored().await;
    assert_eq!(stored, Stored { fence: owned.generation, etag: Some(cleared), body: None });
    refused(owned.save(None, "y").await, ErrorKind::Conflict, "a save as if it were new");
    refused(owned.save(Some(etag), "y").await, ErrorKind::Conflict, "the etag before the clear");
    let next = kit.own(&engine, &node, &id).await;
    assert_eq!(next.opened, Opened { etag: Some(cleared), body: None });
    next.save(Some(cleared), "y").await.expect("a save after the clear");
}

async fn neighbours(kit: EngineContext) {
    let engine = kit.open().await;
    let node = kit.join(&engine).await;
    let mut saves = JoinSet::new();
    for task in 0..300 {
        let id = entity(&format!("neighbour-{task:03}"));
        let old = kit.own(&engine, &node, &id).await;
        let owned = if task % 10 == 3 { kit.own(&engine, &node, &id).await } else { old.clone() };
        saves.spawn(async move {
            let (expected, result) = match task % 10 {
                3 => (Some(ErrorKind::Fenced), old.save(None, "x").await),
                5 => (Some(ErrorKind::Conflict), old.save(Some(Etag::random()), "x").await),
                7 => {
                    let mut unopened = old.clone();
                    unopened.id = entity(&format!("unopened-{task}"));
                    (Some(ErrorKind::NotFound), unopened.save(None, "x").await)
                }
                _ => (None, owned.save(None, "x").await),
            };
            (task, expected, result.err().map(|error| error.kind()))
        });
    }
    for (task, expected, found) in saves.join_all().await {
        assert_eq!(found, expected, "save {task}");
    }
}
