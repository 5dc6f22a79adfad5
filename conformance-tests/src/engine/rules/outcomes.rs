//! Unknown outcomes, and crashes.

use std::time::Duration;

use bytes::Bytes;
use dactor_engine::settle::{self, Repetition, Write};
use dactor_engine::{
    Claim, ClaimToken, Engine, ErrorKind, Etag, Faults, Faulty, MemberState, Opened, StorageError,
};

use super::body;
use crate::engine::context::{entity, granted, refused};
use crate::engine::{EngineContext, EngineRule};

pub(super) static RULES: &[EngineRule] = &[
    EngineRule::must(
        "ENGINE-31",
        "A save or clear whose answer was lost is settled by repeating it: whether it was applied, was not, or is applied later, its content is stored exactly once.",
        "A read alone cannot settle it, because the write may still be on its way.",
        &["read-hides-the-etag", "ignores-etags"],
        body!(settled),
    ),
    EngineRule::must(
        "ENGINE-32",
        "A claim and an open whose answers were lost are settled by repeating them with the same token.",
        "The claimant would otherwise lock itself out.",
        &["ignores-claim-tokens", "refuses-repeated-opens"],
        body!(settled_claim),
    ),
    EngineRule::must(
        "ENGINE-33",
        "After a crash the store has every acknowledged save, with fences, generations and recorded deaths.",
        "An acknowledged write is durable.",
        &["forgets-everything", "forgets-the-last-save"],
        body!(crash),
    ),
];

async fn settled(kit: EngineContext) {
    let engine = kit.open().await;
    let node = kit.join(&engine).await;
    let faults = Faults::new(kit.seed()).tear(0.15).lose_answer(0.15).land_late(0.15);
    let faulty = Engine::from(Faulty::new(engine.clone(), faults));
    let owned = kit.own(&engine, &node, &entity("alice")).await;
    let repetition = Repetition::default().most(30).first_pause(Duration::from_micros(1));
    let mut read = None;
    for number in 0..60_u8 {
        let body = if number % 8 == 7 { None } else { Some(Bytes::from(vec![number])) };
        let write = Write {
            id: owned.id.clone(),
            generation: owned.generation,
            read,
            new: Etag::random(),
            body: body.clone(),
        };
        settle::write(&*faulty.state, &write, &repetition).await.expect("the write is settled");
        let stored = owned.stored().await;
        assert_eq!((stored.etag, stored.body), (Some(write.new), body), "after write {number}");
        read = Some(write.new);
    }
}

async fn settled_claim(kit: EngineContext) {
    let engine = kit.open().await;
    let node = kit.join(&engine).await;
    let faults = Faults::new(kit.seed()).tear(0.3).lose_answer(0.3);
    let faulty = Engine::from(Faulty::new(engine.clone(), faults));
    for number in 0..20 {
        let (id, token) = (entity(&format!("claimed-{number}")), ClaimToken::random());
        let claim = repeated(async || faulty.directory.claim(&id, &node, token).await).await;
        let Claim::Granted(generation) = claim else { panic!("the claim is not granted: {claim:?}") };
        assert_eq!(generation.get(), 1, "the generation of a claim that was repeated");
        let opened = repeated(async || faulty.state.open(&id, generation, token).await).await;
        assert_eq!(opened, Opened { etag: None, body: None });
    }
}

/// Repeats the operation until its outcome is known.
async fn repeated<T>(operation: impl AsyncFn() -> Result<T, StorageError>) -> T {
    for _ in 0..100 {
        match operation().await {
            Err(error) if error.kind() == ErrorKind::UnknownOutcome => {}
            known => return known.expect("the operation is settled"),
        }
    }
    panic!("the outcome is unknown after 100 repetitions")
}

async fn crash(kit: EngineContext) {
    let mut last = Vec::new();
    let (dead, old, body) = {
        let engine = kit.open().await;
        let (node, dead) = (kit.join(&engine).await, kit.join(&engine).await);
        engine.membership.leave(&dead).await.expect("a node leaves");
        for number in 0..20 {
            let owned = kit.own(&engine, &node, &entity(&format!("saved-{number}"))).await;
            let etag = owned.save(None, "first").await.expect("a save");
            let etag = owned.save(Some(etag), format!("state {number}")).await.expect("a save");
            last.push((owned.id, owned.generation, etag));
        }
        let old = kit.own(&engine, &node, &entity("fenced")).await;
        let new = kit.own(&engine, &node, &entity("fenced")).await;
        new.save(None, "new").await.expect("a save");
        engine.membership.leave(&node).await.expect("a node leaves");
        (dead, (old.id, old.generation, old.token), "new")
    };
    // The engine is dropped without a farewell.
    let engine = kit.open().await;
    assert_eq!(kit.member_state(&engine, &dead).await, MemberState::Dead);
    let node = kit.join(&engine).await;
    for (number, (id, generation, etag)) in last.into_iter().enumerate() {
        let token = ClaimToken::random();
        let next = granted(engine.directory.claim(&id, &node, token).await);
        assert!(next > generation, "{next} after {generation}");
        let opened = engine.state.open(&id, next, token).await.expect("an open");
        let body = Some(format!("state {number}").into());
        assert_eq!(opened, Opened { etag: Some(etag), body }, "the last acknowledged save of {id}");
    }
    let (id, generation, token) = old;
    refused(engine.state.open(&id, generation, token).await, ErrorKind::Fenced, "an open of the old owner");
    let late = engine.state.save(&id, generation, None, Etag::random(), "late".into()).await;
    refused(late, ErrorKind::Fenced, "a save of the old owner");
    let stored = engine.state.read(&id).await.expect("a read").expect("the state");
    assert_eq!(stored.body.as_deref(), Some(body.as_bytes()));
}
