//! Two real processes over TLS, one on ractor and one on kameo: one of them is killed, and comes back.

mod support;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use dactor_core::testkit::Journal;
use dactor_core::{ErrorKind, StopReason};
use dactor_remote::{NodeEvent, Tls};
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, KeyPair};

use support::*;

/// The PEM texts of a node at 127.0.0.1: its authority, its certificate and its key.
struct Pem([String; 3]);

impl Pem {
    fn two() -> [Self; 2] {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority_key = KeyPair::generate().unwrap();
        let authority = params.self_signed(&authority_key).unwrap();
        [(), ()].map(|()| {
            let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
            params.extended_key_usages =
                vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
            let key = KeyPair::generate().unwrap();
            let certificate = params.signed_by(&key, &authority, &authority_key).unwrap();
            Self([authority.pem(), certificate.pem(), key.serialize_pem()])
        })
    }

    fn tls(&self) -> Tls {
        let [authority, certificate, key] = &self.0;
        Tls::from_pem(authority.as_bytes(), certificate.as_bytes(), key.as_bytes()).unwrap()
    }
}

/// The other process: it has a hundred accounts, until it is killed.
#[test]
#[ignore = "the other test starts it, in a process of its own"]
fn other_process() {
    let Ok(at) = std::env::var("DACTOR_TEST_LISTEN") else { return };
    let pem = Pem(["AUTHORITY", "CERTIFICATE", "KEY"].map(|name| std::env::var(name).unwrap()));
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let system = system("bank", kameo);
        let node = builder(&system).tls(pem.tls()).listen(at).start().await.unwrap();
        for number in 0..100 {
            system.spawn(Account::new()).name(format!("account-{number}")).await.unwrap();
        }
        println!("\nlistening at {}", node.id());
        tokio::time::sleep(Duration::from_secs(120)).await;
    });
}

/// The other process, which is killed with this.
struct Process {
    child: Child,
    address: String,
}

impl Drop for Process {
    fn drop(&mut self) {
        // SIGKILL.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Process {
    fn start(at: &str, pem: &Pem) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "other_process", "--ignored", "--nocapture"]).env("DACTOR_TEST_LISTEN", at);
        for (name, text) in ["AUTHORITY", "CERTIFICATE", "KEY"].iter().zip(&pem.0) {
            command.env(name, text);
        }
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let address = lines.find_map(|line| line.strip_prefix("listening at ").map(str::to_owned));
        Self { child, address: address.expect("the other process listens") }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_is_killed_and_comes_back() {
    let [ours, theirs] = Pem::two();
    let first = Process::start("127.0.0.1:0", &theirs);
    let address = first.address.clone();
    let home = Account::new();
    let journal = home.journal.clone();
    let system = system("bank", ractor);
    let home = system.spawn(home).await.unwrap();
    let events = Journal::new();
    let notes = events.clone();
    let here = builder(&system)
        .tls(ours.tls())
        .on_event(move |event| match event {
            NodeEvent::NodeJoined { .. } => notes.note("joined"),
            NodeEvent::NodeLeft { .. } => notes.note("left"),
            _ => {}
        })
        .start()
        .await
        .unwrap();
    let at = |name: usize| format!("pekko.tcp://bank@{address}/user/account-{name}");
    let mut old = Vec::new();
    for name in 0..100 {
        let account = soon(here.actor_at::<Account>(at(name))).await.unwrap();
        assert_eq!(soon(account.ask(Deposit(5))).await.unwrap(), 5);
        soon(home.ask(Watch(account.clone()))).await.unwrap();
        old.push(account);
    }
    let held = old[0].ask(Hold).enqueue().unwrap();
    assert_eq!(soon(old[1].ask(Deposit(1))).await.unwrap(), 6);
    // kill -9, and another process at the same address.
    drop(first);
    let error = soon(held).await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_been_handled()), (ErrorKind::Disconnected, true));
    let second = Process::start(&address, &theirs);
    assert_eq!(second.address, address);
    until(|| journal.len() >= 100).await;
    let again = soon(here.actor_at::<Account>(at(7))).await.unwrap();
    assert_eq!(soon(again.ask(Deposit(1))).await.unwrap(), 1, "it is another actor");
    assert!(again != old[7] && again.path() == old[7].path());
    for account in &old {
        assert_eq!(soon(account.ask(Deposit(1))).await.unwrap_err().kind(), ErrorKind::Stopped);
        let path = account.path().to_serialization_format();
        let error = soon(here.actor_at::<Account>(path)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UidReserved);
    }
    assert!(matches!(old[0].stop_reason(), Some(StopReason::Unreachable)));
    assert_eq!(journal.len(), 100, "every watch fires once");
    assert_eq!(journal.count("terminated unreachable"), 100);
    assert_eq!(events.entries(), ["joined", "left", "joined"]);
}
