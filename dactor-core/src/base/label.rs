//! Identity of an actor: in errors, events and log lines, and for comparing refs.

use std::hash::{Hash, Hasher};
use std::ptr;

use crate::base::current;
use crate::base::pid::Pid;
use crate::path::{ActorPath, ActorPathParts, ActorUid};

/// An actor, as named in errors, events and log lines.
pub(crate) trait Labelled: Send + Sync {
    fn path(&self) -> ActorPath;
    /// The path without the UID.
    fn label(&self) -> String {
        self.path().into_text()
    }
    fn pid(&self) -> Pid;
    /// The UID: which incarnation at its path it is.
    fn uid(&self) -> ActorUid;
    /// The address of its system.
    fn address(&self) -> &ActorPathParts;
    fn actor_type(&self) -> &'static str;
    /// The number of messages in its mailbox.
    fn queued(&self) -> usize;
    /// Whether the code that runs on this thread is its own.
    fn is_own_code(&self) -> bool {
        current::actor() == self.pid()
    }
}

/// Whether both are the same actor: the address of the system and the UID name an actor everywhere, a [`Pid`] only in
/// this process. UIDs differ in almost every comparison, and the address of one system is one object. A virtual actor has no
/// UID: its path says who it is.
#[inline]
pub(crate) fn is_same_actor<A, B>(one: &A, other: &B) -> bool
where
    A: Labelled + ?Sized,
    B: Labelled + ?Sized,
{
    let uid = one.uid();
    uid == other.uid()
        && {
            let (one, other) = (one.address(), other.address());
            ptr::eq(one, other) || one == other
        }
        && (uid != ActorUid::ANY || one.path() == other.path())
}

/// Hashes what [`is_same_actor`] compares. The UID alone: actors with the same UID at two addresses are rare. Virtual actors
/// have none, and are told apart by their paths.
#[inline]
pub(crate) fn hash_actor(actor: &(impl Labelled + ?Sized), state: &mut impl Hasher) {
    match actor.uid() {
        ActorUid::ANY => actor.path().hash(state),
        uid => uid.hash(state),
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

    use super::*;

    struct Named(ActorPathParts, u64);

    impl Labelled for Named {
        fn path(&self) -> ActorPath {
            ActorPath::root(&self.0).unwrap()
        }

        fn pid(&self) -> Pid {
            Pid::NOBODY
        }

        fn uid(&self) -> ActorUid {
            ActorUid::new(self.1)
        }

        fn address(&self) -> &ActorPathParts {
            &self.0
        }

        fn actor_type(&self) -> &'static str {
            "Named"
        }

        fn queued(&self) -> usize {
            0
        }
    }

    /// All of them have the same `Pid`.
    #[test]
    fn an_address_and_a_uid_name_an_actor() {
        let address = |name| ActorPathParts::new(name).unwrap();
        let actor = Named(address("bank"), 7);
        let decoded = Named(address("bank"), 7);
        assert!(is_same_actor(&actor, &actor) && is_same_actor(&actor, &decoded));
        assert!(!is_same_actor(&actor, &Named(address("bank"), 8)), "another incarnation");
        assert!(!is_same_actor(&actor, &Named(address("shop"), 7)), "another system");
        let hash = |actor: &Named| {
            let mut state = BuildHasherDefault::<DefaultHasher>::default().build_hasher();
            hash_actor(actor, &mut state);
            state.finish()
        };
        assert_eq!(hash(&actor), hash(&decoded));
    }
}
