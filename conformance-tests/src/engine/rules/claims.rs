//! Claims: one owner at a time, and generations that only grow.

use std::collections::BTreeSet;
use std::time::Duration;

use dactor_engine::{Claim, ClaimToken, ErrorKind, Generation, NodeId, Notice, Placement};
use tokio::task::JoinSet;

use super::body;
use crate::engine::context::{NAMESPACE, entity, granted, refused};
use crate::engine::{EngineContext, EngineRule};

pub(super) static RULES: &[EngineRule] = &[
    EngineRule::must(
        "ENGINE-01",
        "Of the nodes that claim an entity at the same time, exactly one is granted it; the others get the owner and its generation.",
        "Two owners would both serve the entity.",
        &["claims-in-two-steps"],
        body!(race),
    ),
    EngineRule::must(
        "ENGINE-02",
        "A claim with the token of the present owner is granted with the same generation, and changes nothing.",
        "The first answer was lost: the claimant repeats the claim, and must find its own.",
        &["ignores-claim-tokens", "refuses-repeated-claims"],
        body!(same_token),
    ),
    EngineRule::must(
        "ENGINE-03",
        "A claim of the owning incarnation with another token is granted with a higher generation.",
        "Otherwise a save in flight of a killed activation lands on the state of its successor.",
        &["knows-only-incarnations"],
        body!(another_token),
    ),
    EngineRule::must(
        "ENGINE-04",
        "A claim of an entity whose owner has an expired lease, but no recorded death, is refused with the owner and its generation.",
        "A deadline that was read from an old snapshot may have been prolonged since.",
        &["takes-a-deadline-for-a-death"],
        body!(overdue_owner),
    ),
    EngineRule::must(
        "ENGINE-05",
        "An entity whose owner's death is recorded, by an eviction or because it left, is granted with a higher generation.",
        "The entities of a dead node are served by other nodes.",
        &["ignores-tombstones", "reuses-the-generation-of-the-dead"],
        body!(dead_owner),
    ),
    EngineRule::must(
        "ENGINE-06",
        "A claimant whose death is recorded gets `Fenced`, also for an entity that it owns and with the same token.",
        "A node that was declared dead must not own anything again.",
        &["grants-to-the-dead"],
        body!(dead_claimant),
    ),
    EngineRule::must(
        "ENGINE-07",
        "A claimant that has not joined the namespace of the entity gets `Fenced`.",
        "Without a lease its death could never be recorded, and the entity would be lost.",
        &["grants-to-strangers"],
        body!(stranger),
    ),
    EngineRule::must(
        "ENGINE-08",
        "A release of another generation than the present one returns `false` and changes nothing; the release of the present one returns `true`, once.",
        "A late release of an old owner must not take the entity from the new one.",
        &["releases-any-generation", "releases-twice"],
        body!(release),
    ),
    EngineRule::must(
        "ENGINE-09",
        "A generation is never granted twice for an entity, also after releases, after a clear, and after the store was opened again.",
        "A reused generation would let a write of an old owner pass the fence.",
        &["forgets-released-rows"],
        body!(never_reused),
    ),
    EngineRule::must(
        "ENGINE-10",
        "A lookup returns the last generation with its owner, or without one after a release, and `None` for an entity that was never claimed.",
        "Caches hold generations, and only move to a higher one, also when there is no owner.",
        &["lookup-forgets-released-rows"],
        body!(lookup),
    ),
    EngineRule::must(
        "ENGINE-11",
        "A watch reports the claims and releases of its namespace in order, also those made through another opening of the store.",
        "Nodes learn of placements without asking for each.",
        &["watches-in-silence", "watches-all-namespaces"],
        body!(watch),
    ),
];

async fn race(kit: EngineContext) {
    let engine = kit.open().await;
    let others = [kit.open().await, kit.open().await, kit.open().await];
    let mut nodes = Vec::new();
    for engine in others.into_iter().chain([engine.clone()]) {
        nodes.push((kit.join(&engine).await, engine));
    }
    for round in 0..20 {
        let id = entity(&format!("raced-{round}"));
        let mut claims = JoinSet::new();
        for task in 0..64 {
            let ((node, engine), id) = (nodes[task % nodes.len()].clone(), id.clone());
            // The claims of one node share a token, so that only one of them is a new claim.
            let token = ClaimToken::from_bytes([u8::try_from(task % 4).expect("small"); 16]);
            claims.spawn(async move { (node.clone(), engine.directory.claim(&id, &node, token).await) });
        }
        let mut owners = BTreeSet::new();
        let mut named = BTreeSet::new();
        for (node, claim) in claims.join_all().await {
            match claim.expect("a claim is answered") {
                Claim::Granted(generation) => owners.insert((node, generation)),
                Claim::OwnedElsewhere { owner, generation } => named.insert((owner, generation)),
            };
        }
        assert_eq!(owners.len(), 1, "the winners of round {round}: {owners:?}");
        assert_eq!(owners, named, "the owner that the others were told in round {round}");
    }
}

async fn same_token(kit: EngineContext) {
    let (engine, other) = (kit.open().await, kit.open().await);
    let (node, id, token) = (kit.join(&engine).await, entity("alice"), ClaimToken::random());
    let first = granted(engine.directory.claim(&id, &node, token).await);
    let again = granted(other.directory.claim(&id, &node, token).await);
    assert_eq!(again, first, "the generation of the repeated claim");
    let placement = engine.directory.lookup(&id).await.expect("a lookup");
    assert_eq!(placement, Some(Placement { generation: first, owner: Some(node) }));
}

async fn another_token(kit: EngineContext) {
    let engine = kit.open().await;
    let (node, id) = (kit.join(&engine).await, entity("alice"));
    let first = kit.own(&engine, &node, &id).await;
    let second = kit.own(&engine, &node, &id).await;
    assert!(second.generation > first.generation, "{} after {}", second.generation, first.generation);
    refused(first.save(None, "late").await, ErrorKind::Fenced, "a save of the killed activation");
}

async fn overdue_owner(kit: EngineContext) {
    let (engine, other) = (kit.open().await, kit.open().await);
    let (owner, id) = (kit.join(&engine).await, entity("alice"));
    let generation = granted(engine.directory.claim(&id, &owner, ClaimToken::random()).await);
    kit.advance(kit.ttl() * 2).await;
    let claimant = kit.join(&other).await;
    let claim = other.directory.claim(&id, &claimant, ClaimToken::random()).await.expect("an answer");
    assert_eq!(claim, Claim::OwnedElsewhere { owner, generation });
}

async fn dead_owner(kit: EngineContext) {
    let (engine, other) = (kit.open().await, kit.open().await);
    let (evicted, left) = (kit.join(&engine).await, kit.join(&engine).await);
    let ids = [entity("of-the-evicted"), entity("of-the-left")];
    let mut before = Vec::new();
    for (node, id) in [&evicted, &left].into_iter().zip(&ids) {
        before.push(granted(engine.directory.claim(id, node, ClaimToken::random()).await));
    }
    engine.membership.leave(&left).await.expect("a node leaves");
    kit.advance(kit.ttl() * 2).await;
    let seen = kit.member(&other, &evicted).await.renewals;
    other.membership.evict(&evicted, seen).await.expect("an eviction");
    let claimant = kit.join(&other).await;
    for (id, before) in ids.iter().zip(before) {
        let generation = granted(other.directory.claim(id, &claimant, ClaimToken::random()).await);
        assert!(generation > before, "{generation} after {before}");
    }
}

async fn dead_claimant(kit: EngineContext) {
    let engine = kit.open().await;
    let (node, id, token) = (kit.join(&engine).await, entity("alice"), ClaimToken::random());
    granted(engine.directory.claim(&id, &node, token).await);
    engine.membership.leave(&node).await.expect("a node leaves");
    let claim = |id, token| {
        let (engine, node) = (engine.clone(), node.clone());
        async move { engine.directory.claim(&id, &node, token).await }
    };
    refused(claim(id.clone(), token).await, ErrorKind::Fenced, "the same claim again");
    refused(claim(id, ClaimToken::random()).await, ErrorKind::Fenced, "a claim with another token");
    refused(claim(entity("bob"), token).await, ErrorKind::Fenced, "a claim of another entity");
    let unclaimed = engine.directory.lookup(&entity("bob")).await.expect("a lookup");
    assert_eq!(unclaimed, None, "the refused claim");
}

async fn stranger(kit: EngineContext) {
    let engine = kit.open().await;
    let elsewhere = kit.join_in("elsewhere", &engine).await;
    for (stranger, what) in [(NodeId::start("node:2"), "no member"), (elsewhere, "another namespace")] {
        let claim = engine.directory.claim(&entity("alice"), &stranger, ClaimToken::random()).await;
        refused(claim, ErrorKind::Fenced, what);
    }
}

async fn release(kit: EngineContext) {
    let (engine, other) = (kit.open().await, kit.open().await);
    let (node, id) = (kit.join(&engine).await, entity("alice"));
    let claimant = kit.join(&other).await;
    let first = granted(engine.directory.claim(&id, &node, ClaimToken::random()).await);
    let second = granted(engine.directory.claim(&id, &node, ClaimToken::random()).await);
    let release = async |generation| engine.directory.release(&id, generation).await.expect("an answer");
    assert!(!release(first).await, "the release of an old generation");
    let higher = second.next().expect("a higher one");
    assert!(!release(higher).await, "the release of a generation that was never granted");
    let claim = other.directory.claim(&id, &claimant, ClaimToken::random()).await.expect("an answer");
    assert!(matches!(claim, Claim::OwnedElsewhere { .. }), "after refused releases: {claim:?}");
    assert!(release(second).await, "the release of the present generation");
    assert!(!release(second).await, "the second release");
    assert!(!engine.directory.release(&entity("bob"), first).await.expect("an answer"), "never claimed");
    granted(other.directory.claim(&id, &claimant, ClaimToken::random()).await);
}

async fn never_reused(kit: EngineContext) {
    let mut last: Option<Generation> = None;
    for round in 0..4 {
        // The last engine is dropped without a farewell.
        let engine = kit.open().await;
        let (node, id) = (kit.join(&engine).await, entity("alice"));
        for _ in 0..3 {
            let owned = kit.own(&engine, &node, &id).await;
            assert!(Some(owned.generation) > last, "{} after {last:?}, round {round}", owned.generation);
            last = Some(owned.generation);
            let etag = owned.save(owned.opened.etag, "x").await.expect("a save");
            owned.clear(Some(etag)).await.expect("a clear");
            assert!(engine.directory.release(&id, owned.generation).await.expect("an answer"));
        }
        engine.membership.leave(&node).await.expect("a node leaves");
    }
}

async fn lookup(kit: EngineContext) {
    let engine = kit.open().await;
    let (node, id) = (kit.join(&engine).await, entity("alice"));
    let lookup = async || engine.directory.lookup(&id).await.expect("a lookup");
    assert_eq!(lookup().await, None);
    let generation = granted(engine.directory.claim(&id, &node, ClaimToken::random()).await);
    assert_eq!(lookup().await, Some(Placement { generation, owner: Some(node.clone()) }));
    engine.directory.release(&id, generation).await.expect("a release");
    assert_eq!(lookup().await, Some(Placement { generation, owner: None }));
}

async fn watch(kit: EngineContext) {
    let (engine, other) = (kit.open().await, kit.open().await);
    let (node, elsewhere) = (kit.join(&other).await, kit.join_in("elsewhere", &other).await);
    let mut watch = engine.directory.watch_placements(NAMESPACE).await.expect("a watch");
    let foreign = dactor_engine::EntityId::new("elsewhere", "Account", "alice").expect("a valid id");
    granted(other.directory.claim(&foreign, &elsewhere, ClaimToken::random()).await);
    let id = entity("alice");
    let generation = granted(other.directory.claim(&id, &node, ClaimToken::random()).await);
    let mut next = async || match tokio::time::timeout(Duration::from_secs(3), watch.next())
        .await
        .expect("a notice in time")
    {
        Notice::Changed(change) => (change.id, change.placement),
        other => panic!("{other:?}"),
    };
    assert_eq!(next().await, (id.clone(), Placement { generation, owner: Some(node) }));
    other.directory.release(&id, generation).await.expect("a release");
    assert_eq!(next().await, (id.clone(), Placement { generation, owner: None }));
}
