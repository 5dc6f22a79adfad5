use std::fmt;
use std::sync::Arc;

use dactor_engine::{FencedSql, Row, StorageError, Value};

/// Reads tables of the application: see [`Cluster::sql`](crate::Cluster::sql).
#[derive(Clone)]
pub struct SqlReader {
    engine: Arc<dyn FencedSql>,
}

impl SqlReader {
    pub(crate) fn new(engine: Arc<dyn FencedSql>) -> Self {
        Self { engine }
    }

    /// Runs a query with the parameters `$1` to `$n`, and returns all rows.
    ///
    /// Not fenced: sees committed rows only. In [`activate`](crate::VirtualActor::activate) and later, an
    /// actor sees all commits of its earlier activations.
    ///
    /// # Errors
    ///
    /// Those of the engine; [`Statement`](dactor_engine::ErrorKind::Statement) if the query is invalid or
    /// would write.
    pub async fn query(&self, sql: &str, args: &[Value]) -> Result<Vec<Row>, StorageError> {
        self.engine.query(sql, args).await
    }
}

impl fmt::Debug for SqlReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SqlReader")
    }
}
