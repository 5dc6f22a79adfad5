//! Cases about identities.

use dactor_core::{ActorId, ActorIdError, ActorIdWarning};
use serde_json::{Value, json};

use super::expectation::refused;

/// `"namespace::actor_type/key"` → its fields.
pub(super) fn actor_id(input: &Value) -> Option<Value> {
    let id = match input.as_str()?.parse::<ActorId>() {
        Ok(id) => id,
        Err(error) => return Some(refused(&[&name(error)], None, None, 0)),
    };
    let warning = |warning| match warning {
        ActorIdWarning::Long { .. } => "length",
        ActorIdWarning::UnusualCharacter { .. } => "charset",
        _ => "",
    };
    Some(json!({
        "namespace": id.namespace(),
        "actor_type": id.actor_type(),
        "key": id.key(),
        "to_string": id.to_string(),
        "warnings": id.warnings().map(warning).collect::<Vec<_>>(),
    }))
}

fn name(error: ActorIdError) -> String {
    match error {
        ActorIdError::InvalidFormat => "InvalidFormat".into(),
        ActorIdError::EmptyField(field) => format!("EmptyField({field})"),
        ActorIdError::ReservedDelimiter(_) => "ReservedDelimiter".into(),
        ActorIdError::TooLong { .. } => "TooLong".into(),
        other => other.to_string(),
    }
}
