//! An identity as a path, and back.

use super::{ActorId, ActorIdError};
use crate::path::{ActorPath, ActorPathError, ActorPathParts};

impl ActorId {
    /// The path of this virtual actor in the system with this address, whose name is the namespace:
    /// `/system/virtual/<type>/<key>`.
    ///
    /// ```
    /// use dactor_core::ActorId;
    /// use dactor_core::path::ActorPathParts;
    ///
    /// let id = ActorId::new("bank", "Account", "Zo\u{eb}").unwrap();
    /// let path = id.to_path(&ActorPathParts::new("bank").unwrap()).unwrap();
    /// assert_eq!(path.to_string(), "pekko://bank/system/virtual/Account/Zo~C3~AB");
    /// assert_eq!(ActorId::from_path(&path), Ok(id));
    /// ```
    ///
    /// # Errors
    ///
    /// [`TooLong`](ActorPathError::TooLong), if the address is very long.
    pub fn to_path(&self, address: &ActorPathParts) -> Result<ActorPath, ActorPathError> {
        ActorPath::of_virtual_actor(address, self.actor_type(), self.key())
    }

    /// The virtual actor whose path this is: in the namespace of the path's system.
    ///
    /// # Errors
    ///
    /// [`NotVirtual`](ActorIdError::NotVirtual) for the path of another actor, and those of [`new`](Self::new).
    pub fn from_path(path: &ActorPath) -> Result<Self, ActorIdError> {
        let (actor_type, key) = path.virtual_actor().ok_or(ActorIdError::NotVirtual)?;
        Self::new(path.system(), &actor_type, &key)
    }
}
