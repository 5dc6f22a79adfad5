use std::error::Error;
use std::fmt;
use std::net::{Ipv6Addr, SocketAddr};
use std::str::FromStr;

use crate::path::host;

/// A node of a cluster, identified by its address: `host:port`.
///
/// The host is a name, an IPv4 address or an IPv6 address in brackets. It is normalized, so that equal
/// addresses are equal nodes: names in lower case, IPv6 addresses in their shortest form.
///
/// ```
/// use dactor_core::NodeId;
///
/// let node: NodeId = "Node1.Cluster:08080".parse().unwrap();
/// assert_eq!(node.to_string(), "node1.cluster:8080");
/// assert_eq!((node.host(), node.port()), ("node1.cluster", 8080));
/// assert_eq!("[0:0::1]:80".parse(), NodeId::new("[::1]", 80));
/// assert!("node1".parse::<NodeId>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId {
    text: Box<str>,
    host_end: usize,
    port: u16,
}

impl NodeId {
    /// The node at this host and port.
    pub fn new(host: &str, port: u16) -> Result<Self, NodeIdError> {
        host::check(host).map_err(|_| NodeIdError::InvalidHost)?;
        let host = normalized(host);
        Ok(Self { text: format!("{host}:{port}").into_boxed_str(), host_end: host.len(), port })
    }

    /// The host, an IPv6 address with its brackets.
    pub fn host(&self) -> &str {
        &self.text[..self.host_end]
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The whole identity.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The address to bind or connect to. `None` when the host is a name, which has to be resolved.
    pub fn socket_addr(&self) -> Option<SocketAddr> {
        self.text.parse().ok()
    }
}

/// Names are case-insensitive, and an IPv6 address has several spellings. A zone is kept.
fn normalized(host: &str) -> String {
    let Some(literal) = host.strip_prefix('[').and_then(|literal| literal.strip_suffix(']')) else {
        return host.to_ascii_lowercase();
    };
    let (address, zone) = literal.split_at(literal.find('%').unwrap_or(literal.len()));
    match address.parse::<Ipv6Addr>() {
        Ok(address) => format!("[{address}{zone}]"),
        Err(_) => host.into(),
    }
}

impl From<SocketAddr> for NodeId {
    fn from(address: SocketAddr) -> Self {
        let text = address.to_string().into_boxed_str();
        let host_end = text.rfind(':').unwrap_or(text.len());
        Self { text, host_end, port: address.port() }
    }
}

impl FromStr for NodeId {
    type Err = NodeIdError;

    fn from_str(text: &str) -> Result<Self, NodeIdError> {
        let (host, digits) = host::split_port(text);
        let port = host::port(digits.ok_or(NodeIdError::InvalidFormat)?).ok_or(NodeIdError::InvalidPort)?;
        Self::new(host, port)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// Why a text is not a valid [`NodeId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NodeIdError {
    /// The text is not `host:port`.
    InvalidFormat,
    /// The host is neither a name nor an address, or has more than 255 bytes.
    InvalidHost,
    /// The port is not a number from 0 to 65535.
    InvalidPort,
}

impl fmt::Display for NodeIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidFormat => "a node id reads `host:port`",
            Self::InvalidHost => {
                "the host of the node id is neither a name nor an address of at most 255 bytes"
            }
            Self::InvalidPort => "the port of the node id is not a number from 0 to 65535",
        })
    }
}

impl Error for NodeIdError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes() {
        for (text, host, port) in [
            ("127.0.0.1:5000", "127.0.0.1", 5000),
            ("node1.cluster.local:0", "node1.cluster.local", 0),
            ("[::1]:65535", "[::1]", 65535),
            ("[fe80::1%eth0]:1", "[fe80::1%eth0]", 1),
        ] {
            let node: NodeId = text.parse().unwrap();
            assert_eq!((node.host(), node.port(), node.as_str()), (host, port, text));
        }
        let address: SocketAddr = "[::1]:5000".parse().unwrap();
        assert_eq!(NodeId::from(address), "[::1]:5000".parse().unwrap());
        assert_eq!(NodeId::from(address).socket_addr(), Some(address));
        assert_eq!(NodeId::from(address).host(), "[::1]");
        assert_eq!("node1:1".parse::<NodeId>().unwrap().socket_addr(), None);
    }

    #[test]
    fn refusals() {
        use NodeIdError::{InvalidFormat, InvalidHost, InvalidPort};
        for (bad, error) in [
            ("", InvalidFormat),
            ("node1", InvalidFormat),
            ("[::1]", InvalidFormat),
            (":80", InvalidHost),
            ("a b:80", InvalidHost),
            ("a:", InvalidPort),
            ("a:65536", InvalidPort),
            ("a:+1", InvalidPort),
            ("::1:80", InvalidPort),
        ] {
            assert_eq!(bad.parse::<NodeId>(), Err(error), "{bad}");
        }
    }
}
