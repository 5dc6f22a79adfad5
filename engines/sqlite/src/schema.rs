//! The tables and their migrations.

/// The schema of one file.
#[derive(Debug)]
pub(crate) struct Schema {
    /// Identifies a file of this crate.
    pub(crate) application_id: u32,
    /// The migrations from each version to the next. The version of a file is their number.
    pub(crate) migrations: &'static [&'static str],
}

impl Schema {
    pub(crate) fn version(&self) -> i64 {
        self.migrations.len() as i64
    }
}

/// `state.db`. Rows of the directory are never deleted, and a cleared state keeps its row: they carry generation and fence.
pub(crate) static STATE: Schema = Schema {
    application_id: u32::from_be_bytes(*b"dact"),
    migrations: &["
        CREATE TABLE pair (id BLOB NOT NULL);
        CREATE TABLE directory (
            namespace TEXT NOT NULL, type TEXT NOT NULL, key TEXT NOT NULL,
            generation INTEGER NOT NULL, owner INTEGER, address TEXT, token BLOB, change INTEGER NOT NULL,
            PRIMARY KEY (namespace, type, key)
        ) WITHOUT ROWID;
        CREATE INDEX directory_change ON directory (change);
        CREATE INDEX directory_owner ON directory (owner) WHERE owner IS NOT NULL;
        CREATE TABLE state (
            namespace TEXT NOT NULL, type TEXT NOT NULL, key TEXT NOT NULL,
            fence INTEGER NOT NULL, token BLOB NOT NULL, etag BLOB, body BLOB,
            PRIMARY KEY (namespace, type, key)
        ) WITHOUT ROWID;
    "],
};

/// `lease.db`. Times are in nanoseconds.
pub(crate) static LEASE: Schema = Schema {
    application_id: u32::from_be_bytes(*b"dacl"),
    migrations: &["
        CREATE TABLE pair (id BLOB NOT NULL);
        CREATE TABLE members (
            incarnation INTEGER PRIMARY KEY, namespace TEXT NOT NULL, address TEXT NOT NULL, ttl INTEGER NOT NULL,
            deadline INTEGER NOT NULL, renewals INTEGER NOT NULL, dead INTEGER NOT NULL,
            boot TEXT NOT NULL, time_namespace TEXT NOT NULL
        );
    "],
};
