mod error;
mod path;

use std::fmt;
use std::str::FromStr;

pub use error::{ActorIdError, ActorIdField, ActorIdWarning};

/// The delimiter between namespace and type.
const NAMESPACE_END: &str = "::";
/// The delimiter between type and key.
const TYPE_END: char = '/';

/// The location-independent identity of a virtual actor: `namespace::actor_type/key`.
///
/// The namespace is the boundary of a cluster: the same type and key in another namespace are another actor.
///
/// ```
/// use dactor_core::ActorId;
///
/// let alice = ActorId::new("prod", "BankAccount", "alice").unwrap();
/// assert_eq!(alice.to_string(), "prod::BankAccount/alice");
/// assert_eq!("prod::BankAccount/alice".parse(), Ok(alice));
/// assert!("prod::BankAccount".parse::<ActorId>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActorId {
    text: Box<str>,
    namespace_end: usize,
    type_end: usize,
}

impl ActorId {
    /// Longest identity, in bytes with its delimiters.
    pub const LONGEST: usize = 512;
    /// Beyond this length, in bytes, an identity has a [warning](ActorIdWarning::Long).
    pub const LONG: usize = 256;

    /// Builds an identity. Fields must not be empty or contain `::` or `/`.
    pub fn new(namespace: &str, actor_type: &str, key: &str) -> Result<Self, ActorIdError> {
        let fields = [
            (ActorIdField::Namespace, namespace),
            (ActorIdField::ActorType, actor_type),
            (ActorIdField::Key, key),
        ];
        if let Some((field, _)) = fields.iter().find(|(_, text)| text.is_empty()) {
            return Err(ActorIdError::EmptyField(*field));
        }
        let namespace_end = namespace.len();
        let type_end = namespace_end + NAMESPACE_END.len() + actor_type.len();
        let length = type_end + TYPE_END.len_utf8() + key.len();
        if length > Self::LONGEST {
            return Err(ActorIdError::TooLong { length });
        }
        // A colon next to the delimiter would be ambiguous.
        let ambiguous = |field, text: &str| match field {
            ActorIdField::Namespace => text.ends_with(':'),
            ActorIdField::ActorType => text.starts_with(':'),
            ActorIdField::Key => false,
        };
        let reserved = |(field, text): &(_, &str)| {
            text.contains(NAMESPACE_END) || text.contains(TYPE_END) || ambiguous(*field, text)
        };
        if let Some((field, _)) = fields.iter().find(|field| reserved(field)) {
            return Err(ActorIdError::ReservedDelimiter(*field));
        }
        let text = format!("{namespace}{NAMESPACE_END}{actor_type}{TYPE_END}{key}").into_boxed_str();
        Ok(Self { text, namespace_end, type_end })
    }

    /// The namespace.
    pub fn namespace(&self) -> &str {
        &self.text[..self.namespace_end]
    }

    /// The type of the actor.
    pub fn actor_type(&self) -> &str {
        &self.text[self.namespace_end + NAMESPACE_END.len()..self.type_end]
    }

    /// The key among the actors of its type.
    pub fn key(&self) -> &str {
        &self.text[self.type_end + TYPE_END.len_utf8()..]
    }

    /// The whole identity.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Warnings for an identity that is valid, but awkward in logs and URLs.
    ///
    /// ```
    /// use dactor_core::{ActorId, ActorIdField, ActorIdWarning};
    ///
    /// let id = ActorId::new("prod", "BankAccount", "alice@example.com").unwrap();
    /// let warning = ActorIdWarning::UnusualCharacter { field: ActorIdField::Key, position: 5 };
    /// assert_eq!(id.warnings().collect::<Vec<_>>(), [warning]);
    /// ```
    pub fn warnings(&self) -> impl Iterator<Item = ActorIdWarning> {
        let long = (self.text.len() > Self::LONG).then_some(ActorIdWarning::Long { length: self.text.len() });
        let unusual = |c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_';
        let fields = [
            (ActorIdField::Namespace, self.namespace()),
            (ActorIdField::ActorType, self.actor_type()),
            (ActorIdField::Key, self.key()),
        ];
        long.into_iter().chain(fields.into_iter().filter_map(move |(field, text)| {
            text.find(unusual).map(|position| ActorIdWarning::UnusualCharacter { field, position })
        }))
    }
}

impl FromStr for ActorId {
    type Err = ActorIdError;

    fn from_str(text: &str) -> Result<Self, ActorIdError> {
        if text.len() > Self::LONGEST {
            return Err(ActorIdError::TooLong { length: text.len() });
        }
        let (namespace, rest) = text.split_once(NAMESPACE_END).ok_or(ActorIdError::InvalidFormat)?;
        // Also refuses `:::`, which is ambiguous.
        if text.rfind(NAMESPACE_END) != Some(namespace.len()) {
            return Err(ActorIdError::InvalidFormat);
        }
        if namespace.is_empty() {
            return Err(ActorIdError::EmptyField(ActorIdField::Namespace));
        }
        match rest.split_once(TYPE_END) {
            Some((actor_type, key)) if !key.contains(TYPE_END) => Self::new(namespace, actor_type, key),
            _ => Err(ActorIdError::InvalidFormat),
        }
    }
}

impl fmt::Display for ActorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        let id: ActorId = "a:b::C:/:d".parse().unwrap();
        assert_eq!((id.namespace(), id.actor_type(), id.key()), ("a:b", "C:", ":d"));
        assert_eq!(id, ActorId::new("a:b", "C:", ":d").unwrap());
        assert_eq!(id.as_str(), "a:b::C:/:d");
    }

    #[test]
    fn refusals() {
        use ActorIdError::{EmptyField, InvalidFormat, ReservedDelimiter};
        use ActorIdField::{ActorType, Key, Namespace};
        for (bad, error) in [
            ("", InvalidFormat),
            ("prod/alice", InvalidFormat),
            ("prod::alice", InvalidFormat),
            ("a::b::c/d", InvalidFormat),
            ("a:::b/c", InvalidFormat),
            ("a::b/c::d", InvalidFormat),
            ("a::b/c/d", InvalidFormat),
            ("prod::", InvalidFormat),
            ("::", EmptyField(Namespace)),
            ("::/", EmptyField(Namespace)),
            ("a::/b", EmptyField(ActorType)),
            ("a::b/", EmptyField(Key)),
            ("a/b::c/d", ReservedDelimiter(Namespace)),
        ] {
            assert_eq!(bad.parse::<ActorId>(), Err(error), "{bad}");
        }
        assert_eq!(ActorId::new("a", "b::c", "d"), Err(ReservedDelimiter(ActorType)));
        assert_eq!(ActorId::new("a:", "b", "c"), Err(ReservedDelimiter(Namespace)));
        assert_eq!(ActorId::new("a", ":b", "c"), Err(ReservedDelimiter(ActorType)));
        assert_eq!(ActorId::new("a", "b", "c/d"), Err(ReservedDelimiter(Key)));
        assert_eq!(ActorId::new("a", "", "c"), Err(EmptyField(ActorType)));
    }

    #[test]
    fn lengths() {
        let of_length = |length: usize| ActorId::new("n", "t", &"k".repeat(length - 5));
        assert_eq!(of_length(256).unwrap().warnings().count(), 0);
        assert_eq!(of_length(257).unwrap().warnings().next(), Some(ActorIdWarning::Long { length: 257 }));
        assert!(of_length(512).is_ok());
        assert_eq!(of_length(513), Err(ActorIdError::TooLong { length: 513 }));
        assert_eq!("x".repeat(10 << 20).parse::<ActorId>(), Err(ActorIdError::TooLong { length: 10 << 20 }));
    }
}
