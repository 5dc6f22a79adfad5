//! The handshake of two nodes.
//!
//! The connecting node sends a hello, and the other one answers with a welcome or a refusal. Hello and
//! welcome contain the node's identity and its range of protocol versions. A hello has at most 4 KiB, and
//! nothing else is read before it.

use std::fmt;
use std::io;

use dactor_core::{Error, ErrorKind, NodeId};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::connection::framing::{Parsed, kind, parse, put};
use crate::connection::reader::Buffer;
use crate::transport::Duplex;

/// The range of protocol versions that this node supports.
pub(crate) const VERSIONS: (u16, u16) = (1, 1);

const MAGIC: &[u8; 6] = b"dactor";
/// The maximum size of a handshake packet.
const LIMIT: usize = 4 * 1024;

/// The identity and limits of a node. Later versions may add fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// The name of the actor system, which all nodes of a cluster share.
    pub(crate) namespace: String,
    pub(crate) node: String,
    pub(crate) incarnation: u64,
    /// The version of the application, for diagnostics.
    #[serde(default)]
    pub(crate) application: String,
    pub(crate) codec: String,
    /// The address of the intended receiver.
    #[serde(default)]
    pub(crate) to: String,
    /// The number of connections so far with this incarnation of the other node.
    #[serde(default)]
    pub(crate) established: u64,
    /// Whether other nodes may stop actors of this node and spawn new ones.
    #[serde(default)]
    pub(crate) control: bool,
    /// The maximum size of a message that the node receives.
    #[serde(default)]
    pub(crate) max_message: u64,
    /// The maximum number of in-flight asks that the node accepts.
    #[serde(default)]
    pub(crate) max_in_flight: u64,
}

/// Why a handshake was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The hello is malformed.
    Malformed,
    /// The nodes support no common protocol version.
    Version,
    /// The systems have different names.
    Namespace,
    /// The nodes use different codecs.
    Codec,
    /// The node that listens at the address is not the intended one.
    WrongNode,
    /// The certificate is not valid for the node.
    Certificate,
    /// This incarnation of the node is quarantined.
    Quarantined,
    /// Both nodes connected at the same time, and the other connection is kept.
    Simultaneous,
    /// The node accepts no new connections: it is shutting down, or too many handshakes are in progress.
    Busy,
    /// A reason unknown to this version.
    Other,
}

impl Refusal {
    const ALL: [Self; 9] = [
        Self::Malformed,
        Self::Version,
        Self::Namespace,
        Self::Codec,
        Self::WrongNode,
        Self::Certificate,
        Self::Quarantined,
        Self::Simultaneous,
        Self::Busy,
    ];

    /// The name on the wire.
    fn name(self) -> String {
        format!("{self:?}")
    }

    fn named(name: &str) -> Self {
        Self::ALL.into_iter().find(|refusal| refusal.name() == name).unwrap_or(Self::Other)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the handshake was malformed",
            Self::Version => "there is no common version of the protocol",
            Self::Namespace => "the systems have different names",
            Self::Codec => "the nodes use different codecs",
            Self::WrongNode => "another node is at the address",
            Self::Certificate => "the certificate is not that of the node",
            Self::Quarantined => "this incarnation of the node is quarantined",
            Self::Simultaneous => "both nodes have connected at the same time",
            Self::Busy => "the node takes no new connections",
            Self::Other => "for a reason that is not known here",
        })
    }
}

/// The answer to a hello.
#[derive(Debug)]
pub(crate) enum Answer {
    Welcome(Hello),
    Refused(Refusal, String),
}

/// Why a handshake failed.
#[derive(Debug)]
pub(crate) enum Failed {
    Io(io::Error),
    /// Refused by this node or by the other one.
    Refused {
        by_us: bool,
        why: Refusal,
        text: String,
    },
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Failed {
    pub(crate) fn ours(why: Refusal, text: impl Into<String>) -> Self {
        Self::Refused { by_us: true, why, text: text.into() }
    }

    pub(crate) fn refusal(&self) -> Option<Refusal> {
        match self {
            Self::Io(_) => None,
            Self::Refused { why, .. } => Some(*why),
        }
    }

    pub(crate) fn error(&self, node: &NodeId) -> Error {
        let error = |kind| dactor_core::spi::unhandled(Error::new(kind).with("node", node));
        match self {
            Self::Io(cause) => error(ErrorKind::Unresolved).because(cause.to_string()),
            Self::Refused { by_us, why, text } => {
                let kind = match why {
                    Refusal::Quarantined => ErrorKind::Quarantined,
                    _ => ErrorKind::Unresolved,
                };
                let error = error(kind).with("because", why).with("detail", text);
                error.with("refused by", if *by_us { "this node" } else { "the other node" })
            }
        }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::Refused { why, text, .. } => write!(f, "{why}: {text}"),
        }
    }
}

/// Encodes the body of a hello or a welcome.
fn encode(hello: &Hello) -> io::Result<Vec<u8>> {
    let mut body = MAGIC.to_vec();
    body.extend_from_slice(&VERSIONS.0.to_le_bytes());
    body.extend_from_slice(&VERSIONS.1.to_le_bytes());
    rmp_serde::encode::write_named(&mut body, hello).map_err(io::Error::other)?;
    Ok(body)
}

/// Decodes a hello and checks for a common protocol version.
pub(crate) fn decode(body: &[u8]) -> Result<Hello, Failed> {
    let malformed = |text: &str| Failed::ours(Refusal::Malformed, text);
    let rest = body.strip_prefix(MAGIC).ok_or_else(|| malformed("it does not begin like a hello"))?;
    let ([a, b, c, d], rest) = rest.split_first_chunk().ok_or_else(|| malformed("it has no version"))?;
    let (least, most) = (u16::from_le_bytes([*a, *b]), u16::from_le_bytes([*c, *d]));
    if least > VERSIONS.1 || most < VERSIONS.0 {
        let text = format!("{least} to {most} there, {} to {} here", VERSIONS.0, VERSIONS.1);
        return Err(Failed::ours(Refusal::Version, text));
    }
    rmp_serde::from_slice(rest).map_err(|error| malformed(&error.to_string()))
}

/// Sends a handshake packet.
async fn send(to: &mut (impl AsyncWrite + Unpin + ?Sized), kind: u8, body: &[u8]) -> io::Result<()> {
    let mut packet = Vec::new();
    put(&mut packet, kind, &[body]);
    to.write_all(&packet).await?;
    to.flush().await
}

/// Receives the next handshake packet.
async fn receive(stream: &mut Duplex, buffer: &mut Buffer) -> Result<(u8, Vec<u8>), Failed> {
    let mut needed = 0;
    loop {
        if needed > 0 || buffer.filled().is_empty() {
            buffer.fill(&mut *stream.read, needed, 512).await?;
        }
        match parse(buffer.filled(), LIMIT) {
            Parsed::Partial(more) => needed = more,
            Parsed::Invalid(why) => return Err(Failed::ours(Refusal::Malformed, why)),
            Parsed::Whole { kind, body, length } => {
                let packet = (kind, body.to_vec());
                buffer.consume(length);
                return Ok(packet);
            }
        }
    }
}

/// Sends a hello and reads the answer.
pub(crate) async fn say_hello(
    stream: &mut Duplex,
    buffer: &mut Buffer,
    hello: &Hello,
) -> Result<Hello, Failed> {
    send(&mut *stream.write, kind::HELLO, &encode(hello)?).await?;
    match receive(stream, buffer).await? {
        (kind::WELCOME, body) => decode(&body),
        (kind::REFUSED, body) => {
            let (why, text): (String, String) = rmp_serde::from_slice(&body).unwrap_or_default();
            Err(Failed::Refused { by_us: false, why: Refusal::named(&why), text })
        }
        _ => Err(Failed::ours(Refusal::Malformed, "a hello is answered by a welcome")),
    }
}

/// Receives a hello.
pub(crate) async fn hear_hello(stream: &mut Duplex, buffer: &mut Buffer) -> Result<Hello, Failed> {
    match receive(stream, buffer).await? {
        (kind::HELLO, body) => decode(&body),
        _ => Err(Failed::ours(Refusal::Malformed, "a connection begins with a hello")),
    }
}

/// Sends the answer to a hello.
pub(crate) async fn answer(stream: &mut Duplex, answer: &Answer) -> io::Result<()> {
    match answer {
        Answer::Welcome(hello) => send(&mut *stream.write, kind::WELCOME, &encode(hello)?).await,
        Answer::Refused(why, text) => {
            let body = rmp_serde::to_vec(&(why.name(), text)).map_err(io::Error::other)?;
            send(&mut *stream.write, kind::REFUSED, &body).await?;
            stream.write.shutdown().await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        Hello {
            namespace: "bank".into(),
            node: "127.0.0.1:1".into(),
            incarnation: 7,
            application: "1.2".into(),
            codec: "msgpack".into(),
            to: "127.0.0.1:2".into(),
            established: 0,
            control: false,
            max_message: 1,
            max_in_flight: 2,
        }
    }

    #[test]
    fn hellos_travel() {
        let bytes = encode(&hello()).unwrap();
        assert_eq!(decode(&bytes).unwrap(), hello());
        for end in 0..bytes.len() {
            assert_eq!(decode(&bytes[..end]).unwrap_err().refusal(), Some(Refusal::Malformed), "{end}");
        }
    }

    #[test]
    fn versions_must_overlap() {
        let mut bytes = encode(&hello()).unwrap();
        for (least, most, fits) in [(1_u16, 1_u16, true), (1, 9, true), (0, 0, false), (2, 9, false)] {
            bytes[6..8].copy_from_slice(&least.to_le_bytes());
            bytes[8..10].copy_from_slice(&most.to_le_bytes());
            let refusal = decode(&bytes).err().and_then(|failed| failed.refusal());
            assert_eq!(refusal, (!fits).then_some(Refusal::Version), "{least} to {most}");
        }
    }
}
