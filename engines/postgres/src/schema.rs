//! The tables and their migrations.

use tokio_postgres::Client;

use crate::OpenError;

/// The migrations from each version to the next. The schema version is their number.
///
/// Rows of the directory are never deleted, and a cleared state keeps its row: they carry generation and fence. `change`
/// is the transaction that changed a placement. Half of a page of `state` is kept free, so that a save stays on its page
/// and touches no index. The triggers keep statements of the application from writing these tables.
const MIGRATIONS: &[&str] = &["
    CREATE TABLE @.members (
        incarnation int8 PRIMARY KEY, namespace text COLLATE \"C\" NOT NULL, address text NOT NULL,
        ttl int8 NOT NULL, deadline timestamptz NOT NULL, renewals int8 NOT NULL DEFAULT 0, died timestamptz
    ) WITH (fillfactor = 50);
    CREATE TABLE @.directory (
        namespace text COLLATE \"C\" NOT NULL, type text COLLATE \"C\" NOT NULL, key text COLLATE \"C\" NOT NULL,
        generation int8 NOT NULL, owner int8, address text, token uuid, change xid8 NOT NULL,
        PRIMARY KEY (namespace, type, key)
    );
    CREATE INDEX directory_change ON @.directory (change);
    CREATE INDEX directory_owner ON @.directory (owner) WHERE owner IS NOT NULL;
    CREATE TABLE @.state (
        namespace text COLLATE \"C\" NOT NULL, type text COLLATE \"C\" NOT NULL, key text COLLATE \"C\" NOT NULL,
        fence int8 NOT NULL, token uuid NOT NULL, etag uuid, body bytea,
        PRIMARY KEY (namespace, type, key)
    ) WITH (fillfactor = 50);
    CREATE FUNCTION @.refuse() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN RAISE EXCEPTION ''the table % belongs to the engine'', TG_TABLE_NAME USING ERRCODE = ''42501''; END';
    CREATE TRIGGER application BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON @.members
        WHEN (current_setting('dactor.application', true) = 'on') EXECUTE FUNCTION @.refuse();
    CREATE TRIGGER application BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON @.directory
        WHEN (current_setting('dactor.application', true) = 'on') EXECUTE FUNCTION @.refuse();
    CREATE TRIGGER application BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON @.state
        WHEN (current_setting('dactor.application', true) = 'on') EXECUTE FUNCTION @.refuse();
"];

/// The latest version.
pub(crate) fn known() -> i32 {
    i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX)
}

/// Quotes a name for SQL.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Creates or migrates the tables.
pub(crate) async fn migrate(client: &mut Client, schema: &str) -> Result<(), OpenError> {
    // An up-to-date schema needs neither a lock nor the privilege to create anything.
    if version(client, schema).await? == Some(known()) {
        return Ok(());
    }
    let transaction = client.transaction().await.map_err(OpenError::sql)?;
    let lock = "SELECT pg_advisory_xact_lock(hashtextextended('dactor ' || $1, 0))";
    transaction.query(lock, &[&schema]).await.map_err(OpenError::sql)?;
    let found = version(transaction.client(), schema).await?;
    let name = quoted(schema);
    let mut script = String::new();
    if found.is_none() {
        // `IF NOT EXISTS` alone would need the privilege to create schemas.
        let exists = "SELECT FROM pg_namespace WHERE nspname = $1";
        if transaction.query(exists, &[&schema]).await.map_err(OpenError::sql)?.is_empty() {
            script.push_str("CREATE SCHEMA @;");
        }
        script.push_str("CREATE TABLE @.dactor_version (version int4 NOT NULL);");
        script.push_str("INSERT INTO @.dactor_version VALUES (0);");
    }
    let steps = usize::try_from(found.unwrap_or(0)).unwrap_or(0);
    for step in &MIGRATIONS[steps..] {
        script.push_str(step);
    }
    script.push_str(&format!("UPDATE @.dactor_version SET version = {};", known()));
    transaction.batch_execute(&script.replace('@', &name)).await.map_err(OpenError::sql)?;
    transaction.commit().await.map_err(OpenError::sql)
}

/// The version of the schema; `None` if it has no tables of this crate.
async fn version(client: &Client, schema: &str) -> Result<Option<i32>, OpenError> {
    let foreign = || OpenError::ForeignSchema(schema.to_owned());
    let tables = "SELECT relname::text FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)
        AND relname IN ('dactor_version', 'members', 'directory', 'state')";
    let tables = client.query(tables, &[&schema]).await.map_err(OpenError::sql)?;
    if tables.is_empty() {
        return Ok(None);
    }
    if !tables.iter().any(|row| row.get::<_, &str>(0) == "dactor_version") {
        return Err(foreign());
    }
    let sql = format!("SELECT version FROM {}.dactor_version", quoted(schema));
    let rows = client.query(&sql, &[]).await.map_err(OpenError::sql)?;
    let [row] = &rows[..] else { return Err(foreign()) };
    let found: i32 = row.try_get(0).map_err(OpenError::Sql)?;
    match found {
        ..1 => Err(foreign()),
        found if found > known() => {
            Err(OpenError::NewerVersion { schema: schema.to_owned(), found, known: known() })
        }
        found => Ok(Some(found)),
    }
}
