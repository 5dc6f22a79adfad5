//! The other process.

use std::process::ExitCode;

use dactor::remote::{Node, Tls};
use dactor::wire::{Accepts, Remote};
use dactor::{Actor, Context, Expand, ExpandHandler, Handler, Message, Outcome, Producer};
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

/// The environment variables with the certificates.
pub(crate) const PEM: [&str; 3] = ["BENCH_AUTHORITY", "BENCH_CERTIFICATE", "BENCH_KEY"];

/// An authority, and the certificate and the key that both processes use.
pub(crate) fn certificates() -> Vec<String> {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate().expect("a key");
    let authority = params.self_signed(&authority_key).expect("a certificate");
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("an address");
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate().expect("a key");
    let certificate = params.signed_by(&key, &authority, &authority_key).expect("a certificate");
    vec![authority.pem(), certificate.pem(), key.serialize_pem()]
}

/// Counts what it is told.
#[derive(Default)]
pub(crate) struct Target(u64);

impl Actor for Target {}

impl Remote for Target {
    const TYPE: &'static str = "bench.Target";

    fn accepts(messages: &mut Accepts<Self>) {
        messages.message::<Echo>().message::<Count>().expand::<Numbers>();
    }
}

/// About 48 bytes.
#[derive(Debug, Serialize, Deserialize, Message)]
#[message(wire = "bench.Echo", reply = u64)]
pub(crate) struct Echo {
    pub(crate) text: String,
    pub(crate) number: u64,
}

impl Handler<Echo> for Target {
    async fn handle(&mut self, echo: Echo, _: &mut Context<Self>) -> Outcome<u64> {
        self.0 += 1;
        Ok(echo.number)
    }
}

/// How many were handled.
#[derive(Debug, Serialize, Deserialize, Message)]
#[message(wire = "bench.Count", reply = u64)]
pub(crate) struct Count;

impl Handler<Count> for Target {
    async fn handle(&mut self, _: Count, _: &mut Context<Self>) -> Outcome<u64> {
        Ok(self.0)
    }
}

/// The numbers below this one.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Numbers(pub(crate) u64);

impl Expand for Numbers {
    type Item = u64;
    const WIRE: Option<dactor::StreamWire<Self, (), u64>> = Some(dactor::StreamWire::serde("bench.Numbers"));
}

impl ExpandHandler<Numbers> for Target {
    async fn expand(
        &mut self,
        numbers: Numbers,
        mut out: Producer<u64>,
        _: &mut Context<Self>,
    ) -> Outcome<()> {
        for number in 0..numbers.0 {
            out.send(number).await?;
        }
        out.finish().await?;
        Ok(())
    }
}

/// Prints three addresses, and serves until it is killed.
pub(crate) fn serve() -> ExitCode {
    crate::runtime().block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a socket");
        println!("{}", listener.local_addr().expect("an address"));
        tokio::spawn(crate::bare::serve(listener));
        let mut nodes = Vec::new();
        for secure in [false, true] {
            let system =
                dactor::System::builder("bench").backend(dactor_kameo::kameo()).build().expect("a system");
            system.spawn(Target::default()).name("target").await.expect("an actor");
            let mut builder = Node::builder(&system).serve::<Target>();
            if secure {
                let pem = PEM.map(|name| std::env::var(name).expect("a certificate"));
                let tls = Tls::from_pem(pem[0].as_bytes(), pem[1].as_bytes(), pem[2].as_bytes());
                builder = builder.tls(tls.expect("a certificate"));
            }
            let node = builder.start().await.expect("a node");
            println!("{}", node.address());
            nodes.push((node, system));
        }
        std::future::pending::<()>().await;
    });
    ExitCode::SUCCESS
}
