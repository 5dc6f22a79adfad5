//! What the tests share.

#![allow(dead_code, unreachable_pub)]

pub mod broken;
pub mod proxy;
pub mod server;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use dactor_engine::{Claim, ClaimToken, Engine, EntityId, Generation, NodeId, Opened};
use dactor_postgres::{Postgres, PostgresBuilder};
use tokio_postgres::{Client, NoTls};

/// A schema of its own, which is dropped at the end of a test.
pub struct Schema {
    pub url: String,
    pub name: String,
}

impl Schema {
    /// On the server that all tests of this process share.
    pub fn new() -> Self {
        Self::on(server::shared())
    }

    pub fn on(url: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        // The server may be shared with earlier processes of the same number.
        let unique = u128::from_be_bytes(ClaimToken::random().to_bytes()) as u32;
        Self { url: url.to_owned(), name: format!("test_{process}_{count}_{unique:08x}") }
    }

    /// Makes the schema the place of the application's tables, too.
    pub fn url_with_search_path(&self) -> String {
        let separator = if self.url.contains('?') { '&' } else { '?' };
        format!("{}{separator}options=-csearch_path%3D{}", self.url, self.name)
    }

    pub fn builder(&self) -> PostgresBuilder {
        Postgres::builder(&self.url_with_search_path()).schema(&self.name)
    }

    pub async fn open(&self) -> Postgres {
        self.builder().open().await.expect("the database opens")
    }

    /// A session beside the engine.
    pub async fn client(&self) -> Client {
        connect(&self.url).await
    }

    /// Runs a script in which `@` is the schema.
    pub async fn execute(&self, sql: &str) {
        self.client().await.batch_execute(&sql.replace('@', &self.name)).await.expect("the script runs");
    }

    /// Lets all leases age.
    pub async fn advance(&self, by: Duration) {
        let microseconds = by.as_micros();
        self.execute(&format!(
            "UPDATE @.members SET deadline = deadline - {microseconds} * interval '1 microsecond'"
        ))
        .await;
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        let (url, sql) = (self.url.clone(), format!("DROP SCHEMA IF EXISTS {} CASCADE", self.name));
        let drop = move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                // The server may have been stopped, and a test may have left a lock.
                let script = format!("SET lock_timeout = 1000; {sql}");
                if let Ok((client, connection)) = tokio_postgres::connect(&url, NoTls).await {
                    tokio::spawn(connection);
                    let _ = client.batch_execute(&script).await;
                }
            });
        };
        let _ = std::thread::spawn(drop).join();
    }
}

pub async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("the server is there");
    tokio::spawn(connection);
    client
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
