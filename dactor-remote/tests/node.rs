//! Two nodes that talk: messages, lookups, errors, watches, lost and replaced nodes.

mod support;

use std::time::Duration;

use dactor_core::{ErrorKind, NodeId};
use dactor_remote::transport::{MemoryNetwork, TcpNetwork};
use dactor_remote::{AuthorityState, Node, NodeEvent, RemotingConfig};

use support::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn asks_and_tells_on_every_pair_of_backends() {
    for backends in PAIRS {
        for tcp in [true, false] {
            let two = match tcp {
                true => Two::on(backends, TcpNetwork).await,
                false => Two::on(backends, MemoryNetwork::new()).await,
            };
            let a = two.account("alice").await;
            a.far.tell(Deposit(1)).unwrap();
            assert_eq!(soon(a.far.ask(Deposit(20))).await.unwrap(), 21);
            let error = soon(a.far.ask(Overdraw)).await.unwrap_err();
            assert_eq!((error.kind(), error.may_have_been_handled()), (ErrorKind::Failed, true));
            let recipient = two.here.recipient_at::<Deposit>(two.there.path_of(&a.local).unwrap());
            assert_eq!(soon(soon(recipient).await.unwrap().ask(Deposit(1))).await.unwrap(), 22);
            let mut items = soon(a.far.expand(Numbers(100))).await.unwrap();
            for expected in 0..100 {
                assert_eq!(soon(items.next()).await.unwrap().unwrap(), expected);
            }
            assert!(soon(items.next()).await.is_none());
            let late = soon(a.far.ask(Hold).timeout(Duration::from_millis(20))).await.unwrap_err();
            assert_eq!(late.kind(), ErrorKind::Timeout);
            until(|| a.journal.count("cancelled") == 1).await;
        }
    }
}

#[tokio::test]
async fn an_ask_without_an_answer_fails_after_the_limit() {
    let network = MemoryNetwork::new();
    let config = quick().ask_timeout(Duration::from_millis(100));
    let here = Node::builder(&system("bank", ractor)).config(config).network(network.clone());
    let here = here.start().await.unwrap();
    let there = builder(&system("bank", kameo)).network(network).start().await.unwrap();
    let two = Two { here, there };
    let a = two.account("alice").await;
    let error = soon(a.far.ask(Hold)).await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_been_handled()), (ErrorKind::Timeout, true));
    until(|| a.journal.count("cancelled") == 1).await;
}

#[tokio::test]
async fn lookups_tell_the_reasons_apart() {
    let two = Two::tcp().await;
    let a = two.account("alice").await;
    let address = two.there.address().to_string();
    let kind = async |path: String| soon(two.here.actor_at::<Account>(path)).await.unwrap_err().kind();
    assert_eq!(kind(format!("{address}/user/bob")).await, ErrorKind::NoSuchActor);
    assert_eq!(kind(format!("{address}/user/alice#1")).await, ErrorKind::WrongIncarnation);
    assert_eq!(kind("not a path".into()).await, ErrorKind::InvalidPath);
    assert_eq!(kind("pekko.tcp://shop@127.0.0.1:1/user/a".into()).await, ErrorKind::Unresolved);
    assert_eq!(kind("pekko.tcp://bank@127.0.0.1:1/user/a".into()).await, ErrorKind::Unresolved);
    let (probe, _inbox) = dactor_core::testkit::Probe::<Hold>::new();
    two.there.system().spawn(probe).name("probe").await.unwrap();
    assert_eq!(kind(format!("{address}/user/probe")).await, ErrorKind::WrongActorType);
    // Its own actors are found without a network.
    let own = soon(two.there.actor_at::<Account>(format!("{address}/user/alice"))).await.unwrap();
    assert!(own == a.local && own.is_local());
}

#[tokio::test]
async fn handshakes_are_refused() {
    let network = MemoryNetwork::new();
    let there = builder(&system("bank", kameo)).network(network.clone()).start().await.unwrap();
    let refused = async |node: Node| {
        let error = soon(node.connect_peer(there.id())).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unresolved);
        format!("{error:#}")
    };
    let other = builder(&system("shop", ractor)).network(network.clone()).start().await.unwrap();
    assert!(refused(other).await.contains("different names"));
    let json = builder(&system("bank", ractor)).network(network.clone()).codec(dactor_core::Codec::Json);
    assert!(refused(json.start().await.unwrap()).await.contains("different codecs"));
    let other = builder(&system("bank", ractor)).network(network.clone()).start().await.unwrap();
    let nobody: NodeId = "127.0.0.1:1".parse().unwrap();
    let error = soon(other.connect_peer(&nobody)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unresolved);
    assert_eq!(soon(other.connect_peer(other.id())).await.unwrap_err().kind(), ErrorKind::Unresolved);
    soon(other.connect_peer(there.id())).await.unwrap();
}

#[tokio::test]
async fn beyond_loopback_needs_permission() {
    let system = system("bank", ractor);
    let error = Node::builder(&system).listen("0.0.0.0:0").start().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    Node::builder(&system).listen("0.0.0.0:0").insecure().start().await.unwrap();
    let config = RemotingConfig::new().quarantine_duration(Duration::ZERO);
    let error = Node::builder(&system).config(config).start().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[tokio::test]
async fn watches_survive_a_lost_connection() {
    let two = Two::memory().await;
    let a = two.account("alice").await;
    let home = Account::new();
    let journal = home.journal.clone();
    let home = two.here.system().spawn(home).await.unwrap();
    soon(home.ask(Watch(a.far.clone()))).await.unwrap();
    // A connection is lost, and opened again.
    let held = a.far.ask(Hold).enqueue().unwrap();
    soon(a.gate.reached()).await;
    two.there.disconnect_peer(two.here.id());
    let error = soon(held).await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_been_handled()), (ErrorKind::Disconnected, true));
    a.gate.open();
    assert_eq!(soon(a.far.ask(Deposit(1))).await.unwrap(), 1);
    assert!(journal.is_empty(), "{journal:?}");
    a.local.stop();
    until(|| journal.len() == 1).await;
    assert_eq!(journal.entries(), ["terminated stopped"]);
}

#[tokio::test]
async fn a_node_that_is_gone_is_quarantined_and_its_watched_actors_have_ended() {
    let two = Two::memory().await;
    let a = two.account("alice").await;
    let events = dactor_core::testkit::Journal::new();
    let notes = events.clone();
    two.here.on_event(move |event| match event {
        NodeEvent::Quarantined { .. } => notes.note("quarantined"),
        NodeEvent::NodeLeft { .. } => notes.note("left"),
        NodeEvent::InvalidAssociation { .. } => notes.note("invalid"),
        _ => {}
    });
    two.here.on_event(|_| panic!("contained"));
    let home = Account::new();
    let journal = home.journal.clone();
    let home = two.here.system().spawn(home).await.unwrap();
    soon(home.ask(Watch(a.far.clone()))).await.unwrap();
    let there = two.there.id().clone();
    // It ends without a word.
    drop(two.there);
    until(|| journal.len() == 1).await;
    assert_eq!(journal.entries(), ["terminated unreachable"]);
    let status = two.here.peer(&there).unwrap();
    assert!(matches!(status.state, AuthorityState::Quarantined { .. }), "{status:?}");
    assert_eq!(a.far.tell(Deposit(1)).unwrap_err().kind(), ErrorKind::Stopped);
    let path = format!("pekko.tcp://bank@{there}/user/alice");
    let error = soon(two.here.actor_at::<Account>(path.as_str())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Quarantined);
    two.here.lift_quarantine(&there);
    assert_eq!(two.here.peer(&there).unwrap().state, AuthorityState::Unresolved);
    // The UIDs of its actors stay reserved.
    let uid = a.local.uid();
    let error = soon(two.here.actor_at::<Account>(format!("{path}#{uid}"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UidReserved);
    assert_eq!(events.entries(), ["quarantined", "left"]);
}

#[tokio::test]
async fn messages_wait_for_a_connection() {
    let network = MemoryNetwork::new();
    let [here, there] = [ractor, kameo].map(|backend| system("bank", backend));
    let config = quick().deferred(3).dead_after(Duration::from_secs(60));
    let here = builder(&here).config(config).network(network.clone()).start().await.unwrap();
    let first = builder(&there).network(network.clone()).start().await.unwrap();
    let a = Two { here: here.clone(), there: first.clone() }.account("alice").await;
    let at = first.id().clone();
    drop(first);
    until(|| here.peer(&at).unwrap().state == AuthorityState::Unresolved).await;
    for _ in 0..2 {
        a.far.tell(Deposit(1)).unwrap();
    }
    let ask = a.far.ask(Deposit(1)).enqueue().unwrap();
    let refused = a.far.try_tell(Deposit(9)).unwrap_err();
    assert_eq!((refused.message, refused.reason.kind()), (Deposit(9), ErrorKind::Unresolved));
    // The same system comes back at its address.
    let again = soon(async {
        loop {
            // The address is free a moment later.
            match builder(&there).network(network.clone()).listen(at.to_string()).start().await {
                Ok(node) => return node,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    })
    .await;
    assert_eq!(soon(ask).await.unwrap(), 3);
    assert_eq!(again.id(), &at);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_messages_travel_in_order_with_small_ones() {
    for tcp in [true, false] {
        let two = if tcp { Two::tcp().await } else { Two::memory().await };
        let (a, b) = (two.account("alice").await, two.account("bob").await);
        let large = |size: usize| Text("x".repeat(size));
        let mut expected = Vec::new();
        for round in 0..5 {
            a.far.tell(large(100_000 + round)).unwrap();
            expected.push(format!("{} bytes", 100_000 + round));
            for small in 0..20 {
                a.far.tell(Text(format!("{round} {small}"))).unwrap();
                expected.push(format!("{round} {small}"));
            }
        }
        assert_eq!(soon(b.far.ask(Deposit(1))).await.unwrap(), 1);
        let big = large(3 * 1024 * 1024);
        assert_eq!(soon(a.far.ask(big.clone())).await.unwrap(), big);
        expected.push(format!("{} bytes", big.0.len()));
        assert_eq!(a.journal.entries(), expected);
        // Too large a message is refused at once, and a reply that is too large is an error.
        let refused = a.far.try_tell(large(17 * 1024 * 1024)).unwrap_err();
        assert_eq!(refused.reason.kind(), ErrorKind::EncodeFailed);
        assert_eq!(refused.message.0.len(), 17 * 1024 * 1024);
        assert_eq!(soon(a.far.ask(Deposit(1))).await.unwrap(), 1);
    }
}

#[tokio::test]
async fn actors_are_spawned_on_another_node_by_its_factories() {
    use dactor_remote::system_actors::{CountWatches, ListFactories, ListNodes};

    let network = MemoryNetwork::new();
    let here = builder(&system("bank", ractor)).network(network.clone()).start().await.unwrap();
    let open = |balance: u64| Account { balance, ..Account::new() };
    let start = async |control: bool| {
        let mut node = builder(&system("bank", kameo)).network(network.clone()).factory("account", open);
        if control {
            node = node.allow_control();
        }
        node.application_version("1.2").start().await.unwrap()
    };
    let (there, closed) = (start(true).await, start(false).await);
    let account = soon(here.spawn_on::<Account>(there.id(), "account", &40_u64)).await.unwrap();
    assert_eq!(soon(account.ask(Deposit(2))).await.unwrap(), 42);
    let error = soon(here.spawn_on::<Account>(there.id(), "none", &1_u64)).await.unwrap_err();
    assert!(format!("{error:#}").contains("no such factory"), "{error:#}");
    let error = soon(here.spawn_on::<Account>(there.id(), "account", &"text".to_owned())).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Failed, "{error:#}");
    let error = soon(here.spawn_on::<Account>(closed.id(), "account", &1_u64)).await.unwrap_err();
    assert!(format!("{error:#}").contains("lets no other one spawn"), "{error:#}");
    // It is watched from here, and the other node's tables say so.
    let home = Account::new();
    let journal = home.journal.clone();
    let home = here.system().spawn(home).await.unwrap();
    soon(home.ask(Watch(account.clone()))).await.unwrap();
    let at = |name: &str| format!("{}/system/{name}", there.address());
    let watches = soon(here.recipient_at::<CountWatches>(at("watch-manager"))).await.unwrap();
    let watches = soon(watches.ask(CountWatches)).await.unwrap();
    assert_eq!((watches[0].node.clone(), watches[0].watched), (here.id().clone(), 1));
    let factories = soon(here.recipient_at::<ListFactories>(at("spawn-manager"))).await.unwrap();
    assert_eq!(soon(factories.ask(ListFactories)).await.unwrap(), ["account"]);
    let nodes = soon(there.recipient_at::<ListNodes>(format!("{}/system/node-directory", here.address())));
    let nodes = soon(nodes.await.unwrap().ask(ListNodes)).await.unwrap();
    let joined = nodes.iter().find(|node| node.node == *there.id()).unwrap();
    assert!(joined.connected && joined.application == "1.2");
    account.stop();
    until(|| journal.len() == 1).await;
    assert_eq!(journal.entries(), ["terminated stopped"]);
}
