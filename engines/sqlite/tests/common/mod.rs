//! What the tests share.

#![allow(dead_code, unreachable_pub)]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use dactor_engine::{Claim, ClaimToken, Engine, EntityId, Generation, NodeId, Opened};

/// A directory that is removed at the end of a test.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("{name}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        Self(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn entity(key: &str) -> EntityId {
    EntityId::new("bank", "Account", key).unwrap()
}

pub async fn join(engine: &Engine) -> NodeId {
    let node = NodeId::start("localhost:1");
    engine.membership.join("bank", &node, Duration::from_secs(10)).await.unwrap();
    node
}

pub async fn own(engine: &Engine, node: &NodeId, id: &EntityId) -> (Generation, Opened) {
    let token = ClaimToken::random();
    let claim = engine.directory.claim(id, node, token).await.unwrap();
    let Claim::Granted(generation) = claim else { panic!("{claim:?}") };
    (generation, engine.state.open(id, generation, token).await.unwrap())
}
