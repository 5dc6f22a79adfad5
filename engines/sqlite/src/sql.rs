//! Authorization and execution of the application's statements.

use std::cell::Cell;
use std::sync::Arc;

use bytes::Bytes;
use dactor_engine::{ErrorKind, FailedStatement, Row, Statement, Value};
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, ErrorCode, ToSql};

use crate::error::Fault;
use crate::requests::Reply;

/// The tables of the engine, which the application cannot write.
const OWN: [&str; 3] = ["state", "directory", "pair"];

/// Keeps statements of the application apart from those of the engine in the prepared-statement cache: a
/// cached statement is not authorized again.
const MARK: &str = "/**/";

thread_local! {
    /// Whether this thread is preparing a statement of the application. Each connection has its own thread.
    static APPLICATION: Cell<bool> = const { Cell::new(false) };
}

/// Restricts statements of the application on this connection.
pub(crate) fn restrict(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.authorizer(Some(|context: AuthContext<'_>| {
        if !APPLICATION.get() || may(&context.action) { Authorization::Allow } else { Authorization::Deny }
    }))
}

fn may(action: &AuthAction<'_>) -> bool {
    use AuthAction::{
        AlterTable, CreateIndex, CreateTable, CreateTrigger, CreateView, Delete, DropIndex, DropTable,
        DropTrigger, DropView, Function, Insert, Read, Recursive, Reindex, Select, Update,
    };
    match action {
        Select | Read { .. } | Function { .. } | Recursive | Reindex { .. } => true,
        CreateView { .. } | DropView { .. } => true,
        Insert { table_name: table }
        | Update { table_name: table, .. }
        | Delete { table_name: table }
        | CreateTable { table_name: table }
        | DropTable { table_name: table }
        | AlterTable { table_name: table, .. }
        | CreateIndex { table_name: table, .. }
        | DropIndex { table_name: table, .. }
        | CreateTrigger { table_name: table, .. }
        | DropTrigger { table_name: table, .. } => !OWN.iter().any(|own| own.eq_ignore_ascii_case(table)),
        // Transactions, savepoints, pragmas, other files, and changes that would persist in the connection.
        _ => false,
    }
}

/// Saves with statements. A refusal or failure is rolled back to the savepoint; the group's transaction
/// continues.
pub(crate) fn save_with(
    state: &Connection,
    save: impl FnOnce() -> rusqlite::Result<Result<Reply, Fault>>,
    also: &[Statement],
) -> rusqlite::Result<Result<Reply, Fault>> {
    let run = |sql| state.prepare_cached(sql).and_then(|mut statement| statement.execute(()));
    run("SAVEPOINT application")?;
    let outcome = save().and_then(|saved| match saved {
        Ok(reply) => Ok(run_all(state, also)?.map(|()| reply)),
        refused => Ok(refused),
    });
    // Some errors make SQLite roll back the whole transaction.
    if state.is_autocommit() {
        return match outcome {
            Err(error) => Err(error),
            Ok(Err(_)) | Ok(Ok(_)) => Err(aborted()),
        };
    }
    if !matches!(outcome, Ok(Ok(_))) {
        run("ROLLBACK TO application")?;
    }
    run("RELEASE application")?;
    outcome
}

/// A statement such as `INSERT OR ROLLBACK` ended the transaction of the whole group.
fn aborted() -> rusqlite::Error {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CONSTRAINT);
    rusqlite::Error::SqliteFailure(code, Some("a statement rolled the transaction back".into()))
}

/// Runs all statements. The outer error is the database's; the inner one is a statement's.
fn run_all(state: &Connection, also: &[Statement]) -> rusqlite::Result<Result<(), Fault>> {
    for (index, statement) in also.iter().enumerate() {
        let failed = || FailedStatement::new(index, &*statement.sql);
        match run_one(state, statement) {
            Ok(rows) => match statement.expect_rows {
                Some(expected) if expected != rows => {
                    let text = format!("{rows} instead of {expected}");
                    let fault = Fault::new(ErrorKind::RowCount, text).in_statement(failed().rows(rows));
                    return Ok(Err(fault));
                }
                _ => {}
            },
            Err(error) if is_of_statement(&error) && !state.is_autocommit() => {
                return Ok(Err(fault_of(&error).in_statement(failed())));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Ok(()))
}

/// Runs a statement. Returns the number of rows changed, or found by a query.
fn run_one(state: &Connection, statement: &Statement) -> rusqlite::Result<u64> {
    let mut prepared = prepare(state, &statement.sql, &statement.args)?;
    let is_query = prepared.readonly();
    let mut found = 0;
    let mut rows = prepared.raw_query();
    while rows.next()?.is_some() {
        found += 1;
    }
    drop(rows);
    Ok(if is_query { found } else { state.changes() })
}

/// Prepares a statement with its arguments. Parameters are bound by name, because SQLite numbers `$2, $1` in
/// order of appearance.
fn prepare<'a>(
    connection: &'a Connection,
    sql: &str,
    args: &[Value],
) -> rusqlite::Result<CachedStatement<'a>> {
    APPLICATION.set(true);
    let prepared = connection.prepare_cached(&format!("{MARK}{sql}"));
    APPLICATION.set(false);
    let mut prepared = prepared?;
    prepared.clear_bindings();
    let mut used = vec![false; args.len()];
    for index in 1..=prepared.parameter_count() {
        let name = prepared.parameter_name(index).unwrap_or("?").to_owned();
        let number = name.strip_prefix('$').and_then(|number| number.parse::<usize>().ok());
        let Some(at) = number.and_then(|number| number.checked_sub(1)) else {
            return Err(rusqlite::Error::InvalidParameterName(name));
        };
        let arg = args.get(at).ok_or_else(|| rusqlite::Error::InvalidParameterName(name))?;
        used[at] = true;
        prepared.raw_bind_parameter(index, Argument(arg))?;
    }
    let bound = used.iter().filter(|used| **used).count();
    if bound < args.len() {
        return Err(rusqlite::Error::InvalidParameterCount(args.len(), bound));
    }
    Ok(prepared)
}

struct Argument<'a>(&'a Value);

impl ToSql for Argument<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null => ValueRef::Null,
            Value::Int(value) => ValueRef::Integer(*value),
            Value::Real(value) => ValueRef::Real(*value),
            Value::Text(value) => ValueRef::Text(value.as_bytes()),
            Value::Blob(value) => ValueRef::Blob(value),
        }))
    }
}

/// Runs a query on a read-only connection.
pub(crate) fn query(connection: &Connection, sql: &str, args: &[Value]) -> Result<Vec<Row>, Fault> {
    let failed = |error: rusqlite::Error| {
        if is_of_statement(&error) {
            fault_of(&error).in_statement(FailedStatement::new(0, sql))
        } else {
            error.into()
        }
    };
    let mut prepared = prepare(connection, sql, args).map_err(failed)?;
    let columns: Arc<[Box<str>]> = prepared.column_names().map(Box::from).collect();
    let mut found = Vec::new();
    let mut rows = prepared.raw_query();
    while let Some(row) = rows.next().map_err(failed)? {
        let values = (0..columns.len()).map(|column| value(row.get_ref(column).map_err(failed)?));
        found.push(Row::new(columns.clone(), values.collect::<Result<_, Fault>>()?));
    }
    Ok(found)
}

fn value(value: ValueRef<'_>) -> Result<Value, Fault> {
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Int(value),
        ValueRef::Real(value) => Value::Real(value),
        ValueRef::Blob(value) => Value::Blob(Bytes::copy_from_slice(value)),
        ValueRef::Text(text) => Value::Text(
            String::from_utf8(text.to_vec())
                .map_err(|error| Fault::new(ErrorKind::Serialization, error.to_string()))?,
        ),
    })
}

fn fault_of(error: &rusqlite::Error) -> Fault {
    Fault::new(ErrorKind::Statement, error.to_string())
}

/// Whether the statement is invalid or does not match the tables. Other errors are caused by the database.
fn is_of_statement(error: &rusqlite::Error) -> bool {
    use ErrorCode::{
        ApiMisuse, AuthorizationForStatementDenied, ConstraintViolation, ParameterOutOfRange, ReadOnly,
        TooBig, TypeMismatch, Unknown,
    };
    matches!(
        error.sqlite_error_code(),
        None | Some(
            ApiMisuse
                | AuthorizationForStatementDenied
                | ConstraintViolation
                | ParameterOutOfRange
                | ReadOnly
                | TooBig
                | TypeMismatch
                | Unknown
        )
    )
}
