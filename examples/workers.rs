//! Workers in another process: spawned from here, watched from here, and spawned again when that process is killed.
//!
//! `cargo run --example workers --features ractor,kameo,remote`

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use dactor::remote::{Node, RemotingConfig};
use dactor::wire::{Accepts, Remote};
use dactor::{Actor, Context, Handler, Message, NodeId, Outcome, System};
use serde::{Deserialize, Serialize};

/// Adds up numbers, from the number that it is given.
struct Worker {
    total: u64,
}

impl Actor for Worker {}

impl Remote for Worker {
    const TYPE: &'static str = "workers.Worker";

    fn accepts(messages: &mut Accepts<Self>) {
        messages.message::<Add>();
    }
}

#[derive(Serialize, Deserialize, Message)]
#[message(wire = "workers.Add", reply = u64)]
struct Add(u64);

impl Handler<Add> for Worker {
    async fn handle(&mut self, Add(more): Add, _: &mut Context<Self>) -> Outcome<u64> {
        self.total += more;
        Ok(self.total)
    }
}

fn config() -> RemotingConfig {
    // A process that is killed is missed after a second.
    RemotingConfig::new().heartbeat(Duration::from_millis(100)).dead_after(Duration::from_secs(1))
}

/// The process of the workers: it has a factory, and lets others use it.
async fn serve() -> dactor::Result<()> {
    let system = System::builder("workers").backend(dactor::kameo()).build()?;
    let node = Node::builder(&system)
        .config(config())
        .factory("worker", |total: u64| Worker { total })
        .allow_control()
        .start()
        .await?;
    println!("{}", node.id());
    std::future::pending().await
}

/// A process of workers, which ends with this one.
struct Process {
    child: Child,
    node: NodeId,
}

impl Process {
    fn start() -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        let mut child = command.arg("serve").stdout(Stdio::piped()).spawn().expect("another process");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let address = lines.next().and_then(Result::ok).expect("its address");
        Self { child, node: address.parse().expect("an address") }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::main]
async fn main() -> dactor::Result<()> {
    if std::env::args().nth(1).is_some_and(|arg| arg == "serve") {
        return serve().await;
    }
    let system = System::builder("workers").backend(dactor::ractor()).build()?;
    let node = Node::builder(&system).config(config()).start().await?;
    let first = Process::start();
    let mut workers = Vec::new();
    for total in [0_u64, 100, 200] {
        workers.push(node.spawn_on::<Worker>(&first.node, "worker", &total).await?);
    }
    for worker in &workers {
        println!("a worker says {}", worker.ask(Add(7)).await?);
    }
    let ends: Vec<_> = workers
        .iter()
        .cloned()
        .map(|worker| tokio::spawn(async move { worker.wait().await.map(|reason| reason.to_string()) }))
        .collect();
    tokio::time::sleep(Duration::from_millis(100)).await;
    drop(first); // kill -9
    for end in ends {
        println!("a worker has ended: {}", end.await.expect("no panic")?);
    }
    let second = Process::start();
    let worker = node.spawn_on::<Worker>(&second.node, "worker", &300_u64).await?;
    println!("another worker says {}", worker.ask(Add(7)).await?);
    Ok(())
}
