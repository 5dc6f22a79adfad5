use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// The identity of a virtual actor in a store: namespace, actor type and key.
///
/// An engine stores the three fields separately, so a field may contain any text, including `::` and `/`.
/// Every `ActorId` of dactor-core without a NUL character has an `EntityId`: `EntityId::new(id.namespace(),
/// id.actor_type(), id.key())`.
///
/// ```
/// use dactor_engine::{EntityId, EntityIdError};
///
/// let alice = EntityId::new("prod", "Account", "alice")?;
/// assert_eq!(alice.to_string(), "prod::Account/alice");
/// assert_eq!(EntityId::new("prod", "Account", ""), Err(EntityIdError::Empty));
/// # Ok::<_, EntityIdError>(())
/// ```
///
/// Cloning is cheap.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntityId {
    namespace: Arc<str>,
    actor_type: Arc<str>,
    key: Arc<str>,
}

impl EntityId {
    /// The maximum length of the three fields together, in bytes.
    pub const LONGEST: usize = 1024;

    /// Creates an identity. The fields must not be empty or contain a NUL character.
    pub fn new(namespace: &str, actor_type: &str, key: &str) -> Result<Self, EntityIdError> {
        check([namespace, actor_type, key])?;
        Ok(Self { namespace: namespace.into(), actor_type: actor_type.into(), key: key.into() })
    }

    /// The identity of the actor of the same type with this key. The other fields are shared.
    pub fn with_key(&self, key: &str) -> Result<Self, EntityIdError> {
        check([&self.namespace, &self.actor_type, key])?;
        Ok(Self { key: key.into(), ..self.clone() })
    }

    /// The namespace: the boundary of a cluster.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The type of the actor.
    pub fn actor_type(&self) -> &str {
        &self.actor_type
    }

    /// The key among the actors of its type.
    pub fn key(&self) -> &str {
        &self.key
    }
}

fn check(fields: [&str; 3]) -> Result<(), EntityIdError> {
    if fields.iter().any(|field| field.is_empty()) {
        return Err(EntityIdError::Empty);
    }
    if fields.iter().any(|field| field.contains('\0')) {
        return Err(EntityIdError::Nul);
    }
    let length = fields.iter().map(|field| field.len()).sum();
    if length > EntityId::LONGEST {
        return Err(EntityIdError::TooLong { length });
    }
    Ok(())
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}/{}", self.namespace, self.actor_type, self.key)
    }
}

/// Why an [`EntityId`] is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EntityIdError {
    /// A field is empty.
    Empty,
    /// A field contains a NUL character, which some stores cannot store.
    Nul,
    /// The fields together are longer than [`EntityId::LONGEST`].
    TooLong {
        /// The length of the fields together, in bytes.
        length: usize,
    },
}

impl fmt::Display for EntityIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a field of the entity id is empty"),
            Self::Nul => f.write_str("a field of the entity id contains a NUL character"),
            Self::TooLong { length } => {
                write!(f, "the entity id has {length} bytes; at most {} are allowed", EntityId::LONGEST)
            }
        }
    }
}

impl Error for EntityIdError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals() {
        assert_eq!(EntityId::new("", "t", "k"), Err(EntityIdError::Empty));
        assert_eq!(EntityId::new("n", "", "k"), Err(EntityIdError::Empty));
        assert_eq!(EntityId::new("n", "t", "a\0b"), Err(EntityIdError::Nul));
        let longest = EntityId::LONGEST - 2;
        assert!(EntityId::new("n", "t", &"k".repeat(longest)).is_ok());
        assert_eq!(
            EntityId::new("n", "t", &"k".repeat(longest + 1)),
            Err(EntityIdError::TooLong { length: EntityId::LONGEST + 1 })
        );
    }

    #[test]
    fn fields_are_apart() {
        let ids = [("a", "b/c", "d"), ("a", "b", "c/d"), ("a::b", "c", "d"), ("a", "b::c", "d")];
        let ids: std::collections::HashSet<_> =
            ids.into_iter().map(|(n, t, k)| EntityId::new(n, t, k).unwrap()).collect();
        assert_eq!(ids.len(), 4);
    }
}
