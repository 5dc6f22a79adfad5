//! The rules for engines, on PostgreSQL.

mod common;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use common::Schema;
use dactor_conformance::engine::{self, EngineSubject, TestStore};
use dactor_engine::Engine;

struct OnPostgres;

impl EngineSubject for OnPostgres {
    fn name(&self) -> &'static str {
        "postgres"
    }

    fn has_sql(&self) -> bool {
        true
    }

    fn store(&self) -> Arc<dyn TestStore> {
        Arc::new(PostgresStore(Schema::new()))
    }
}

struct PostgresStore(Schema);

#[async_trait]
impl TestStore for PostgresStore {
    async fn open(&self) -> Engine {
        self.0.open().await.into()
    }

    async fn advance(&self, by: Duration) {
        self.0.advance(by).await;
    }
}

fn main() -> ExitCode {
    if common::server::skipped() {
        return ExitCode::SUCCESS;
    }
    engine::run(OnPostgres)
}
