//! A server in this process, on each database.

#![allow(dead_code, unreachable_pub)]

use std::time::Duration;

use conversations::app::{Settings, Store};
use conversations::model::random_id;
use conversations::serve::{Limits, serve};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A server that runs until [`stop`](Self::stop).
pub struct Running {
    pub address: String,
    end: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<(), String>>,
}

impl Running {
    pub async fn start(settings: Settings, limits: Limits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (end, ended) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let until = async { drop(ended.await) };
            serve(listener, &settings, limits, None, until).await.map_err(|error| format!("{error:#}"))
        });
        Self { address, end: Some(end), task }
    }

    /// Ends the server as a signal does.
    pub async fn stop(mut self) {
        drop(self.end.take());
        let ended = tokio::time::timeout(Duration::from_secs(60), self.task).await;
        ended.expect("the server ends").unwrap().unwrap();
    }
}

/// Data that is removed at the end.
pub struct Data {
    pub store: Store,
    directory: Option<std::path::PathBuf>,
}

impl Data {
    pub fn sqlite() -> Self {
        let directory = std::env::temp_dir().join(format!("conversations-test-{}", random_id()));
        Self { store: Store::Sqlite(directory.clone()), directory: Some(directory) }
    }

    pub fn postgres(server: &server::Server) -> Self {
        Self { store: Store::Postgres(server.url.clone()), directory: None }
    }

    /// The file of the tables, on SQLite.
    pub fn file(&self) -> std::path::PathBuf {
        self.directory.as_ref().expect("a directory").join("state.db")
    }

    pub fn settings(&self) -> Settings {
        Settings::new(self.store.clone())
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        if let Some(directory) = &self.directory {
            let _ = std::fs::remove_dir_all(directory);
        }
    }
}

/// A private PostgreSQL server, as the tests of the engine use it.
#[path = "../../../../engines/postgres/tests/common/server.rs"]
pub mod server;

/// A private PostgreSQL server; `None` if the environment says to do without.
pub fn postgres() -> Option<server::Server> {
    (!server::skipped()).then(server::Server::start)
}
