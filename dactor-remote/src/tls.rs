//! Mutual TLS 1.3.

use std::fmt;
use std::io;
use std::sync::Arc;

use dactor_core::{Error, ErrorKind, NodeId, Result};
use rustls::client::verify_server_name;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig, crypto::ring, version::TLS13};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::security::Certificate;
use crate::transport::Duplex;

/// The certificate of a node and its trusted certificate authorities.
///
/// Both nodes of a connection present certificates. Each certificate must be signed by an authority that the
/// other node trusts and be valid for the host of its node's address, so that no node can impersonate another
/// one.
#[derive(Clone)]
pub struct Tls {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl Tls {
    /// Reads PEM: the trusted certificate authorities, this node's certificate chain, and the private key.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ErrorKind::Unsupported) when an input is missing or malformed, or the key does not
    /// match the certificate.
    pub fn from_pem(authorities: &[u8], chain: &[u8], key: &[u8]) -> Result<Self> {
        let read = |pem| CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>().map_err(invalid);
        let mut roots = RootCertStore::empty();
        for authority in read(authorities)? {
            roots.add(authority).map_err(invalid)?;
        }
        let (chain, key) = (read(chain)?, PrivateKeyDer::from_pem_slice(key).map_err(invalid)?);
        let roots = Arc::new(roots);
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone())
            .build()
            .map_err(invalid)?;
        let client = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&TLS13])
            .map_err(invalid)?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain.clone(), key.clone_key())
            .map_err(invalid)?;
        let server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(invalid)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, key)
            .map_err(invalid)?;
        Ok(Self { client: Arc::new(client), server: Arc::new(server) })
    }

    pub(crate) async fn connect(
        &self,
        stream: Duplex,
        node: &NodeId,
    ) -> io::Result<(Duplex, Option<Certificate>)> {
        let stream = tokio::io::join(stream.read, stream.write);
        let stream = TlsConnector::from(self.client.clone()).connect(server_name(node)?, stream).await?;
        let (_, session) = stream.get_ref();
        let certificate = shown(session.peer_certificates())?;
        let (read, write) = tokio::io::split(stream);
        Ok((Duplex::new(read, write), Some(certificate)))
    }

    pub(crate) async fn accept(&self, stream: Duplex) -> io::Result<(Duplex, Option<Certificate>)> {
        let stream = tokio::io::join(stream.read, stream.write);
        let stream = TlsAcceptor::from(self.server.clone()).accept(stream).await?;
        let (_, session) = stream.get_ref();
        let certificate = shown(session.peer_certificates())?;
        let (read, write) = tokio::io::split(stream);
        Ok((Duplex::new(read, write), Some(certificate)))
    }
}

fn shown(certificates: Option<&[CertificateDer<'_>]>) -> io::Result<Certificate> {
    match certificates.and_then(<[_]>::first) {
        Some(certificate) => Ok(Certificate { der: certificate.clone().into_owned() }),
        None => Err(io::Error::new(io::ErrorKind::PermissionDenied, "the other node shows no certificate")),
    }
}

fn server_name(node: &NodeId) -> io::Result<ServerName<'static>> {
    let host = node.host().trim_start_matches('[').trim_end_matches(']').to_owned();
    ServerName::try_from(host).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
}

/// Whether the certificate is valid for the host of this node.
pub(crate) fn check_name(certificate: &CertificateDer<'_>, node: &NodeId) -> Result<(), String> {
    let name = server_name(node).map_err(|error| error.to_string())?;
    let parsed = ParsedCertificate::try_from(certificate).map_err(|error| error.to_string())?;
    verify_server_name(&parsed, &name).map_err(|error| format!("it is not that of {}: {error}", node.host()))
}

fn invalid(cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Unsupported).with("setting", "tls").because(cause)
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}
