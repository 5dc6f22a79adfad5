//! Cases about paths and their segments.

use std::cmp::Ordering;

use dactor_core::path::{
    ActorPath, ActorPathError, ActorSelection, PathSegment, SegmentError, SegmentReason, SelectionPath,
    UriParser,
};
use serde_json::{Value, json};

use super::expectation::refused;
use super::text;

/// `"pekko://sys/user/a#1"` → its parts.
pub(super) fn parse(input: &Value) -> Option<Value> {
    let path = match input.as_str()?.parse::<ActorPath>() {
        Ok(path) => path,
        Err(error) => return Some(path_error(error)),
    };
    Some(json!({
        "scheme": path.parts().scheme().as_str(),
        "system": path.system(),
        "host": path.host(),
        "port": path.port(),
        "elements": elements(&path),
        "uid": path.uid().map(|uid| uid.get()),
        "to_string": path.to_string(),
        "serialization": path.to_serialization_format(),
        "decoded_last": path.name().map(|name| name.decoded()),
    }))
}

/// `{ op, path, address? }` → one way to print the path.
pub(super) fn canonical(input: &Value) -> Option<Value> {
    let path = match text(input, "path")?.parse::<ActorPath>() {
        Ok(path) => path,
        Err(error) => return Some(path_error(error)),
    };
    let path = match text(input, "address") {
        Some(address) => path.with_address(&address.parse::<ActorPath>().ok()?.parts()).ok()?,
        None => path,
    };
    Some(match text(input, "op")? {
        "to_string" | "with_address" => path.to_string().into(),
        "without_address" => path.without_address().into(),
        "serialization" => path.to_serialization_format().into(),
        "elements" => elements(&path),
        "address" => {
            let parts = path.parts();
            let (scheme, system) = (parts.scheme().as_str(), parts.system());
            json!({ "scheme": scheme, "system": system, "host": path.host(), "port": path.port() })
        }
        "host_port" => path.host_port().into(),
        _ => return None,
    })
}

/// `{ base, child }` → the child's path.
pub(super) fn child(input: &Value) -> Option<Value> {
    let child = place(text(input, "base")?)?.join(text(input, "child")?);
    Some(match child {
        Ok(child) => json!({ "to_string": child.to_string(), "uid": child.uid().map(|uid| uid.get()) }),
        Err(error) => path_error(error),
    })
}

/// `{ op: resolve, base, path }` → where it leads; `{ op: extract, path }` → its raw steps.
pub(super) fn relative(input: &Value) -> Option<Value> {
    let path = text(input, "path")?;
    match text(input, "op")? {
        "resolve" => {
            let base = text(input, "base")?;
            Some(match place(base)?.resolve(path) {
                Ok(path) if base.starts_with('/') => json!({ "path": path.without_address() }),
                Ok(path) => json!({ "path": path.to_string() }),
                Err(error) => path_error(error),
            })
        }
        "extract" => Some(match UriParser::parse_reference(path) {
            Ok(uri) if uri.scheme.is_none() => {
                let mut steps: Vec<String> = uri.path.split('/').map(str::to_owned).collect();
                if let (Some(last), Some(fragment)) = (steps.last_mut(), uri.fragment) {
                    *last = format!("{last}#{fragment}");
                }
                json!({ "elements": steps })
            }
            _ => refused(&["InvalidUri"], None, None, 0),
        }),
        _ => None,
    }
}

/// Two paths, or `{ op, a, b }` → whether they are equal, and how they are ordered.
pub(super) fn compare(input: &Value) -> Option<Value> {
    let (a, b) = match input {
        Value::Array(pair) => (pair.first()?, pair.get(1)?),
        _ => (&input["a"], &input["b"]),
    };
    if a.is_object() {
        return Some(json!({ "equal": selection(a)? == selection(b)? }));
    }
    let (a, b) = (place(a.as_str()?)?, place(b.as_str()?)?);
    let equal = match text(input, "op") {
        None => a == b,
        Some("address") => a.parts() == b.parts(),
        Some(_) => a.is_same_incarnation(&b),
    };
    let order = match a.cmp(&b) {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    };
    Some(json!({ "equal": equal, "order": order }))
}

/// `"a%20b"` → the name, decoded.
pub(super) fn segment(input: &Value) -> Option<Value> {
    Some(match PathSegment::new(input.as_str()?) {
        Ok(segment) => json!({ "decoded": segment.decoded() }),
        Err(error) => segment_error(None, error),
    })
}

/// A path with its address, or one beginning with `/` in any system.
pub(super) fn place(path: &str) -> Option<ActorPath> {
    if path.starts_with('/') { format!("pekko://vectors{path}").parse().ok() } else { path.parse().ok() }
}

fn selection(object: &Value) -> Option<ActorSelection> {
    let path = SelectionPath::compile(text(object, "path")?).ok()?;
    ActorSelection::new(&place(text(object, "anchor")?)?, path).ok()
}

fn elements(path: &ActorPath) -> Value {
    path.segments().map(|segment| segment.as_str().to_owned()).collect()
}

pub(super) fn path_error(error: ActorPathError) -> Value {
    match error {
        ActorPathError::InvalidUri(error) => refused(&["InvalidUri"], None, None, error.position()),
        ActorPathError::InvalidScheme => refused(&["InvalidScheme"], None, None, 0),
        ActorPathError::UnsupportedAuthority(error) => {
            refused(&["UnsupportedAuthority"], None, None, error.position())
        }
        ActorPathError::InvalidSegment { index, error } | ActorPathError::PercentDecode { index, error } => {
            segment_error(Some(index), error)
        }
        ActorPathError::RelativeEscape { index } => refused(&["RelativeEscape"], Some(index), None, 0),
        ActorPathError::TooLong { length } => refused(&["TooLong"], None, None, length),
        other => refused(&[&other.to_string()], None, None, 0),
    }
}

/// The vectors list a refused name under the error of the path, or under the error of the name.
fn segment_error(index: Option<usize>, error: SegmentError) -> Value {
    let (name, reason) = match error.reason() {
        SegmentReason::Empty => ("EmptySegment", "empty"),
        SegmentReason::TooLong => ("TooLong", "too_long"),
        SegmentReason::Reserved => ("ReservedSegment", "reserved_dollar"),
        SegmentReason::IllegalCharacter => ("InvalidSegmentChar", "illegal_char"),
        SegmentReason::BadEscape => ("InvalidPercentEncoding", "bad_percent"),
        SegmentReason::Control => ("PercentDecode", "control_after_decode"),
        SegmentReason::NonAscii => ("PercentDecode", "non_ascii_after_decode"),
        SegmentReason::Traversal => ("PercentDecode", "traversal_after_decode"),
        SegmentReason::Uid => ("InvalidUid", "bad_uid"),
        _ => ("", ""),
    };
    refused(&["InvalidSegment", name], index, Some(reason), error.position())
}
