//! A tree as deep as paths allow, on a small stack: no recursion.

use std::time::Duration;

use dactor::spi::Backend;
use dactor::{Actor, ActorRef, Context, ErrorKind, Handler, Message, Outcome, System};

const DEPTH: usize = 20_000;
const STACK: usize = 256 << 10;

struct Node;
impl Actor for Node {}

struct Grow;

impl Message for Grow {
    type Reply = ActorRef<Node>;
    type Access = dactor::Exclusive;
}

impl Handler<Grow> for Node {
    async fn handle(&mut self, _: Grow, ctx: &mut Context<Self>) -> Outcome<ActorRef<Node>> {
        Ok(ctx.spawn(|| Node).name("n").await?)
    }
}

async fn grow_and_fall(backend: impl Backend) {
    let system = System::builder("deep").backend(backend).grace(Duration::from_secs(100)).build().unwrap();
    let root = system.spawn(|| Node).name("n").await.unwrap();
    let mut leaf = root.clone();
    for _ in 1..DEPTH {
        leaf = leaf.ask(Grow).await.unwrap();
    }
    assert_eq!(system.actor_count(), DEPTH);
    let path = leaf.path();
    assert_eq!(path.segments().len(), DEPTH + 1);
    assert_eq!(system.actor_at::<Node>(&path).ok().as_ref(), Some(&leaf));
    root.kill();
    root.wait().await.unwrap();
    assert_eq!(system.actor_count(), 0);
    drop(root);
    // Now only the leaf holds the other actors.
    drop(leaf);
}

/// One level deeper, the path would be too long.
async fn too_deep(backend: impl Backend) {
    let system = System::builder("deep").backend(backend).build().unwrap();
    let name = "n".repeat(30_000);
    let first = system.spawn(|| Node).name(&name).await.unwrap();
    let second = first.ask(Grow).await.unwrap();
    let error = system.spawn(|| Node).name("n".repeat(70_000)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidName);
    assert!(second.path().to_string().len() > 30_000);
    system.shutdown().await.unwrap();
}

#[test]
fn a_deep_tree() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_stack_size(STACK)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        tokio::spawn(async {
            grow_and_fall(dactor_ractor::ractor()).await;
            grow_and_fall(dactor_kameo::kameo()).await;
            too_deep(dactor_ractor::ractor()).await;
        })
        .await
        .unwrap();
    });
}
