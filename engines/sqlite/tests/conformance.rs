//! The rules for engines, on SQLite.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use dactor_conformance::engine::{self, EngineSubject, TestStore};
use dactor_engine::{Engine, ManualClock};
use dactor_sqlite::Sqlite;

struct OnSqlite;

impl EngineSubject for OnSqlite {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn has_sql(&self) -> bool {
        true
    }

    fn store(&self) -> Arc<dyn TestStore> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("conformance-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        Arc::new(SqliteStore { directory, clock: Arc::new(ManualClock::new()) })
    }
}

struct SqliteStore {
    directory: PathBuf,
    clock: Arc<ManualClock>,
}

#[async_trait]
impl TestStore for SqliteStore {
    async fn open(&self) -> Engine {
        let builder = Sqlite::builder(&self.directory).clock(self.clock.clone());
        builder.open().expect("the database opens").into()
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn main() -> ExitCode {
    engine::run(OnSqlite)
}
