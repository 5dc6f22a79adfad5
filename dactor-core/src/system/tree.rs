//! The live actors of a system as a tree, for navigation.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::kernel::actor_core::{ActorMeta, DynActor};
use crate::path::escape::{escape, unescape};
use crate::path::generated::GeneratedName;
use crate::path::{ActorTree, ActorUid, Guardian, SegmentPattern};
use crate::{Pid, System};

/// A node of the tree. Only actors have a mailbox: the root and the guardians merely group them.
#[derive(Clone)]
pub(crate) enum Node {
    Root,
    Guardian(Guardian),
    Actor(Arc<dyn DynActor>),
}

impl Node {
    fn key(&self) -> (Option<Guardian>, Option<Pid>) {
        match self {
            Self::Root => (None, None),
            Self::Guardian(guardian) => (Some(*guardian), None),
            Self::Actor(actor) => (None, Some(actor.pid())),
        }
    }

    pub(crate) fn into_actor(self) -> Option<Arc<dyn DynActor>> {
        match self {
            Self::Actor(actor) => Some(actor),
            Self::Root | Self::Guardian(_) => None,
        }
    }

    /// Whether the actor is a direct child.
    fn is_parent_of(&self, actor: &ActorMeta) -> bool {
        match (self, actor.parent()) {
            (Self::Guardian(guardian), None) => actor.guardian() == *guardian,
            (Self::Actor(node), Some(parent)) => node.pid() == parent.pid(),
            _ => false,
        }
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Node {}

impl Hash for Node {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// The tree of a system. No lock is held between steps: actors may come and go.
pub(crate) struct LiveTree<'a>(pub(crate) &'a System);

impl ActorTree for LiveTree<'_> {
    type Node = Node;

    fn parent(&self, node: &Node) -> Node {
        match node {
            Node::Root | Node::Guardian(_) => Node::Root,
            Node::Actor(actor) => match actor.meta().parent() {
                Some(parent) => Node::Actor(parent.clone()),
                None => Node::Guardian(actor.meta().guardian()),
            },
        }
    }

    fn child(&self, node: &Node, name: &str, uid: Option<ActorUid>) -> Option<Node> {
        let child = match (GeneratedName::number_in(name), node) {
            (_, Node::Root) => {
                // No actors exist below `/temp`.
                let guardian = [Guardian::User, Guardian::System].into_iter().find(|it| it.as_str() == name);
                return guardian.filter(|_| uid.is_none()).map(Node::Guardian);
            }
            // A generated name encodes the id, so it needs no table.
            (Some(number), _) => self
                .0
                .registry()
                .by_number(Pid::from_number(number))
                .filter(|actor| actor.meta().name().is_none() && node.is_parent_of(actor.meta())),
            (None, Node::Guardian(guardian)) => self.0.registry().get(*guardian, &unescape(name)?),
            (None, Node::Actor(actor)) => actor.meta().family().child(&unescape(name)?),
        };
        child.filter(|child| uid.is_none_or(|uid| uid == child.uid())).map(Node::Actor)
    }

    fn children(&self, node: &Node, pattern: &SegmentPattern) -> Vec<Node> {
        let children = match node {
            Node::Root => {
                let guardians = [Guardian::User, Guardian::System].into_iter();
                let matching = guardians.filter(|guardian| pattern.matches(guardian.as_str()));
                return matching.map(Node::Guardian).collect();
            }
            Node::Guardian(guardian) => self.0.top_level(*guardian),
            Node::Actor(actor) => actor.meta().family().children(),
        };
        let matches = |child: &Arc<dyn DynActor>| match child.meta().name() {
            Some(name) => pattern.matches(&escape(name)),
            None => pattern.matches(GeneratedName::new(child.pid().get()).as_str()),
        };
        children.into_iter().filter(matches).map(Node::Actor).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::test_actors::{system, test_actor};

    #[test]
    fn a_place_is_like_no_other() {
        let system = system();
        let [one, other] = [(); 2].map(|()| Node::Actor(test_actor(&system, Guardian::User)));
        let places =
            [Node::Root, Node::Guardian(Guardian::User), Node::Guardian(Guardian::System), one, other];
        for (at, place) in places.iter().enumerate() {
            for (beside, other) in places.iter().enumerate() {
                assert_eq!(place == other, at == beside, "{at} {beside}");
            }
        }
    }
}
