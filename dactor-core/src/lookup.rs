//! From a path to the actor that lives there, and from an actor's number to its path.

use std::fmt;
use std::sync::Arc;

use crate::path::ActorTree;
use crate::shared::Control;
use crate::tree::{LiveTree, Node};
use crate::{Actor, ActorPath, ActorRef, Pid, System};

/// A live actor that was found by its path, whatever its type.
#[derive(Clone)]
pub struct Identity {
    actor: Arc<dyn Control>,
}

impl Identity {
    pub(crate) fn new(actor: Arc<dyn Control>) -> Self {
        Self { actor }
    }

    /// Its path, with its number as the UID.
    pub fn path(&self) -> ActorPath {
        self.actor.path()
    }

    /// Its number.
    pub fn id(&self) -> Pid {
        self.actor.pid()
    }

    /// Its type.
    pub fn actor_type(&self) -> &'static str {
        self.actor.actor_type()
    }

    /// The ref, if it is an `A`.
    pub fn actor_ref<A: Actor>(&self) -> Option<ActorRef<A>> {
        ActorRef::known(self.actor.clone())
    }
}

/// The same actor, not only the same path.
impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Eq for Identity {}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("path", &self.path())
            .field("actor_type", &self.actor_type())
            .finish()
    }
}

impl System {
    /// The live actor at a path. With a UID it is that incarnation or none. How many actors live makes no difference.
    ///
    /// A path without an address is looked up here if it names this system; one with another address is not.
    pub fn find(&self, path: &ActorPath) -> Option<Identity> {
        if !path.is_in(self.parts()) {
            return None;
        }
        let tree = LiveTree(self);
        let mut names = path.segments();
        let last = names.next_back()?;
        let parent = names.try_fold(Node::Root, |node, name| tree.child(&node, name.as_str(), None))?;
        tree.child(&parent, last.as_str(), path.uid())?.into_actor().map(Identity::new)
    }

    /// The live actor at a path, if it is an `A`: see [`find`](Self::find).
    ///
    /// ```
    /// # use dactor_core::{Actor, ActorPath, ActorRef, System};
    /// # fn found<A: Actor>(system: &System, actor: &ActorRef<A>) {
    /// let text = actor.path().to_string(); // to a log, a file, another program
    /// let path: ActorPath = text.parse().unwrap();
    /// assert_eq!(system.actor_at::<A>(&path).as_ref(), Some(actor));
    /// # }
    /// ```
    pub fn actor_at<A: Actor>(&self, path: &ActorPath) -> Option<ActorRef<A>> {
        self.find(path)?.actor_ref()
    }

    /// The path of the live actor with this number.
    pub fn path_of(&self, id: Pid) -> Option<ActorPath> {
        self.registry().by_number(id).map(|actor| actor.path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Guardian;
    use crate::puppet::{puppet, system};

    #[test]
    fn an_identity_is_that_of_one_actor() {
        let system = system();
        let [one, other] = [(); 2].map(|()| puppet(&system, Guardian::User));
        let identity = Identity::new(one.clone());
        assert!(identity == Identity::new(one));
        assert!(identity != Identity::new(other));
    }
}
