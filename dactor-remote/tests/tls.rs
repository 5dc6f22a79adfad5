//! TLS between nodes: who is let in, and who is not.

mod support;

use dactor_core::ErrorKind;
use dactor_remote::transport::TcpNetwork;
use dactor_remote::{Node, Tls};
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, KeyPair};

use support::*;

/// An authority that signs certificates of nodes.
struct Authority {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self { certificate: params.self_signed(&key).unwrap(), key }
    }

    /// The certificate of a node at this host.
    fn tls(&self, host: &str, expired: bool) -> Tls {
        let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        if expired {
            params.not_before = rcgen::date_time_ymd(2001, 1, 1);
            params.not_after = rcgen::date_time_ymd(2002, 1, 1);
        }
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.certificate, &self.key).unwrap();
        let authority = self.certificate.pem();
        Tls::from_pem(authority.as_bytes(), certificate.pem().as_bytes(), key.serialize_pem().as_bytes())
            .unwrap()
    }
}

async fn node(tls: Option<Tls>) -> Node {
    let builder = builder(&system("bank", ractor)).network(TcpNetwork);
    match tls {
        Some(tls) => builder.tls(tls).start().await.unwrap(),
        None => builder.start().await.unwrap(),
    }
}

#[tokio::test]
async fn nodes_with_certificates_talk() {
    let authority = Authority::new();
    let here = node(Some(authority.tls("127.0.0.1", false))).await;
    let there = builder(&system("bank", kameo)).tls(authority.tls("127.0.0.1", false)).start().await.unwrap();
    let two = Two { here, there };
    let a = two.account("alice").await;
    assert_eq!(soon(a.far.ask(Deposit(20))).await.unwrap(), 20);
    let large = "x".repeat(1024 * 1024);
    assert_eq!(soon(a.far.ask(Text(large.clone()))).await.unwrap().0, large);
}

#[tokio::test]
async fn others_are_refused() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let there = node(Some(authority.tls("127.0.0.1", false))).await;
    for (what, tls) in [
        ("no certificate", None),
        ("another authority", Some(stranger.tls("127.0.0.1", false))),
        ("expired", Some(authority.tls("127.0.0.1", true))),
        ("another name", Some(authority.tls("example.com", false))),
    ] {
        let here = node(tls).await;
        let error = soon(here.connect_peer(there.id())).await.expect_err(what);
        assert_eq!(error.kind(), ErrorKind::Unresolved, "{what}: {error:#}");
        // Nor does it connect to a node like that.
        let error = soon(there.connect_peer(here.id())).await.expect_err(what);
        assert_eq!(error.kind(), ErrorKind::Unresolved, "{what}: {error:#}");
    }
    let here = node(Some(authority.tls("127.0.0.1", false))).await;
    soon(here.connect_peer(there.id())).await.unwrap();
}

#[test]
fn what_is_not_pem_is_refused() {
    for pem in [&b""[..], b"garbage"] {
        assert_eq!(Tls::from_pem(pem, pem, pem).unwrap_err().kind(), ErrorKind::Unsupported);
    }
}
