//! Deliberately broken variants of the engine.

use std::sync::Arc;

use async_trait::async_trait;
use dactor_engine::settle::Write;
use dactor_engine::{
    Claim, ClaimToken, Directory, Engine, EntityId, ErrorKind, Generation, NodeId, Operation, Placement,
    PlacementChange, StorageError, Watch,
};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::Schema;

/// The directory with one flaw in its claims.
pub struct Broken {
    flaw: &'static str,
    url: String,
    schema: String,
    client: Client,
    inner: Engine,
}

impl Broken {
    /// The engine of a schema with this flaw. Flaws of callers are not in it.
    pub async fn engine(flaw: &'static str, schema: &Schema) -> Engine {
        let inner = Engine::from(schema.open().await);
        schema.execute("CREATE SEQUENCE IF NOT EXISTS @.numbers").await;
        if matches!(flaw, "read-back" | "loss-is-failure") {
            return inner;
        }
        let client = schema.client().await;
        let (url, name) = (schema.url.clone(), schema.name.clone());
        let directory = Self { flaw, url, schema: name, client, inner: inner.clone() };
        Engine { directory: Arc::new(directory), ..inner }
    }

    /// The claim of the engine, with one change.
    fn claim_sql(&self) -> String {
        let (mut number, mut next) = ("1", "d.generation + 1");
        let mut dead =
            "EXISTS (SELECT FROM @.members m WHERE m.incarnation = d.owner AND m.died IS NOT NULL)";
        match self.flaw {
            "liveness-by-absence" => {
                dead =
                    "NOT EXISTS (SELECT FROM @.members m WHERE m.incarnation = d.owner AND m.died IS NULL)";
            }
            "liveness-by-deadline" => {
                dead = "EXISTS (SELECT FROM @.members m WHERE m.incarnation = d.owner AND m.deadline < clock_timestamp())";
            }
            "liveness-by-now" => {
                dead =
                    "EXISTS (SELECT FROM @.members m WHERE m.incarnation = d.owner AND m.deadline < now())";
            }
            "generation-from-a-sequence" => (number, next) = ("nextval('@.numbers')", "excluded.generation"),
            other => panic!("no flaw {other}"),
        }
        format!(
            "INSERT INTO @.directory AS d (namespace, type, key, generation, owner, address, token, change)
            SELECT $1, $2, $3, {number}, $4, $5, $6::uuid, pg_current_xact_id()
                WHERE EXISTS (SELECT FROM @.members WHERE incarnation = $4 AND namespace = $1 AND died IS NULL)
            ON CONFLICT (namespace, type, key) DO UPDATE SET generation = {next}, owner = excluded.owner,
                address = excluded.address, token = excluded.token, change = excluded.change
                WHERE d.owner IS NULL OR d.owner = excluded.owner OR {dead}
            RETURNING generation"
        )
        .replace('@', &self.schema)
    }

    async fn claim_flawed(
        &self,
        id: &EntityId,
        node: &NodeId,
        token: ClaimToken,
    ) -> Result<Option<Generation>, tokio_postgres::Error> {
        let key = (id.namespace(), id.actor_type(), id.key());
        let (owner, address) = (node.incarnation().get() as i64, node.address());
        let token = format!("{:032x}", u128::from_be_bytes(token.to_bytes()));
        let types = [Type::TEXT, Type::TEXT, Type::TEXT, Type::INT8, Type::TEXT, Type::TEXT];
        let generation = |row: &tokio_postgres::Row| Generation::new(row.get::<_, i64>(0) as u64);
        if self.flaw != "select-then-update" {
            let claim = self.client.prepare_typed(&self.claim_sql(), &types).await?;
            let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 6] =
                [&key.0, &key.1, &key.2, &owner, &address, &token];
            return Ok(self.client.query_opt(&claim, &parameters).await?.as_ref().and_then(generation));
        }
        let sql = "SELECT d.generation, d.owner IS NULL OR m.died IS NOT NULL FROM @.directory d
            LEFT JOIN @.members m ON m.incarnation = d.owner WHERE d.namespace = $1 AND d.type = $2 AND d.key = $3";
        let client = super::connect(&self.url).await;
        let row = client.query_opt(&sql.replace('@', &self.schema), &[&key.0, &key.1, &key.2]).await?;
        let number = match &row {
            Some(row) if !row.get::<_, bool>(1) => return Ok(None),
            Some(row) => row.get::<_, i64>(0) + 1,
            None => 1,
        };
        // The row is as it was read, they think.
        let sql = "INSERT INTO @.directory AS d (namespace, type, key, generation, owner, address, token, change)
            VALUES ($1, $2, $3, $7, $4, $5, $6::uuid, pg_current_xact_id())
            ON CONFLICT (namespace, type, key) DO UPDATE SET generation = excluded.generation,
                owner = excluded.owner, address = excluded.address, token = excluded.token RETURNING generation";
        let types = [&types[..], &[Type::INT8]].concat();
        let update = client.prepare_typed(&sql.replace('@', &self.schema), &types).await?;
        let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 7] =
            [&key.0, &key.1, &key.2, &owner, &address, &token, &number];
        Ok(generation(&client.query_one(&update, &parameters).await?))
    }
}

#[async_trait]
impl Directory for Broken {
    async fn lookup(&self, id: &EntityId) -> Result<Option<Placement>, StorageError> {
        self.inner.directory.lookup(id).await
    }

    async fn claim(&self, id: &EntityId, node: &NodeId, token: ClaimToken) -> Result<Claim, StorageError> {
        let failed = |error| StorageError::new(ErrorKind::Io, Operation::Claim).with_source(error);
        if let Some(generation) = self.claim_flawed(id, node, token).await.map_err(failed)? {
            return Ok(Claim::Granted(generation));
        }
        match self.lookup(id).await? {
            Some(Placement { owner: Some(owner), generation }) => {
                Ok(Claim::OwnedElsewhere { owner, generation })
            }
            _ => Err(StorageError::new(ErrorKind::Fenced, Operation::Claim).on(id)),
        }
    }

    async fn release(&self, id: &EntityId, generation: Generation) -> Result<bool, StorageError> {
        self.inner.directory.release(id, generation).await
    }

    async fn watch_placements(&self, namespace: &str) -> Result<Watch<PlacementChange>, StorageError> {
        self.inner.directory.watch_placements(namespace).await
    }
}

/// Settles a save by a read alone.
pub async fn read_back(engine: &Engine, write: &Write) -> Result<bool, StorageError> {
    let Write { id, generation, read, new, body } = write.clone();
    match engine.state.save(&id, generation, read, new, body.expect("a body")).await {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnknownOutcome => {
            Ok(engine.state.read(&id).await?.is_some_and(|stored| stored.etag == Some(new)))
        }
        Err(error) => Err(error),
    }
}
