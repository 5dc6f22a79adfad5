//! Pairs of nodes, for the rules about actors of another system.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use dactor_conformance::{FarPair, FarSettings, Subject, Task};
use dactor_core::path::{ActorPathScheme, PathAuthority};
use dactor_core::spi::Backend;
use dactor_core::wire::Association;
use dactor_core::{ActorSystemConfig, ErrorKind, System};
use dactor_remote::transport::{FaultyNetwork, MemoryNetwork, TcpNetwork, WriteFault};
use dactor_remote::{Node, RemotingConfig};

pub(crate) type MakeBackend = fn() -> Box<dyn Backend>;

pub(crate) fn ractor() -> Box<dyn Backend> {
    Box::new(dactor_ractor::ractor())
}

pub(crate) fn kameo() -> Box<dyn Backend> {
    Box::new(dactor_kameo::kameo())
}

/// Nodes on two backends, over a network.
pub(crate) struct Nodes {
    pub(crate) name: &'static str,
    pub(crate) backends: [MakeBackend; 2],
    pub(crate) tcp: bool,
    /// What the network does to every so many writes, after the handshake.
    pub(crate) fault: Option<(WriteFault, u64)>,
}

impl Subject for Nodes {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backend(&self) -> Box<dyn Backend> {
        self.backends[0]()
    }

    fn other_backend(&self) -> Box<dyn Backend> {
        self.backends[1]()
    }

    fn far_pair(&self, settings: FarSettings) -> Option<Task<'_, Box<dyn FarPair>>> {
        Some(Box::pin(async move {
            let pair = NodePair::start(self, &settings).await;
            if let Some((fault, every)) = self.fault {
                pair.network.spoil(fault, every);
            }
            Box::new(pair) as Box<dyn FarPair>
        }))
    }
}

struct NodePair {
    systems: [System; 2],
    nodes: [Node; 2],
    network: FaultyNetwork,
}

static PORTS: AtomicU16 = AtomicU16::new(1);

/// A port that was free a moment ago: paths have to be known before the node listens.
fn port(tcp: bool) -> u16 {
    if !tcp {
        return PORTS.fetch_add(1, Ordering::Relaxed);
    }
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").port()
}

impl NodePair {
    async fn start(subject: &Nodes, settings: &FarSettings) -> Self {
        let network = match subject.tcp {
            true => FaultyNetwork::new(TcpNetwork),
            false => FaultyNetwork::new(MemoryNetwork::new()),
        };
        let (mut systems, mut nodes) = (Vec::new(), Vec::new());
        for backend in subject.backends {
            // Another process may have taken the port meanwhile.
            let (system, node) = loop {
                let port = port(subject.tcp);
                let authority = PathAuthority::new("127.0.0.1", Some(port)).expect("an address");
                let config =
                    ActorSystemConfig::new("far").scheme(ActorPathScheme::PekkoTcp).authority(authority);
                let system = System::builder(config).backend(backend()).build().expect("a system");
                let remoting = RemotingConfig::new()
                    .codec(settings.codec)
                    .backoff(Duration::from_millis(1), Duration::from_millis(20));
                let mut builder = Node::builder(&system)
                    .config(remoting)
                    .listen(format!("127.0.0.1:{port}"))
                    .network(network.clone())
                    .tables(settings.served.clone(), settings.headers.clone());
                if settings.control {
                    builder = builder.allow_control();
                }
                if let Ok(node) = builder.start().await {
                    break (system, node);
                }
            };
            systems.push(system);
            nodes.push(node);
        }
        let pair = Self {
            systems: systems.try_into().expect("two"),
            nodes: nodes.try_into().expect("two"),
            network,
        };
        pair.nodes[0].connect_peer(pair.nodes[1].id()).await.expect("it connects");
        pair
    }
}

impl FarPair for NodePair {
    fn systems(&self) -> [&System; 2] {
        let [here, there] = &self.systems;
        [here, there]
    }

    fn association(&self, of: usize) -> Arc<Association> {
        self.nodes[of].association(self.nodes[1 - of].id()).expect("another node")
    }

    fn cut(&self) {
        self.network.cut();
    }

    fn heal(&self) {
        self.network.heal();
    }

    fn quarantine(&self) {
        self.nodes[0].quarantine(self.nodes[1].id()).expect("it was connected");
    }

    fn refuse(&self, _: Option<ErrorKind>) -> bool {
        false
    }

    fn frames(&self) -> u64 {
        let sent = |node: &Node| node.peers().iter().map(|peer| peer.frames.0).sum::<u64>();
        self.nodes.iter().map(sent).sum()
    }

    fn defers(&self) -> bool {
        true
    }
}
