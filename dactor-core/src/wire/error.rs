//! Errors on the wire: the payload of a failed reply and of a failed stream.
//!
//! ```text
//!   kind: text   marks: 1 byte   [retry after in microseconds: number]
//!   number of context pairs: 1 byte, for each: name: text, value: text
//!   number of causes: 1 byte, for each: text
//! ```
//!
//! Names have a length prefix of one byte, other strings of two. Marks: 1 if a handler may have received the
//! message, 2 if a retry delay follows.

use std::error::Error as StdError;
use std::time::Duration;

use crate::base::error::{RemoteError, chain};
use crate::wire::bytes::{Reader, cut, write_long, write_number, write_short};
use crate::{Error, ErrorKind, Result};

const HANDLED: u8 = 1;
const RETRY_AFTER: u8 = 2;

/// The maximum number of context pairs, and of causes, in an encoded error.
const MAX_CONTEXT: usize = 64;
const MAX_CAUSES: usize = 16;
/// The maximum length of a context value or a cause in an encoded error, in bytes.
const MAX_TEXT: usize = 4 * 1024;

/// The context key for the name of an unknown kind.
const KIND: &str = "kind";

/// Appends the error to the buffer. Long strings are truncated.
pub fn encode_error(error: &Error, out: &mut Vec<u8>) {
    // An unknown kind keeps its name when the error is forwarded.
    let kept = if error.kind() == ErrorKind::Other { error.get(KIND) } else { None };
    write_short(kept.unwrap_or(error.kind().wire_name()), out);
    let retry_after = error.retry_after();
    out.push(
        if error.may_have_been_handled() { HANDLED } else { 0 }
            | if retry_after.is_some() { RETRY_AFTER } else { 0 },
    );
    if let Some(after) = retry_after {
        write_number(u64::try_from(after.as_micros()).unwrap_or(u64::MAX), out);
    }
    let context = || error.context().filter(|(name, _)| !(kept.is_some() && *name == KIND)).take(MAX_CONTEXT);
    out.push(context().count() as u8);
    for (name, value) in context() {
        write_short(name, out);
        write_long(cut(value, MAX_TEXT), out);
    }
    let causes = || chain(error.source()).take(MAX_CAUSES);
    out.push(causes().count() as u8);
    for cause in causes() {
        write_long(cut(&shown(cause), MAX_TEXT), out);
    }
}

/// The text of a cause, whose `Display` may panic.
fn shown(cause: &(dyn StdError + 'static)) -> String {
    crate::base::panic::contain(|| cause.to_string())
        .unwrap_or_else(|_| "(its text cannot be shown: it panicked)".to_owned())
}

/// Decodes an error that fills the whole payload. An unknown kind becomes [`Other`](ErrorKind::Other), with
/// its name in the context as `kind`.
///
/// # Errors
///
/// [`InvalidFrame`](ErrorKind::InvalidFrame), with the cause and the position.
pub fn decode_error(payload: &[u8]) -> Result<Error> {
    let mut reader = Reader::new(payload);
    let name = reader.short_text("the kind of an error")?;
    let marks = reader.byte("the marks of an error")?;
    if name.is_empty() || marks & !(HANDLED | RETRY_AFTER) != 0 {
        return Err(reader.invalid("the kind of an error", "is empty, or its marks are not known"));
    }
    let retry_after = match marks & RETRY_AFTER {
        0 => None,
        _ => Some(Duration::from_micros(reader.number("the time to try again")?)),
    };
    let mut context = Vec::new();
    for _ in 0..count(&mut reader, MAX_CONTEXT, "the context of an error")? {
        let name = reader.short_text("the context of an error")?;
        context.push((name.to_owned(), reader.long_text("the context of an error")?.to_owned()));
    }
    let mut causes = Vec::new();
    for _ in 0..count(&mut reader, MAX_CAUSES, "the causes of an error")? {
        causes.push(reader.long_text("the cause of an error")?.to_owned());
    }
    reader.end("an error")?;
    let kind = ErrorKind::from_wire_name(name).unwrap_or(ErrorKind::Other);
    if kind == ErrorKind::Other && name != ErrorKind::Other.wire_name() {
        context.insert(0, (KIND.to_owned(), name.to_owned()));
    }
    let handled = marks & HANDLED != 0;
    Ok(RemoteError { kind, context, retry_after, handled, causes }.into())
}

fn count(reader: &mut Reader<'_>, most: usize, what: &'static str) -> Result<u8> {
    let count = reader.byte(what)?;
    if usize::from(count) > most {
        return Err(reader.invalid(what, "has too many parts").with("limit", most));
    }
    Ok(count)
}
