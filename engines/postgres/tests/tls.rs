//! TLS to the server.

mod common;

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use common::server::{Server, skipped};
use common::{Schema, entity, join, own};
use dactor_engine::{Engine, Etag, FencedSql};
use dactor_postgres::{OpenError, Postgres, trusted_roots};
use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, KeyPair};

struct Authority {
    certificate: Certificate,
    key: KeyPair,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self { certificate: params.self_signed(&key).unwrap(), key }
    }

    /// A certificate and its key for this name, in PEM.
    fn issue(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.certificate, &self.key).unwrap();
        (certificate.pem(), key.serialize_pem())
    }
}

#[tokio::test]
async fn encrypted_connections() {
    if skipped() {
        return;
    }
    let server = Server::start();
    let authority = Authority::new();
    let roots = |authority: &Authority| trusted_roots(authority.certificate.pem().as_bytes()).unwrap();
    let open = |schema: &Schema, authority: &Authority| {
        Postgres::builder(&schema.url).schema(&schema.name).tls(roots(authority)).open()
    };
    let schema = Schema::on(&server.url);
    let error = open(&schema, &authority).await.unwrap_err();
    assert!(matches!(error, OpenError::Tls(_)), "a server without TLS: {error:?}");

    let (certificate, key) = authority.issue("127.0.0.1");
    let owner = std::fs::metadata(server.path("data")).unwrap();
    let mut settings = vec!["ssl=on".to_owned()];
    for (name, content, setting) in
        [("server.crt", certificate, "ssl_cert_file"), ("server.key", key, "ssl_key_file")]
    {
        let path = server.path(name);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::chown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
        settings.push(format!("{setting}={}", path.display()));
    }
    server.stop("fast");
    server.restart(&settings.iter().map(|setting| &**setting).collect::<Vec<_>>());

    let postgres = open(&schema, &authority).await.unwrap();
    let ssl =
        "SELECT count(*), count(*) FILTER (WHERE ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
        WHERE application_name = 'dactor'";
    let engine = Engine::from(postgres.clone());
    let (node, id) = (join(&engine).await, entity("alice"));
    let (generation, _) = own(&engine, &node, &id).await;
    engine.state.save(&id, generation, None, Etag::random(), "x".into()).await.unwrap();
    let row = &postgres.query(ssl, &[]).await.unwrap()[0];
    assert!(row.at(0).as_int() >= Some(3), "{row:?}");
    assert_eq!(row.at(0), row.at(1), "all connections are encrypted");

    let error = open(&schema, &Authority::new()).await.unwrap_err();
    assert!(matches!(error, OpenError::Tls(_)), "an authority that is not trusted: {error:?}");
    let elsewhere = Schema::on(&server.url.replace("127.0.0.1", "localhost"));
    let error = open(&elsewhere, &authority).await.unwrap_err();
    assert!(matches!(error, OpenError::Tls(_)), "the certificate of another name: {error:?}");
    let required = format!("{}?sslmode=require", server.url);
    let error = Postgres::open(&required).await.unwrap_err();
    assert!(matches!(error, OpenError::Tls(_)), "without a configuration: {error:?}");
    assert!(matches!(trusted_roots(b"nonsense"), Err(OpenError::Tls(_))));
}
