//! Serde for text values: serialized by `Display` and deserialized by their parser.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::identity::external;
use crate::path::{ActorPath, ActorPathParser, ActorUid};
use crate::{ActorId, CorrelationId, NodeId};

/// Deserializes any text that this function parses.
struct Text<T, E>(fn(&str) -> Result<T, E>);

impl<T, P: fmt::Display> Visitor<'_> for Text<T, P> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        self.0(text).map_err(E::custom)
    }
}

/// Accepts generated names, because a system wrote it.
impl<'de> Deserialize<'de> for ActorPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text(ActorPathParser::parse_generated))
    }
}

/// With its UID; in a message for another process, with the address by which that reaches the actor.
impl Serialize for ActorPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let external = external::of(self);
        serializer.serialize_str(&external.as_ref().unwrap_or(self).to_serialization_format())
    }
}

impl<'de> Deserialize<'de> for ActorId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text(str::parse))
    }
}

impl Serialize for ActorId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for NodeId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text(str::parse))
    }
}

impl Serialize for NodeId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for CorrelationId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u64::deserialize(deserializer).map(Self::new)
    }
}

impl Serialize for CorrelationId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.get())
    }
}

impl<'de> Deserialize<'de> for ActorUid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u64::deserialize(deserializer).map(Self::new)
    }
}

impl Serialize for ActorUid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back<T: Serialize + for<'de> Deserialize<'de> + fmt::Debug>(text: &str) {
        let value: T = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&value).unwrap(), text);
    }

    #[test]
    fn values() {
        there_and_back::<ActorPath>(r#""pekko://app@h:1/user/a#7""#);
        there_and_back::<ActorPath>(r#""pekko://app/user/$a""#);
        there_and_back::<ActorId>(r#""prod::BankAccount/alice""#);
        there_and_back::<NodeId>(r#""[::1]:2552""#);
        there_and_back::<CorrelationId>("18446744073709551615");
        there_and_back::<ActorUid>("7");
        let error = serde_json::from_str::<ActorPath>(r#""pekko://app/user/a b""#).unwrap_err();
        assert!(error.to_string().contains("segment 1"), "{error}");
    }
}
