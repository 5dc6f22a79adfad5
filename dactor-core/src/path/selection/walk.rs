use std::collections::HashSet;
use std::hash::Hash;

use super::{SegmentPattern, SelectionElement, SelectionPath};
use crate::path::ActorUid;

/// A tree of actors that a selection can be walked in. Whose tree it is and how it is locked is not its business.
pub trait ActorTree {
    /// An actor in the tree, or its root.
    type Node: Clone + Eq + Hash;

    /// The parent. The root's is the root.
    fn parent(&self, node: &Self::Node) -> Self::Node;

    /// The child of this name, if it is alive and of this incarnation.
    fn child(&self, node: &Self::Node, name: &str, uid: Option<ActorUid>) -> Option<Self::Node>;

    /// The children whose names match.
    fn children(&self, node: &Self::Node, pattern: &SegmentPattern) -> Vec<Self::Node>;
}

/// What a selection found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Selected<'a, N> {
    /// The actors it means, each once.
    pub nodes: Vec<N>,
    /// Where it led to nobody. There is none once a pattern has matched several actors: that some of them have
    /// no such child is nobody's error.
    pub missed: Option<Missed<'a, N>>,
}

/// A place where there is nobody: for a dead letter to say where it was going.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Missed<'a, N> {
    /// The last actor from which the selection led on, by name or pattern.
    pub from: N,
    /// The steps from there, up to the end of the selection.
    pub elements: &'a [SelectionElement],
}

impl SelectionPath {
    /// Finds the actors that this path means from a place in a tree.
    ///
    /// Each step is taken from all actors found so far, each counted once, so the work is bounded by the size of
    /// the tree times the number of steps, however the steps go up and down.
    pub fn walk<T: ActorTree>(&self, tree: &T, anchor: T::Node) -> Selected<'_, T::Node> {
        let mut anchor = Missed { from: anchor, elements: self.elements() };
        let mut nodes = vec![anchor.from.clone()];
        let mut fanned_out = false;
        for (index, element) in self.elements().iter().enumerate() {
            if element.stays() {
                continue;
            }
            let mut seen = HashSet::new();
            nodes = nodes
                .iter()
                .flat_map(|node| step(tree, node, element))
                .filter(|node| seen.insert(node.clone()))
                .collect();
            fanned_out |= nodes.len() > 1;
            match nodes.as_slice() {
                [] => break,
                [only] if !fanned_out && matches!(element, SelectionElement::Pattern(_)) => {
                    anchor = Missed { from: only.clone(), elements: &self.elements()[index + 1..] };
                }
                _ => {}
            }
        }
        let missed = (nodes.is_empty() && !fanned_out).then_some(anchor);
        Selected { nodes, missed }
    }
}

fn step<T: ActorTree>(tree: &T, node: &T::Node, element: &SelectionElement) -> Vec<T::Node> {
    match element {
        SelectionElement::Parent => vec![tree.parent(node)],
        SelectionElement::Child { name, uid } => tree.child(node, name, *uid).into_iter().collect(),
        SelectionElement::Pattern(pattern) => tree.children(node, pattern),
    }
}
