//! Fences: only the newest generation reads for writing, and writes.

use dactor_engine::{ClaimToken, ErrorKind, Etag, Opened, Stored};

use super::body;
use crate::engine::context::{entity, refused};
use crate::engine::{EngineContext, EngineRule};

pub(super) static RULES: &[EngineRule] = &[
    EngineRule::must(
        "ENGINE-12",
        "An open with a lower generation than the fence gets `Fenced`, and leaves the fence as it was.",
        "An old owner that wakes up late must not lock out the new one.",
        &["opens-for-old-generations"],
        body!(lower_generation),
    ),
    EngineRule::must(
        "ENGINE-13",
        "An open with the generation and token of the fence loads the state again; with the generation and another token it gets `Fenced`.",
        "The first answer was lost, or the generation belongs to another activation.",
        &["refuses-repeated-opens", "ignores-open-tokens"],
        body!(same_generation),
    ),
    EngineRule::must(
        "ENGINE-14",
        "No save of an older generation is applied after an open has loaded the state.",
        "The new owner would lose the late save, or overwrite it: open raises the fence and loads in one step.",
        &["opens-in-two-steps"],
        body!(one_step),
    ),
    EngineRule::must(
        "ENGINE-15",
        "A save or clear with another generation than the fence, lower or higher, gets `Fenced` and changes nothing.",
        "A stale writer must not write after a takeover, and a new owner only after its open.",
        &["ignores-the-fence", "saves-for-higher-generations"],
        body!(other_generation),
    ),
    EngineRule::must(
        "ENGINE-16",
        "A clear keeps the fence: afterwards saves and opens of older generations get `Fenced`.",
        "If the row were deleted, an old owner would create the state anew.",
        &["clears-the-fence"],
        body!(clear_keeps_the_fence),
    ),
];

async fn lower_generation(kit: EngineContext) {
    let engine = kit.open().await;
    let (node, id) = (kit.join(&engine).await, entity("alice"));
    let old = kit.own(&engine, &node, &id).await;
    let new = kit.own(&engine, &node, &id).await;
    refused(engine.state.open(&id, old.generation, old.token).await, ErrorKind::Fenced, "an old open");
    let fresh = ClaimToken::random();
    refused(engine.state.open(&id, old.generation, fresh).await, ErrorKind::Fenced, "an old open");
    new.save(None, "x").await.expect("the new owner still saves");
}

async fn same_generation(kit: EngineContext) {
    let engine = kit.open().await;
    let (node, id) = (kit.join(&engine).await, entity("alice"));
    let owned = kit.own(&engine, &node, &id).await;
    let etag = owned.save(None, "x").await.expect("a save");
    let again = engine.state.open(&id, owned.generation, owned.token).await.expect("the same open again");
    assert_eq!(again, Opened { etag: Some(etag), body: Some("x".into()) });
    let stolen = engine.state.open(&id, owned.generation, ClaimToken::random()).await;
    refused(stolen, ErrorKind::Fenced, "an open with the same generation and another token");
    owned.save(Some(etag), "y").await.expect("the owner still saves");
}

async fn one_step(kit: EngineContext) {
    let (engine, other) = (kit.open().await, kit.open().await);
    let node = kit.join(&engine).await;
    for round in 0..20 {
        let id = entity(&format!("taken-over-{round}"));
        let old = kit.own(&engine, &node, &id).await;
        let writer = tokio::spawn(async move {
            let mut etag = None;
            loop {
                match old.save(etag, "x").await {
                    Ok(new) => etag = Some(new),
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Fenced, "the end of the old owner");
                        return etag;
                    }
                }
            }
        });
        while engine.state.read(&id).await.expect("a read").is_none_or(|stored| stored.etag.is_none()) {
            tokio::task::yield_now().await;
        }
        let new = kit.own(&other, &node, &id).await;
        let last_acknowledged = writer.await.expect("the old owner ends");
        assert_eq!(new.stored().await.etag, new.opened.etag, "a save landed after the open of round {round}");
        assert_eq!(new.opened.etag, last_acknowledged, "the last acknowledged save of round {round}");
    }
}

async fn other_generation(kit: EngineContext) {
    let engine = kit.open().await;
    let (node, id) = (kit.join(&engine).await, entity("alice"));
    let old = kit.own(&engine, &node, &id).await;
    let etag = old.save(None, "x").await.expect("a save");
    let new = kit.own(&engine, &node, &id).await;
    let before = new.stored().await;
    assert_eq!(before, Stored { fence: new.generation, etag: Some(etag), body: Some("x".into()) });
    refused(old.save(Some(etag), "late").await, ErrorKind::Fenced, "a save of the old owner");
    refused(old.save(None, "late").await, ErrorKind::Fenced, "a save of the old owner without an etag");
    refused(old.clear(Some(etag)).await, ErrorKind::Fenced, "a clear of the old owner");
    // Granted, but not opened.
    let mut next = new.clone();
    next.generation = new.generation.next().expect("a higher one");
    refused(next.save(Some(etag), "early").await, ErrorKind::Fenced, "a save before the open");
    refused(next.clear(Some(etag)).await, ErrorKind::Fenced, "a clear before the open");
    assert_eq!(new.stored().await, before, "after the refused writes");
    new.save(Some(etag), "y").await.expect("the new owner saves");
}

async fn clear_keeps_the_fence(kit: EngineContext) {
    let engine = kit.open().await;
    let (node, id) = (kit.join(&engine).await, entity("alice"));
    let old = kit.own(&engine, &node, &id).await;
    let new = kit.own(&engine, &node, &id).await;
    let etag = new.save(None, "x").await.expect("a save");
    let cleared = new.clear(Some(etag)).await.expect("a clear");
    for read in [None, Some(etag), Some(cleared), Some(Etag::random())] {
        refused(old.save(read, "zombie").await, ErrorKind::Fenced, "a save of the old owner");
    }
    let zombie = engine.state.open(&id, old.generation, old.token).await;
    refused(zombie, ErrorKind::Fenced, "an open of the old owner");
    assert_eq!(new.stored().await, Stored { fence: new.generation, etag: Some(cleared), body: None });
}
