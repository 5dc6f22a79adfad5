//! Protection of connections.

use std::fmt;
use std::io;

use dactor_core::NodeId;

use crate::transport::Duplex;

/// The protection of connections.
pub(crate) enum Security {
    /// Unencrypted.
    Plain,
    /// TLS with certificates on both sides.
    #[cfg(feature = "tls")]
    Tls(crate::tls::Tls),
}

/// The certificate of another node.
pub(crate) struct Certificate {
    #[cfg(feature = "tls")]
    pub(crate) der: rustls::pki_types::CertificateDer<'static>,
}

impl Certificate {
    /// Whether the certificate is valid for the node with this address.
    #[cfg(feature = "tls")]
    pub(crate) fn check(&self, node: &NodeId) -> Result<(), String> {
        crate::tls::check_name(&self.der, node)
    }

    #[cfg(not(feature = "tls"))]
    pub(crate) fn check(&self, _: &NodeId) -> Result<(), String> {
        Ok(())
    }
}

impl Security {
    pub(crate) async fn connect(
        &self,
        stream: Duplex,
        node: &NodeId,
    ) -> io::Result<(Duplex, Option<Certificate>)> {
        match self {
            Self::Plain => {
                let _ = node;
                Ok((stream, None))
            }
            #[cfg(feature = "tls")]
            Self::Tls(tls) => tls.connect(stream, node).await,
        }
    }

    pub(crate) async fn accept(&self, stream: Duplex) -> io::Result<(Duplex, Option<Certificate>)> {
        match self {
            Self::Plain => Ok((stream, None)),
            #[cfg(feature = "tls")]
            Self::Tls(tls) => tls.accept(stream).await,
        }
    }
}

impl fmt::Debug for Security {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "Plain",
            #[cfg(feature = "tls")]
            Self::Tls(_) => "Tls",
        })
    }
}
