//! Configures and starts a node.

use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use dactor_core::wire::{HeaderDecoders, Remote, Served};
use dactor_core::{Codec, Error, ErrorKind, Header, NodeId, Result, System};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::Handle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::accept::{accept, tick};
use crate::config::RemotingConfig;
use crate::events::{Events, NodeEvent};
use crate::inner::Inner;
use crate::node::Node;
use crate::peer::{Peers, parts_of};
use crate::reservation::{LIMIT, Reservations};
use crate::security::Security;
use crate::system_actors::{self, Factories, factory};
use crate::transport::{Listener, Network, TcpNetwork};

/// Configures a [`Node`].
#[must_use = "a node is started by `start`"]
pub struct NodeBuilder {
    system: System,
    listen: String,
    config: RemotingConfig,
    network: Arc<dyn Network>,
    security: Security,
    is_insecure: bool,
    allow_control: bool,
    application: String,
    served: Result<Served>,
    headers: Result<HeaderDecoders>,
    events: Events,
    factories: Factories,
    has_system_actors: bool,
}

impl NodeBuilder {
    pub(crate) fn new(system: &System) -> Self {
        Self {
            system: system.clone(),
            listen: "127.0.0.1:0".into(),
            config: RemotingConfig::default(),
            network: Arc::new(TcpNetwork),
            security: Security::Plain,
            is_insecure: false,
            allow_control: false,
            application: String::new(),
            served: Ok(Served::default()),
            headers: Ok(HeaderDecoders::default()),
            events: Events::default(),
            factories: Factories::new(),
            has_system_actors: true,
        }
    }

    /// The address to listen at, as `host:port`; `127.0.0.1:0` by default. Port 0 selects a free port.
    pub fn listen(mut self, at: impl Into<String>) -> Self {
        self.listen = at.into();
        self
    }

    /// Sets limits and timeouts.
    pub fn config(mut self, config: RemotingConfig) -> Self {
        self.config = config;
        self
    }

    /// Sets the codec of payloads: see [`RemotingConfig::codec`].
    pub fn codec(mut self, codec: Codec) -> Self {
        self.config = self.config.codec(codec);
        self
    }

    /// Sets the network; TCP by default.
    pub fn network(mut self, network: impl Network) -> Self {
        self.network = Arc::new(network);
        self
    }

    /// Lets the node listen at and connect to addresses beyond loopback without TLS. Anyone on the network
    /// can then read and forge its traffic.
    pub fn insecure(mut self) -> Self {
        self.is_insecure = true;
        self
    }

    /// Protects connections by mutual TLS.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, tls: crate::Tls) -> Self {
        self.security = Security::Tls(tls);
        self
    }

    /// Lets other nodes spawn actors here with arguments that they send: see [`Node::spawn_on`]. Requires
    /// [`allow_control`](Self::allow_control). The actor type is [served](Self::serve), and a restart uses
    /// the same arguments.
    pub fn factory<T, A>(
        mut self,
        name: impl Into<String>,
        make: impl Fn(T) -> A + Send + Sync + 'static,
    ) -> Self
    where
        T: Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
        A: Remote,
    {
        self.factories.insert(name.into(), factory(make));
        self.serve::<A>()
    }

    /// Does not start the [system actors](crate::system_actors) under `/system`.
    pub fn without_system_actors(mut self) -> Self {
        self.has_system_actors = false;
        self
    }

    /// Lets other nodes stop, drain and kill actors of this node, and spawn actors with its
    /// [factories](Self::factory).
    pub fn allow_control(mut self) -> Self {
        self.allow_control = true;
        self
    }

    /// The version of the application, which is sent to other nodes in the handshake.
    pub fn application_version(mut self, version: impl Into<String>) -> Self {
        self.application = version.into();
        self
    }

    /// Lets actors of this type receive messages from other nodes.
    pub fn serve<A: Remote>(mut self) -> Self {
        self.served = self.served.and_then(|mut served| served.add::<A>().map(|()| served));
        self
    }

    /// Registers a header type, so that it is decoded from messages of other nodes.
    pub fn header<H: Header>(mut self) -> Self {
        self.headers = self.headers.and_then(|mut headers| headers.register::<H>().map(|()| headers));
        self
    }

    /// Replaces the tables that [`serve`](Self::serve) and [`header`](Self::header) fill. For test kits.
    #[doc(hidden)]
    pub fn tables(mut self, served: Served, headers: HeaderDecoders) -> Self {
        (self.served, self.headers) = (Ok(served), Ok(headers));
        self
    }

    /// Calls `subscriber` with every event. A panic in it is caught.
    pub fn on_event(self, subscriber: impl Fn(&NodeEvent) + Send + Sync + 'static) -> Self {
        self.events.subscribe(subscriber);
        self
    }

    /// Binds the listener and starts the node.
    ///
    /// # Errors
    ///
    /// - [`NoRuntime`](ErrorKind::NoRuntime) outside of a tokio runtime.
    /// - [`Unsupported`](ErrorKind::Unsupported) for an invalid setting, and for an address beyond loopback
    ///   without TLS or [`insecure`](Self::insecure).
    /// - [`Backend`](ErrorKind::Backend) when the address cannot be bound.
    /// - The errors of [`Accepts::of`](dactor_core::wire::Accepts::of) and [`HeaderDecoders::register`].
    pub async fn start(self) -> Result<Node> {
        let runtime = Handle::try_current()
            .map_err(|_| Error::new(ErrorKind::NoRuntime).with("call", "NodeBuilder::start"))?;
        self.config.check()?;
        let (mut served, headers) = (self.served?, self.headers?);
        if self.has_system_actors {
            system_actors::serve(&mut served)?;
        }
        let unreachable = |error: std::io::Error| {
            Error::new(ErrorKind::Backend).with("address", &self.listen).because(error)
        };
        let is_plain = matches!(self.security, Security::Plain);
        if is_plain && !self.is_insecure && !is_loopback(&self.listen) {
            let error = Error::new(ErrorKind::Unsupported).with("address", &self.listen);
            return Err(error.with("because", "beyond loopback a node needs TLS, or `insecure()`"));
        }
        let listener = self.network.bind(&self.listen).await.map_err(unreachable)?;
        let id = canonical(&*listener, self.config.canonical.as_deref()).map_err(unreachable)?;
        let inner = Arc::new(Inner {
            parts: parts_of(self.system.name(), &id)?,
            system: self.system,
            id,
            application: self.application,
            allow_control: self.allow_control,
            network: self.network,
            security: self.security,
            served,
            headers,
            events: self.events,
            factories: self.factories,
            runtime,
            closed: CancellationToken::new(),
            began: Instant::now(),
            peers: Mutex::new(Peers::new()),
            has_reservations: AtomicBool::new(false),
            reservations: Mutex::new(Reservations::new(self.config.reservation(), LIMIT)),
            config: self.config,
        });
        if self.has_system_actors {
            system_actors::start(&inner).await?;
        }
        inner.runtime.spawn(accept(Arc::downgrade(&inner), listener, inner.closed.clone()));
        inner.runtime.spawn(tick(Arc::downgrade(&inner), inner.config.heartbeat, inner.closed.clone()));
        Ok(Node::new(inner))
    }
}

/// Whether the address is reachable from this machine only.
fn is_loopback(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|host| host.is_loopback())
}

/// The address by which other nodes reach this one.
fn canonical(listener: &dyn Listener, wanted: Option<&str>) -> std::io::Result<NodeId> {
    let bound = listener.local_addr()?;
    let Some(wanted) = wanted else { return Ok(bound) };
    let invalid = |error| std::io::Error::new(std::io::ErrorKind::InvalidInput, error);
    wanted.parse().or_else(|_| NodeId::new(wanted, bound.port())).map_err(invalid)
}

impl fmt::Debug for NodeBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeBuilder").field("listen", &self.listen).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback() {
        for here in ["127.0.0.1:0", "127.9.9.9:80", "[::1]:80", "localhost:80"] {
            assert!(is_loopback(here), "{here}");
        }
        for beyond in ["0.0.0.0:0", "192.168.0.1:80", "[::]:80", "example.com:80", "localhost.example.com:80"]
        {
            assert!(!is_loopback(beyond), "{beyond}");
        }
    }
}
