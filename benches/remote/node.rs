//! Typed messages to an actor of another process.

use std::time::{Duration, Instant};

use dactor::ActorRef;
use dactor::remote::{Node, Tls};

use crate::Server;
use crate::server::{Count, Echo, Numbers, Target};

/// Refs to the actor of the other process.
pub(crate) struct Clients {
    pub(crate) plain: ActorRef<Target>,
    pub(crate) tls: ActorRef<Target>,
    _nodes: [Node; 2],
}

impl Clients {
    pub(crate) async fn connect(server: &Server) -> Self {
        let system =
            dactor::System::builder("bench").backend(dactor_ractor::ractor()).build().expect("a system");
        let plain = Node::builder(&system).start().await.expect("a node");
        let system =
            dactor::System::builder("bench").backend(dactor_ractor::ractor()).build().expect("a system");
        let pem = &server.pem;
        let certificate = Tls::from_pem(pem[0].as_bytes(), pem[1].as_bytes(), pem[2].as_bytes());
        let tls =
            Node::builder(&system).tls(certificate.expect("a certificate")).start().await.expect("a node");
        let path = |address: &str| format!("{address}/user/target");
        Self {
            plain: plain.actor_at(path(&server.addresses[1])).await.expect("the actor"),
            tls: tls.actor_at(path(&server.addresses[2])).await.expect("the actor"),
            _nodes: [plain, tls],
        }
    }
}

fn echo() -> Echo {
    Echo { text: "x".repeat(40), number: 7 }
}

/// Asks of so many tasks.
pub(crate) async fn asks(target: &ActorRef<Target>, tasks: usize, length: Duration) -> u64 {
    let end = Instant::now() + length;
    let tasks: Vec<_> = (0..tasks)
        .map(|_| {
            let target = target.clone();
            tokio::spawn(async move {
                let mut done = 0;
                while Instant::now() < end {
                    assert_eq!(target.ask(echo()).await.expect("an answer"), 7);
                    done += 1;
                }
                done
            })
        })
        .collect();
    let mut done = 0;
    for task in tasks {
        done += task.await.expect("no panic");
    }
    done
}

/// Tells in bursts; an ask behind each says that they were handled.
pub(crate) async fn tells(target: &ActorRef<Target>, length: Duration) -> u64 {
    let before = target.ask(Count).await.expect("an answer");
    let (end, mut sent) = (Instant::now() + length, 0);
    while Instant::now() < end {
        for _ in 0..10_000 {
            target.tell(echo()).expect("it is sent");
        }
        sent += 10_000;
        assert_eq!(target.ask(Count).await.expect("an answer"), before + sent, "all are handled, once");
    }
    sent
}

/// Items of a stream.
pub(crate) async fn expand(target: &ActorRef<Target>, length: Duration) -> u64 {
    let (end, mut done) = (Instant::now() + length, 0);
    while Instant::now() < end {
        let mut items = target.expand(Numbers(5_000)).await.expect("a stream");
        while let Some(item) = items.next().await {
            item.expect("an item");
            done += 1;
        }
    }
    done
}
