//! How a node is configured and started.

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

    /// Where it listens: `host:port`; `127.0.0.1:0` if not set. Port 0 is any that is free.
    pub fn listen(mut self, at: impl Into<String>) -> Self {
        self.listen = at.into();
        self
    }

    /// Its limits and times.
    pub fn config(mut self, config: RemotingConfig) -> Self {
        self.config = config;
        self
    }

    /// How payloads are encoded: see [`RemotingConfig::codec`].
    pub fn codec(mut self, codec: Codec) -> Self {
        self.config = self.config.codec(codec);
        self
    }

    /// The network; TCP if not set.
    pub fn network(mut self, network: impl Network) -> Self {
        self.network = Arc::new(network);
        self
    }

    /// Lets the node listen beyond loopback, and connect there, without TLS. All that is sent can be read and forged by
    /// others in the network then.
    pub fn insecure(mut self) -> Self {
        self.is_insecure = true;
        self
    }

    /// Protects connections by TLS, with certificates on both sides.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, tls: crate::Tls) -> Self {
        self.security = Security::Tls(tls);
        self
    }

    /// Lets other nodes spawn actors here, with the arguments that they send, if [control](Self::allow_control) is allowed: see
    /// [`Node::spawn_on`]. The type is [served](Self::serve), and an actor is restarted with the same arguments.
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

    /// Does not start the [actors of the node](crate::system_actors) under `/system`.
    pub fn without_system_actors(mut self) -> Self {
        self.has_system_actors = false;
        self
    }

    /// Lets other nodes stop, drain and kill actors of this one, and spawn actors by its [factories](Self::factory).
    pub fn allow_control(mut self) -> Self {
        self.allow_control = true;
        self
    }

    /// The version of the application, which other nodes get to know.
    pub fn application_version(mut self, version: impl Into<String>) -> Self {
        self.application = version.into();
        self
    }

    /// Lets actors of this type take messages from other nodes.
    pub fn serve<A: Remote>(mut self) -> Self {
        self.served = self.served.and_then(|mut served| served.add::<A>().map(|()| served));
        self
    }

    /// Lets headers of this type be read.
    pub fn header<H: Header>(mut self) -> Self {
        self.headers = self.headers.and_then(|mut headers| headers.register::<H>().map(|()| headers));
        self
    }

    /// Sets what [`serve`](Self::serve) and [`header`](Self::header) build, for test kits.
    #[doc(hidden)]
    pub fn tables(mut self, served: Served, headers: HeaderDecoders) -> Self {
        (self.served, self.headers) = (Ok(served), Ok(headers));
        self
    }

    /// Calls this with every event. A panic is contained.
    pub fn on_event(self, subscriber: impl Fn(&NodeEvent) + Send + Sync + 'static) -> Self {
        self.events.subscribe(subscriber);
        self
    }

    /// Begins to listen.
    ///
    /// # Errors
    ///
    /// - [`NoRuntime`](ErrorKind::NoRuntime) outside of a tokio runtime.
    /// - [`Unsupported`](ErrorKind::Unsupported) for a setting without sense, and for an address beyond loopback without TLS
    ///   that is not [allowed](Self::insecure).
    /// - [`Backend`](ErrorKind::Backend) when it cannot listen at the address.
    /// - Those of [`Accepts::of`](dactor_core::wire::Accepts::of) and [`HeaderDecoders::register`].
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

/// Whether only this machine reaches the address.
fn is_loopback(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|host| host.is_loopback())
}

/// The address by which others reach the node.
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
