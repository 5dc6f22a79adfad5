//! Lookup: actors by path, and paths by id.

use std::any::type_name;

use crate::path::ActorTree;
use crate::system::tree::{LiveTree, Node};
use crate::{Actor, ActorPath, ActorRef, AnyActorRef, Error, ErrorKind, Pid, Result, System};

impl System {
    /// The live actor at a path. A path with a UID matches only that incarnation. O(length of the path),
    /// independent of the number of actors.
    ///
    /// A path without an address is local if it names this system; a path with another address is not
    /// resolved.
    ///
    /// # Errors
    ///
    /// - [`NoSuchActor`](ErrorKind::NoSuchActor): no live actor is at the path. The guardians are not actors.
    /// - [`WrongIncarnation`](ErrorKind::WrongIncarnation): the actor at the path has another UID.
    /// - [`Unresolved`](ErrorKind::Unresolved): the path belongs to another system.
    pub fn find(&self, path: &ActorPath) -> Result<AnyActorRef> {
        let error = |kind| Error::new(kind).with("actor", path.to_serialization_format());
        if !path.is_in(self.parts()) {
            return Err(error(ErrorKind::Unresolved).with("system", self.name()));
        }
        let tree = LiveTree(self);
        let node = path.segments().try_fold(Node::Root, |node, name| tree.child(&node, name.as_str(), None));
        let actor = node.and_then(Node::into_actor).ok_or_else(|| error(ErrorKind::NoSuchActor))?;
        match path.uid() {
            Some(uid) if uid != actor.uid() => {
                Err(error(ErrorKind::WrongIncarnation).with("incarnation", actor.uid()))
            }
            _ => Ok(AnyActorRef::new(actor)),
        }
    }

    /// The live actor at a path, if it is an `A`: see [`find`](Self::find).
    ///
    /// ```
    /// # use dactor_core::{Actor, ActorPath, ActorRef, System};
    /// # fn found<A: Actor>(system: &System, actor: &ActorRef<A>) {
    /// let text = actor.path().to_string(); // for a log, a file, another program
    /// let path: ActorPath = text.parse().unwrap();
    /// assert_eq!(&system.actor_at::<A>(&path).unwrap(), actor);
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`find`](Self::find), and [`WrongActorType`](ErrorKind::WrongActorType).
    pub fn actor_at<A: Actor>(&self, path: &ActorPath) -> Result<ActorRef<A>> {
        let found = self.find(path)?;
        found.actor_ref().ok_or_else(|| {
            let error = Error::new(ErrorKind::WrongActorType).about(&**found.erased());
            error.with("expected", type_name::<A>())
        })
    }

    /// The live actors of this system, in spawn order.
    pub fn actors(&self) -> Vec<AnyActorRef> {
        self.registry().snapshot().into_iter().map(AnyActorRef::new).collect()
    }

    /// The path of the live actor with this id.
    pub fn path_of(&self, id: Pid) -> Option<ActorPath> {
        self.registry().by_number(id).map(|actor| actor.path())
    }
}
