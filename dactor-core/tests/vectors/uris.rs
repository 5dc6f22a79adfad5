//! Cases about URIs.

use dactor_core::path::{UriError, UriParser, UriParts};
use serde_json::{Value, json};

use super::expectation::refused;
use super::text;

/// A URI → its components; `{ op: resolve, base, ref }` → the URI that the reference stands for.
pub(super) fn read(input: &Value, expected: &Value) -> Option<Value> {
    match input.as_str() {
        None => resolve(input),
        // A reference without a scheme is no URI, so the case says if it is about one.
        Some(uri) if expected["scheme"].is_null() => Some(components(UriParser::parse_reference(uri))),
        Some(uri) => Some(components(UriParser::parse(uri))),
    }
}

pub(super) fn read_absolute(input: &Value) -> Option<Value> {
    match input.as_str() {
        None => resolve(input),
        Some(uri) => Some(components(UriParser::parse(uri))),
    }
}

fn resolve(input: &Value) -> Option<Value> {
    if text(input, "op")? != "resolve" {
        return None;
    }
    Some(
        match UriParser::parse(text(input, "base")?)
            .and_then(|base| base.resolve(text(input, "ref").unwrap_or("")))
        {
            Ok(resolved) => resolved.into(),
            Err(error) => error_value(error),
        },
    )
}

fn components(parsed: Result<UriParts<'_>, UriError>) -> Value {
    let uri = match parsed {
        Ok(uri) => uri,
        Err(error) => return error_value(error),
    };
    let server = uri.server();
    json!({
        "scheme": uri.scheme,
        "authority": uri.authority,
        "path": uri.path,
        "query": uri.query,
        "fragment": uri.fragment,
        "userinfo": server.and_then(|server| server.user_info),
        "host": server.map(|server| server.host),
        "port": server.and_then(|server| server.port),
    })
}

fn error_value(error: UriError) -> Value {
    let name = match error {
        UriError::InvalidScheme { .. } => "InvalidScheme",
        UriError::InvalidAuthority { .. } => "InvalidAuthority",
        UriError::InvalidPath { .. } => "InvalidPath",
        UriError::InvalidQuery { .. } => "InvalidQuery",
        UriError::InvalidFragment { .. } => "InvalidFragment",
        UriError::InvalidPercentEncoding { .. } => "InvalidPercentEncoding",
        _ => "",
    };
    refused(&[name], None, None, error.position())
}
