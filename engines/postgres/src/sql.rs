//! Validation of the application's statements, and conversion of their values.

use std::error::Error;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use dactor_engine::{ErrorKind, FailedStatement, Row, Value};
use tokio_postgres::types::{Format, FromSql, IsNull, Kind, ToSql, Type, WrongType, to_sql_checked};
use tokio_postgres::{Column, Statement};

use crate::connection::{Author, Connection};
use crate::error::{Effect, Fault};

/// Statements that would end the transaction, change the session, or need another protocol.
const REFUSED: [&str; 26] = [
    "ABORT",
    "BEGIN",
    "CHECKPOINT",
    "CLOSE",
    "COMMIT",
    "COPY",
    "DEALLOCATE",
    "DECLARE",
    "DISCARD",
    "END",
    "EXECUTE",
    "FETCH",
    "LISTEN",
    "LOAD",
    "MOVE",
    "PREPARE",
    "RELEASE",
    "RESET",
    "ROLLBACK",
    "SAVEPOINT",
    "SET",
    "START",
    "UNLISTEN",
    "VACUUM",
    "REASSIGN",
    "IMPORT",
];

/// Statements that are queries.
const QUERIES: [&str; 6] = ["SELECT", "WITH", "VALUES", "TABLE", "SHOW", "EXPLAIN"];

/// Rejects a statement that must not run in the transaction of a save.
pub(crate) fn check_statement(sql: &str) -> Result<(), Fault> {
    let word = first_word(sql);
    if word.is_empty() {
        return Err(Fault::new(ErrorKind::Statement, "there is no statement"));
    }
    if REFUSED.contains(&&*word) {
        return Err(Fault::new(ErrorKind::Statement, format!("{word} is not allowed beside a save")));
    }
    Ok(())
}

/// Rejects a statement that is not a query.
pub(crate) fn check_query(sql: &str) -> Result<(), Fault> {
    let word = first_word(sql);
    if QUERIES.contains(&&*word) {
        return Ok(());
    }
    Err(Fault::new(ErrorKind::Statement, format!("{word:?} does not begin a query")))
}

/// The first keyword of a statement in upper case, after whitespace, comments and parentheses.
fn first_word(sql: &str) -> String {
    let mut rest = sql;
    loop {
        rest = rest.trim_start_matches(|character: char| character.is_whitespace() || character == '(');
        if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.find('\n').map_or("", |end| &comment[end..]);
        } else if rest.starts_with("/*") {
            rest = after_comment(rest);
        } else {
            break;
        }
    }
    rest.chars()
        .take_while(|character| character.is_ascii_alphabetic())
        .collect::<String>()
        .to_ascii_uppercase()
}

/// Skips a comment; comments nest in PostgreSQL.
fn after_comment(text: &str) -> &str {
    let (mut depth, mut at) = (0_usize, 0);
    let bytes = text.as_bytes();
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return &text[at..];
        }
    }
    ""
}

/// The arguments of a prepared statement; checks that their number matches its parameters.
pub(crate) fn arguments<'a>(statement: &Statement, args: &'a [Value]) -> Result<Vec<Argument<'a>>, Fault> {
    let expected = statement.params().len();
    if expected != args.len() {
        let text = format!("{} arguments for {expected} parameters", args.len());
        return Err(Fault::new(ErrorKind::Statement, text));
    }
    Ok(args.iter().map(Argument).collect())
}

/// A value as an argument, converted to the type of the parameter.
#[derive(Debug)]
pub(crate) struct Argument<'a>(&'a Value);

/// The wire format of a value.
enum Encoding {
    Null,
    Binary(Vec<u8>),
    /// Text, which the server parses.
    Text(String),
}

impl Argument<'_> {
    fn encoding(&self, parameter: &Type) -> Result<Encoding, Box<dyn Error + Sync + Send>> {
        let parameter = underlying(parameter);
        Ok(match (self.0, parameter) {
            (Value::Null, _) => Encoding::Null,
            (Value::Int(value), &Type::INT8) => Encoding::Binary(value.to_be_bytes().into()),
            (Value::Int(value), &Type::INT4) => Encoding::Binary(i32::try_from(*value)?.to_be_bytes().into()),
            (Value::Int(value), &Type::INT2) => Encoding::Binary(i16::try_from(*value)?.to_be_bytes().into()),
            (Value::Int(value), _) => Encoding::Text(value.to_string()),
            (Value::Real(value), &Type::FLOAT8) => Encoding::Binary(value.to_be_bytes().into()),
            (Value::Real(value), _) => Encoding::Text(real(*value)),
            (Value::Text(value), _) => Encoding::Text(value.clone()),
            (Value::Blob(value), &Type::BYTEA) => Encoding::Binary(value.to_vec()),
            (Value::Blob(_), other) => return Err(Box::new(WrongType::new::<Bytes>(other.clone()))),
        })
    }
}

/// The shortest text that parses to the same number.
fn real(value: f64) -> String {
    match value {
        value if value.is_nan() => "NaN".into(),
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        value => format!("{value:?}"),
    }
}

impl ToSql for Argument<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self.encoding(ty)? {
            Encoding::Null => return Ok(IsNull::Yes),
            Encoding::Binary(bytes) => out.extend_from_slice(&bytes),
            Encoding::Text(text) => out.extend_from_slice(text.as_bytes()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, ty: &Type) -> Format {
        match self.encoding(ty) {
            Ok(Encoding::Text(_)) => Format::Text,
            _ => Format::Binary,
        }
    }

    to_sql_checked!();
}

/// The base type of a domain.
fn underlying(mut of: &Type) -> &Type {
    while let Kind::Domain(base) = of.kind() {
        of = base;
    }
    of
}

/// The rows of a query.
pub(crate) fn rows(columns: &[Column], rows: &[tokio_postgres::Row]) -> Result<Vec<Row>, Fault> {
    let names: Arc<[Box<str>]> = columns.iter().map(|column| column.name().into()).collect();
    let convert = |row: &tokio_postgres::Row| {
        let value = |column: usize| match row.try_get::<_, Raw>(column) {
            Ok(Raw(value)) => Ok(value),
            Err(error) => {
                let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                let text = format!("column {}: {cause}", columns[column].name());
                Err(Fault::new(ErrorKind::Statement, text))
            }
        };
        Ok(Row::new(names.clone(), (0..columns.len()).map(value).collect::<Result<_, _>>()?))
    };
    rows.iter().map(convert).collect()
}

/// A value of a column.
struct Raw(Value);

impl<'a> FromSql<'a> for Raw {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let ty = underlying(ty);
        let text =
            |bytes: &[u8]| Ok::<_, std::str::Utf8Error>(Value::Text(std::str::from_utf8(bytes)?.to_owned()));
        Ok(Self(match *ty {
            Type::BOOL => Value::Int(bool::from_sql(ty, raw)?.into()),
            Type::INT2 => Value::Int(i16::from_sql(ty, raw)?.into()),
            Type::INT4 => Value::Int(i32::from_sql(ty, raw)?.into()),
            Type::INT8 => Value::Int(i64::from_sql(ty, raw)?),
            Type::OID => Value::Int(u32::from_sql(ty, raw)?.into()),
            Type::FLOAT4 => Value::Real(f32::from_sql(ty, raw)?.into()),
            Type::FLOAT8 => Value::Real(f64::from_sql(ty, raw)?),
            Type::NUMERIC => numeric(raw)?,
            Type::BYTEA => Value::Blob(Bytes::copy_from_slice(raw)),
            Type::UUID => uuid(raw)?,
            Type::TEXT
            | Type::VARCHAR
            | Type::BPCHAR
            | Type::NAME
            | Type::UNKNOWN
            | Type::JSON
            | Type::XML => text(raw)?,
            // Skips the format version.
            Type::JSONB => text(raw.get(1..).unwrap_or_default())?,
            _ if matches!(ty.kind(), Kind::Enum(_)) => text(raw)?,
            Type::VOID => Value::Null,
            _ => {
                return Err(
                    format!("the type {} has no value; cast it, as in column::text", ty.name()).into()
                );
            }
        }))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(Value::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

fn uuid(raw: &[u8]) -> Result<Value, Box<dyn Error + Sync + Send>> {
    let hex = format!("{:032x}", u128::from_be_bytes(raw.try_into()?));
    Ok(Value::Text([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")))
}

/// A `numeric`, for example the `sum` of integers: an integer if it has no fraction, otherwise the nearest
/// floating-point number.
fn numeric(raw: &[u8]) -> Result<Value, Box<dyn Error + Sync + Send>> {
    let words: Vec<i16> = raw.chunks_exact(2).map(|word| i16::from_be_bytes([word[0], word[1]])).collect();
    let [_, weight, sign, _, digits @ ..] = &words[..] else {
        return Err("a numeric without its head".into());
    };
    match *sign as u16 {
        0xC000 => return Ok(Value::Real(f64::NAN)),
        0xD000 => return Ok(Value::Real(f64::INFINITY)),
        0xF000 => return Ok(Value::Real(f64::NEG_INFINITY)),
        _ => {}
    }
    // Base-10000 digits; `weight` is the exponent of the first.
    let (weight, last) = (i32::from(*weight), i32::try_from(digits.len())? - 1);
    let group = |power: i32| {
        usize::try_from(weight - power).ok().and_then(|index| digits.get(index)).copied().unwrap_or(0)
    };
    let integer: String = (0..=weight.max(0)).rev().map(|power| format!("{:04}", group(power))).collect();
    let fraction: String = (1..=last - weight).map(|power| format!("{:04}", group(-power))).collect();
    let (sign, fraction) = (if *sign == 0 { "" } else { "-" }, fraction.trim_end_matches('0'));
    if fraction.is_empty()
        && let Ok(number) = format!("{sign}{integer}").parse()
    {
        return Ok(Value::Int(number));
    }
    Ok(Value::Real(format!("{sign}{integer}.{fraction}0").parse()?))
}

/// Runs a query of the application on a read-only connection.
pub(crate) async fn query(connection: &mut Connection, sql: &str, args: &[Value]) -> Result<Vec<Row>, Fault> {
    let named = |fault: Fault| match fault.kind() {
        ErrorKind::Statement => fault.in_statement(FailedStatement::new(0, sql)),
        _ => fault,
    };
    check_query(sql).map_err(named)?;
    let prepared = connection.prepare(sql, Author::Application).await.map_err(named)?;
    let arguments = arguments(&prepared, args).map_err(named)?;
    let arguments: Vec<_> = arguments.iter().map(|argument| argument as &(dyn ToSql + Sync)).collect();
    connection.unsettle();
    let answer = connection.client().query(&prepared, &arguments);
    let found = match tokio::time::timeout(connection.patience(), answer).await {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => {
            let fault = Fault::application(&error);
            if fault.was_rolled_back() || fault.kind() == ErrorKind::Statement {
                connection.forget(sql);
                connection.settle();
            }
            return Err(named(fault));
        }
        Err(_) => return Err(connection.late(Effect::Read)),
    };
    connection.settle();
    rows(prepared.columns(), &found).map_err(named)
}

/// The failed statement of a save.
pub(crate) fn failed(index: usize, statement: &dactor_engine::Statement) -> FailedStatement {
    FailedStatement::new(index, &*statement.sql)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_words() {
        for (sql, word) in [
            ("SELECT 1", "SELECT"),
            ("  -- x\n  savepoint a", "SAVEPOINT"),
            ("/* x /* y */ z */ ROLLBACK", "ROLLBACK"),
            ("((select 1))", "SELECT"),
            ("", ""),
            ("-- only", ""),
            ("/* open", ""),
            (";COMMIT", ""),
            ("begin;", "BEGIN"),
        ] {
            assert_eq!(first_word(sql), word, "{sql}");
        }
        assert!(check_statement("COMMIT").is_err() && check_statement("").is_err());
        assert!(check_statement("INSERT INTO a VALUES (1)").is_ok());
        assert!(
            check_query("DELETE FROM a").is_err() && check_query("with a as (select 1) select 2").is_ok()
        );
    }

    #[test]
    fn numerics() {
        let encode = |weight: i16, sign: u16, scale: i16, digits: &[i16]| {
            let mut raw = Vec::new();
            for word in
                [i16::try_from(digits.len()).unwrap(), weight, sign as i16, scale].iter().chain(digits)
            {
                raw.extend_from_slice(&word.to_be_bytes());
            }
            numeric(&raw).unwrap()
        };
        assert_eq!(encode(0, 0, 0, &[]), Value::Int(0));
        assert_eq!(encode(0, 0, 0, &[7]), Value::Int(7));
        assert_eq!(encode(1, 0x4000, 0, &[12, 34]), Value::Int(-120_034));
        assert_eq!(encode(2, 0, 0, &[1]), Value::Int(100_000_000));
        assert_eq!(encode(0, 0, 2, &[3, 2500]), Value::Real(3.25));
        assert_eq!(encode(-1, 0, 1, &[1000]), Value::Real(0.1));
        assert_eq!(encode(-2, 0x4000, 8, &[1000]), Value::Real(-0.000_01));
        assert_eq!(encode(0, 0, 2, &[5]), Value::Int(5));
        assert_eq!(encode(4, 0, 0, &[1844, 6744, 737, 955, 1616]), Value::Real(18_446_744_073_709_551_616.0));
        assert!(matches!(encode(0, 0xC000, 0, &[]), Value::Real(number) if number.is_nan()));
    }
}
