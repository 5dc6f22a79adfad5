//! Leases, and deaths as recorded facts.

use std::time::Duration;

use dactor_engine::{ErrorKind, Eviction, MemberState, NodeId, Notice, Reaper};

use super::body;
use crate::engine::context::{NAMESPACE, refused};
use crate::engine::{EngineContext, EngineRule};

pub(super) static RULES: &[EngineRule] = &[
    EngineRule::must(
        "ENGINE-23",
        "A renewal in time prolongs the lease by its TTL from now, and is counted.",
        "A node stays a member as long as it renews; the count shows it to evictors without a common clock.",
        &["does-not-prolong", "does-not-count-renewals"],
        body!(renewal),
    ),
    EngineRule::must(
        "ENGINE-24",
        "A renewal after the lease has expired, or of a node that never joined, gets `Fenced`.",
        "An evictor may already act on the expiry: the node must stop serving and join as a new incarnation.",
        &["renews-expired-leases"],
        body!(expired),
    ),
    EngineRule::must(
        "ENGINE-25",
        "Joining again with the same incarnation renews its lease; with an expired lease it gets `Fenced`.",
        "The first answer was lost.",
        &["refuses-repeated-joins", "joins-with-expired-leases"],
        body!(joins_again),
    ),
    EngineRule::must(
        "ENGINE-26",
        "An eviction is refused before the lease has expired, and if the node has renewed since the evictor looked.",
        "A live node must not be declared dead by an evictor with old knowledge.",
        &["evicts-before-the-deadline", "ignores-the-seen-renewals"],
        body!(eviction),
    ),
    EngineRule::must(
        "ENGINE-27",
        "A recorded death is final: renewals and joins of the incarnation get `Fenced`, and a second eviction finds it dead.",
        "Another node may own the entities of the dead one by now.",
        &["renewal-revives", "join-revives", "forgets-a-leave"],
        body!(tombstone),
    ),
    EngineRule::must(
        "ENGINE-28",
        "A reaper evicts only nodes whose renewals have not changed for a TTL on its own clock, also if the clock of the store jumps.",
        "A jump of the clock must not kill all nodes at once.",
        &["calls-the-overdue-gone", "never-evicts"],
        body!(reaper),
    ),
    EngineRule::must(
        "ENGINE-29",
        "Members are listed in their own namespace only, each incarnation once.",
        "Two clusters in one store do not see each other.",
        &["mixes-the-members"],
        body!(namespaces),
    ),
    EngineRule::must(
        "ENGINE-30",
        "A watch reports each join and each recorded death in its namespace, also of other openings of the store.",
        "Nodes learn of deaths without asking all the time.",
        &["watches-in-silence", "watches-all-namespaces"],
        body!(watch),
    ),
];

async fn renewal(kit: EngineContext) {
    let (engine, other) = (kit.open().await, kit.open().await);
    let node = kit.join(&engine).await;
    for round in 1..=4 {
        kit.advance(kit.ttl() * 6 / 10).await;
        engine.membership.renew(&node).await.expect("a renewal in time");
        let member = kit.member(&other, &node).await;
        assert_eq!(member.renewals, round, "the renewals");
        assert_eq!((member.state, member.ttl), (MemberState::Alive, kit.ttl()));
        assert!(member.remaining > kit.ttl() / 2 && member.remaining <= kit.ttl(), "{member:?}");
    }
}

async fn expired(kit: EngineContext) {
    let engine = kit.open().await;
    let node = kit.join(&engine).await;
    refused(engine.membership.renew(&NodeId::start("node:9")).await, ErrorKind::Fenced, "never joined");
    kit.advance(kit.ttl() * 11 / 10).await;
    refused(engine.membership.renew(&node).await, ErrorKind::Fenced, "a late renewal");
    assert_eq!(kit.member_state(&engine, &node).await, MemberState::Overdue);
    refused(engine.membership.renew(&node).await, ErrorKind::Fenced, "a second late renewal");
}

async fn joins_again(kit: EngineContext) {
    let engine = kit.open().await;
    let node = kit.join(&engine).await;
    let join = async || engine.membership.join(NAMESPACE, &node, kit.ttl()).await;
    kit.advance(kit.ttl() * 6 / 10).await;
    join().await.expect("the same join again");
    kit.advance(kit.ttl() * 6 / 10).await;
    assert_eq!(kit.member_state(&engine, &node).await, MemberState::Alive);
    kit.advance(kit.ttl()).await;
    refused(join().await, ErrorKind::Fenced, "a join with an expired lease");
}

async fn eviction(kit: EngineContext) {
    let (engine, other) = (kit.open().await, kit.open().await);
    let node = kit.join(&engine).await;
    let evict = async |seen| other.membership.evict(&node, seen).await.expect("an answer");
    let unknown = other.membership.evict(&NodeId::start("node:9"), 0).await.expect("an answer");
    assert_eq!(unknown, Eviction::Unknown);
    let seen = kit.member(&other, &node).await.renewals;
    assert_eq!(evict(seen).await, Eviction::Alive, "before the deadline");
    engine.membership.renew(&node).await.expect("a renewal");
    kit.advance(kit.ttl() * 11 / 10).await;
    assert_eq!(evict(seen).await, Eviction::Alive, "renewed since the evictor looked");
    assert_eq!(evict(seen + 1).await, Eviction::Recorded, "expired, and not renewed since");
    assert_eq!(kit.member_state(&other, &node).await, MemberState::Dead);
}

async fn tombstone(kit: EngineContext) {
    let (engine, other) = (kit.open().await, kit.open().await);
    let (evicted, left) = (kit.join(&engine).await, kit.join(&engine).await);
    engine.membership.leave(&left).await.expect("a node leaves");
    refused(engine.membership.renew(&left).await, ErrorKind::Fenced, "a renewal after leaving");
    kit.advance(kit.ttl() * 11 / 10).await;
    other.membership.evict(&evicted, 0).await.expect("an eviction");
    for node in [&evicted, &left] {
        refused(engine.membership.renew(node).await, ErrorKind::Fenced, "a renewal of the dead");
        let join = engine.membership.join(NAMESPACE, node, kit.ttl()).await;
        refused(join, ErrorKind::Fenced, "a join of the dead");
        let again = other.membership.evict(node, 0).await.expect("an answer");
        assert_eq!(again, Eviction::AlreadyDead);
        assert_eq!(kit.member_state(&other, node).await, MemberState::Dead);
        engine.membership.leave(node).await.expect("leaving again");
    }
}

async fn reaper(kit: EngineContext) {
    let (engine, other) = (kit.open().await, kit.open().await);
    let (silent, busy) = (kit.join(&engine).await, kit.join(&engine).await);
    let mut reaper = Reaper::new();
    let (membership, ttl) = (&*other.membership, kit.ttl());
    assert!(reaper.reap_at(membership, NAMESPACE, Duration::ZERO).await.expect("a look").is_empty());
    kit.advance(ttl * 6 / 10).await;
    engine.membership.renew(&busy).await.expect("a renewal");
    // The clock of the store jumps, that of the reaper does not.
    kit.advance(ttl * 6 / 10).await;
    let early = reaper.reap_at(membership, NAMESPACE, ttl * 9 / 10).await.expect("a look");
    assert_eq!(early, [], "evicted although the reaper has not waited");
    engine.membership.renew(&busy).await.expect("a renewal");
    let evicted = reaper.reap_at(membership, NAMESPACE, ttl * 11 / 10).await.expect("a look");
    assert_eq!(evicted, std::slice::from_ref(&silent));
    assert_eq!(kit.member_state(&other, &silent).await, MemberState::Dead);
    assert_eq!(kit.member_state(&other, &busy).await, MemberState::Alive);
}

async fn namespaces(kit: EngineContext) {
    let engine = kit.open().await;
    let (here, there) = (kit.join(&engine).await, kit.join_in("elsewhere", &engine).await);
    let members = async |namespace: &str| {
        let members = engine.membership.members(namespace).await.expect("the members");
        members.into_iter().map(|member| member.node).collect::<Vec<_>>()
    };
    assert_eq!(members(NAMESPACE).await, std::slice::from_ref(&here));
    assert_eq!(members("elsewhere").await, [there]);
    assert_eq!(members("empty").await, []);
    // The same address, restarted.
    let mut both = vec![here, kit.join(&engine).await];
    both.sort_by_key(NodeId::incarnation);
    assert_eq!(members(NAMESPACE).await, both);
}

async fn watch(kit: EngineContext) {
    let (engine, other) = (kit.open().await, kit.open().await);
    let mut watch = engine.membership.watch_members(NAMESPACE).await.expect("a watch");
    kit.join_in("elsewhere", &other).await;
    let node = kit.join(&other).await;
    let mut next = async || match tokio::time::timeout(Duration::from_secs(3), watch.next())
        .await
        .expect("a notice in time")
    {
        Notice::Changed(change) => (change.node, change.alive),
        other => panic!("{other:?}"),
    };
    assert_eq!(next().await, (node.clone(), true));
    other.membership.leave(&node).await.expect("a node leaves");
    assert_eq!(next().await, (node, false));
}
