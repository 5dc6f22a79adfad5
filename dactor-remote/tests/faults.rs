//! Nodes over a network with faults, and bytes that no node would send.

mod support;

use std::time::Duration;

use dactor_core::ErrorKind;
use dactor_core::testkit::Journal;
use dactor_remote::transport::{Duplex, FaultyNetwork, MemoryNetwork, Network, WriteFault};
use dactor_remote::{AuthorityState, NodeEvent};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use support::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_connection_is_given_up_and_opened_again() {
    let network = FaultyNetwork::new(MemoryNetwork::new());
    // The node reconnects at once. A hello that is sent before the network heals is lost, and tried again after the timeout.
    let config = quick().dead_after(Duration::from_secs(60));
    let two = Two::configured([ractor, kameo], network.clone(), config).await;
    let a = two.account("alice").await;
    let held = a.far.ask(Hold).enqueue().unwrap();
    soon(a.gate.reached()).await;
    network.silence();
    let error = soon(held).await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_been_handled()), (ErrorKind::Disconnected, true));
    network.heal();
    a.gate.open();
    assert_eq!(soon(a.far.ask(Deposit(1))).await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_watches_fire_once_each() {
    const WATCHES: usize = 1_000;
    let network = FaultyNetwork::new(MemoryNetwork::new());
    let two = Two::on([kameo, ractor], network.clone()).await;
    let home = Account::new();
    let journal = home.journal.clone();
    let home = two.here.system().spawn(home).await.unwrap();
    let first = two.account("first").await;
    for _ in 1..WATCHES {
        let local = two.there.system().spawn(Account::new()).await.unwrap();
        let path = two.there.path_of(&local).unwrap();
        let far = soon(two.here.actor_at::<Account>(&path)).await.unwrap();
        home.tell(Watch(far)).unwrap();
    }
    soon(home.ask(Watch(first.far.clone()))).await.unwrap();
    let there = two.there.id().clone();
    until(|| two.there.peer(two.here.id()).unwrap().watched == WATCHES).await;
    // The connection breaks several times: no actor has ended by that.
    for _ in 0..3 {
        network.reset();
        assert_eq!(soon(first.far.ask(Deposit(0))).await.unwrap_or(0), 0);
    }
    until(|| two.here.peer(&there).unwrap().state == AuthorityState::Connected).await;
    assert!(journal.is_empty(), "{:?}", journal.entries().first());
    // The network is divided until the other node is given up.
    network.cut();
    until(|| journal.len() == WATCHES).await;
    assert_eq!(journal.count("terminated unreachable"), WATCHES);
    network.heal();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(journal.len(), WATCHES);
    assert!(matches!(two.here.peer(&there).unwrap().state, AuthorityState::Quarantined { .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_incarnation_replaces_the_one_before() {
    let network = FaultyNetwork::new(MemoryNetwork::new());
    let two = Two::on([ractor, ractor], network.clone()).await;
    let a = two.account("alice").await;
    let home = Account::new();
    let journal = home.journal.clone();
    let home = two.here.system().spawn(home).await.unwrap();
    soon(home.ask(Watch(a.far.clone()))).await.unwrap();
    let events = Journal::new();
    let notes = events.clone();
    two.here.on_event(move |event| match event {
        NodeEvent::NodeJoined { .. } => notes.note("joined"),
        NodeEvent::NodeLeft { .. } => notes.note("left"),
        _ => {}
    });
    let at = two.there.id().to_string();
    drop(two.there);
    // Another process, as it were, at the same address.
    let system = system("bank", kameo);
    let there = soon(async {
        loop {
            // The address is free a moment later.
            match builder(&system).network(network.clone()).listen(&at).start().await {
                Ok(node) => return node,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    });
    let there = there.await;
    system.spawn(Account::new()).name("alice").await.unwrap();
    until(|| journal.len() == 1).await;
    assert_eq!(journal.entries(), ["terminated unreachable"]);
    let again = soon(two.here.actor_at::<Account>(format!("{}/user/alice", there.address()))).await.unwrap();
    assert_eq!(soon(again.ask(Deposit(2))).await.unwrap(), 2);
    assert!(again != a.far);
    let old = a.local.uid();
    let error = soon(two.here.actor_at::<Account>(format!("{}/user/alice#{old}", there.address()))).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::UidReserved);
    until(|| events.len() == 2).await;
    assert_eq!(events.entries(), ["left", "joined"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_that_spoils_bytes_leaves_no_ask_without_an_answer() {
    for fault in
        [WriteFault::Lose, WriteFault::Duplicate, WriteFault::Reorder, WriteFault::Corrupt, WriteFault::Cut]
    {
        let network = FaultyNetwork::new(MemoryNetwork::new());
        let config = quick().ask_timeout(Duration::from_millis(300)).dead_after(Duration::from_secs(60));
        let two = Two::configured([ractor, kameo], network.clone(), config).await;
        let a = two.account("alice").await;
        network.spoil(fault, 5);
        let asks: Vec<_> = (0..200)
            .map(|number| {
                let far = a.far.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(number % 20)).await;
                    let answer = far.ask(Text(number.to_string())).await;
                    // Without TLS, nothing finds a bit that is changed in a payload.
                    answer.map(|text| assert!(fault == WriteFault::Corrupt || text.0 == number.to_string()))
                })
            })
            .collect();
        for ask in asks {
            let _ = soon(ask).await.expect("its own answer, or an error");
        }
        assert!(network.spoiled() > 0);
        network.heal();
        network.reset();
        until(|| two.here.peer(two.there.id()).unwrap().state == AuthorityState::Connected).await;
        let mut answered = soon(a.far.ask(Text("after".into()))).await;
        while answered.is_err() {
            answered = soon(a.far.ask(Text("after".into()))).await;
        }
        assert_eq!(two.here.peer(two.there.id()).unwrap().pending, 0);
    }
}

/// Bytes that seem random, the same in every run.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .collect()
}

/// Reads until the node closes the stream.
async fn closed(mut stream: Duplex) {
    let mut rest = Vec::new();
    let _ = soon(stream.read.read_to_end(&mut rest)).await;
}

#[tokio::test]
async fn garbage_is_refused_and_the_node_goes_on() {
    let network = MemoryNetwork::new();
    let two = Two::on([ractor, kameo], network.clone()).await;
    let a = two.account("alice").await;
    let mut attacks: Vec<Vec<u8>> = (0..200).map(|seed| noise(seed, seed as usize * 7)).collect();
    // A hello that is too long, an empty packet, a welcome instead of a hello, and lengths without bytes.
    attacks.push([&5_000_u32.to_le_bytes()[..], &[1; 5_000]].concat());
    attacks.push(vec![0; 64]);
    attacks.push(vec![3, 0, 0, 0, 2, 1, 1]);
    attacks.push(u32::MAX.to_le_bytes().to_vec());
    attacks.push([&40_u32.to_le_bytes()[..], &[1], b"dactor\x01\0\x01\0", &[0xdd; 29]].concat());
    for attack in attacks {
        let mut stream = network.connect(two.there.id()).await.unwrap();
        let _ = stream.write.write_all(&attack).await;
        let _ = stream.write.shutdown().await;
        closed(stream).await;
    }
    assert_eq!(soon(a.far.ask(Deposit(3))).await.unwrap(), 3);
}

#[tokio::test]
async fn slow_handshakes_and_many_connections_are_bounded() {
    let network = MemoryNetwork::new();
    let config = quick().handshake_timeout(Duration::from_millis(100)).max_handshakes(8);
    let [here, there] = [ractor, kameo].map(|backend| system("bank", backend));
    let here = builder(&here).network(network.clone()).start().await.unwrap();
    let there = builder(&there).config(config).network(network.clone()).start().await.unwrap();
    let two = Two { here, there };
    let a = two.account("alice").await;
    let mut streams = Vec::new();
    for _ in 0..2_000 {
        streams.push(network.connect(two.there.id()).await.unwrap());
    }
    for stream in streams {
        closed(stream).await;
    }
    assert_eq!(soon(a.far.ask(Deposit(3))).await.unwrap(), 3);
}
