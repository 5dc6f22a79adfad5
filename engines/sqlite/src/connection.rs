use std::path::Path;
use std::time::{Duration, Instant};

use dactor_engine::Etag;
use rusqlite::{Connection, OpenFlags};

use crate::OpenError;
use crate::files::{Files, Header};
use crate::schema::{LEASE, STATE, Schema};
use crate::sql::restrict;

/// The pause between two attempts to lock the database. SQLite's built-in backoff grows to 100 ms and starves
/// waiting processes.
const BUSY_PAUSE: Duration = Duration::from_micros(300);

/// The number of WAL pages that triggers a checkpoint.
const CHECKPOINT_PAGES: u32 = 4000;

/// The page cache of the writer, in KiB. With SQLite's default of 2 MiB, a thousand active states evict each
/// other's pages.
const CACHE_KIB: i64 = 64 << 10;

/// Opens a connection to an existing file of the engine.
pub(crate) fn connect(path: &Path, busy_limit: Duration) -> rusqlite::Result<Connection> {
    connect_with(path, busy_limit, OpenFlags::SQLITE_OPEN_READ_WRITE)
}

fn connect_with(path: &Path, busy_limit: Duration, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    let mut start = Instant::now();
    connection.busy_handler(Some(move |attempts| {
        if attempts == 0 {
            start = Instant::now();
        }
        std::thread::sleep(BUSY_PAUSE);
        start.elapsed() < busy_limit
    }))?;
    connection.set_prepared_statement_cache_capacity(128);
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}

/// A read-only connection.
pub(crate) fn connect_reader(path: &Path, busy_limit: Duration) -> rusqlite::Result<Connection> {
    let mut connection = connect(path, busy_limit)?;
    connection.pragma_update(None, "query_only", true)?;
    restrict(&mut connection)?;
    Ok(connection)
}

/// The connection that writes the states.
pub(crate) fn connect_writer(
    path: &Path,
    busy_limit: Duration,
    max_pages: Option<u32>,
) -> rusqlite::Result<Connection> {
    let mut connection = connect(path, busy_limit)?;
    restrict(&mut connection)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    if let Some(pages) = max_pages {
        connection.pragma_update(None, "max_page_count", pages)?;
    }
    Ok(connection)
}

/// The connection that writes the leases.
pub(crate) fn connect_leases(path: &Path, busy_limit: Duration) -> rusqlite::Result<Connection> {
    let connection = connect(path, busy_limit)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    Ok(connection)
}

/// Creates or migrates both files. The caller must hold the gate.
pub(crate) fn create(files: &Files, busy_limit: Duration) -> Result<(), OpenError> {
    let state = header(&files.state, &STATE)?;
    let lease = header(&files.lease, &LEASE)?;
    let unpaired = || OpenError::Unpaired(files.directory.clone());
    if lease == Header::New && state != Header::New {
        return Err(unpaired());
    }
    // The leases first: a crash in between leaves a missing state file, not one without its pair.
    let pair = create_file(&files.lease, &LEASE, Etag::random().to_bytes(), busy_limit)?;
    if create_file(&files.state, &STATE, pair, busy_limit)? != pair {
        return Err(unpaired());
    }
    Ok(())
}

fn header(path: &Path, schema: &Schema) -> Result<Header, OpenError> {
    let header = Header::read(path).map_err(|error| OpenError::io(path, error))?;
    match header {
        Header::Other => Err(OpenError::NotADatabase(path.to_owned())),
        Header::Database(id) if id != schema.application_id => {
            Err(OpenError::ForeignDatabase(path.to_owned()))
        }
        _ => Ok(header),
    }
}

/// Creates or migrates a file. Returns the id that it shares with its pair; `pair` for a new file.
fn create_file(
    path: &Path,
    schema: &Schema,
    pair: [u8; 16],
    busy_limit: Duration,
) -> Result<[u8; 16], OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let fail = |error| OpenError::sqlite(path, error);
    let connection = connect_with(path, busy_limit, flags).map_err(fail)?;
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let objects = "SELECT count(*) FROM sqlite_schema";
    let objects: i64 = connection.query_row(objects, (), |row| row.get(0)).map_err(fail)?;
    let (application, found) =
        (number("application_id").map_err(fail)?, number("user_version").map_err(fail)?);
    if objects > 0 && application != i64::from(schema.application_id) {
        return Err(OpenError::ForeignDatabase(path.to_owned()));
    }
    let known = schema.version();
    if found > known {
        return Err(OpenError::NewerVersion { path: path.to_owned(), found, known });
    }
    migrate(&connection, schema, found, pair).map_err(fail)?;
    let wal = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
    let mode = connection.pragma_update_and_check(None, "journal_mode", "WAL", wal).map_err(fail)?;
    if mode != "wal" {
        let text = format!("the journal mode is {mode}, and cannot be changed to WAL");
        let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
        return Err(fail(rusqlite::Error::SqliteFailure(error, Some(text))));
    }
    connection.query_row("SELECT id FROM pair", (), |row| row.get(0)).map_err(fail)
}

/// Migrates the schema in one transaction. For a new file this precedes WAL, so that the application id is in
/// the file itself.
fn migrate(connection: &Connection, schema: &Schema, found: i64, pair: [u8; 16]) -> rusqlite::Result<()> {
    if found == schema.version() {
        return Ok(());
    }
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let steps = usize::try_from(found).unwrap_or(0);
    for step in &schema.migrations[steps..] {
        connection.execute_batch(step)?;
    }
    if found == 0 {
        connection.execute("INSERT INTO pair (id) VALUES (?1)", [pair])?;
        connection.pragma_update(None, "application_id", schema.application_id)?;
    }
    connection.pragma_update(None, "user_version", schema.version())?;
    // An error above drops the connection, which rolls back.
    connection.execute_batch("COMMIT")
}
