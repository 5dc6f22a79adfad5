use std::collections::HashSet;
use std::hash::Hash;

use super::{SegmentPattern, SelectionElement, SelectionPath};
use crate::path::ActorUid;

/// A tree of actors in which a selection is resolved. Storage and locking are up to the implementation.
pub trait ActorTree {
    /// An actor in the tree, or its root.
    type Node: Clone + Eq + Hash;

    /// The parent. The root is its own parent.
    fn parent(&self, node: &Self::Node) -> Self::Node;

    /// The child with this name, if it is alive and has this UID.
    fn child(&self, node: &Self::Node, name: &str, uid: Option<ActorUid>) -> Option<Self::Node>;

    /// The children whose names match.
    fn children(&self, node: &Self::Node, pattern: &SegmentPattern) -> Vec<Self::Node>;
}

/// The result of a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Selected<'a, N> {
    /// The matching actors, without duplicates.
    pub nodes: Vec<N>,
    /// Where it led to no actor. `None` once a pattern has matched several actors: it is no error if some of
    /// them have no such child.
    pub missed: Option<Missed<'a, N>>,
}

/// A dead end of a selection, for dead letters.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Missed<'a, N> {
    /// The last actor from which the selection led on, by name or pattern.
    pub from: N,
    /// The steps from there, up to the end of the selection.
    pub elements: &'a [SelectionElement],
}

impl SelectionPath {
    /// Resolves this path from a node of a tree.
    ///
    /// Each step is taken from all nodes found so far, without duplicates, so the work is bounded by the size
    /// of the tree times the number of steps, however the steps go up and down.
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A root with ten children, of which each has ten. Nodes are numbered, and steps counted.
    #[derive(Default)]
    struct Decimal {
        steps: Cell<usize>,
    }

    impl ActorTree for Decimal {
        type Node = u32;

        fn parent(&self, node: &u32) -> u32 {
            self.steps.set(self.steps.get() + 1);
            node / 10
        }

        fn child(&self, node: &u32, name: &str, uid: Option<ActorUid>) -> Option<u32> {
            let digit: u32 = name.parse().ok()?;
            (*node < 100 && uid.is_none()).then_some(node * 10 + digit)
        }

        fn children(&self, node: &u32, pattern: &SegmentPattern) -> Vec<u32> {
            self.steps.set(self.steps.get() + 1);
            (1..10)
                .filter(|digit| pattern.matches(&digit.to_string()))
                .filter_map(|digit| self.child(node, &digit.to_string(), None))
                .collect()
        }
    }

    fn walk(path: &str) -> (Vec<u32>, Option<(u32, usize)>) {
        let path = SelectionPath::compile(path).unwrap();
        let selected = path.walk(&Decimal::default(), 0);
        (selected.nodes, selected.missed.map(|missed| (missed.from, missed.elements.len())))
    }

    #[test]
    fn steps() {
        assert_eq!(walk("1/./2"), (vec![12], None));
        assert_eq!(walk("1/?").0.len(), 9);
        assert_eq!(walk("1/../2"), (vec![2], None));
        assert_eq!(walk("1/x/y"), (vec![], Some((0, 3))));
        assert_eq!(walk("1#7"), (vec![], Some((0, 1))));
        assert_eq!(walk("1*/x"), (vec![], Some((1, 1))), "a pattern that means one leads on from it");
        assert_eq!(walk("*/x"), (vec![], None), "a pattern with several matches has no dead end");
        assert_eq!(walk("x*"), (vec![], Some((0, 1))));
        assert_eq!(walk("*/../x"), (vec![], None));
    }

    #[test]
    fn going_up_and_down_takes_no_longer_each_time() {
        let tree = Decimal::default();
        let path = SelectionPath::compile(&"*/../".repeat(100)).unwrap();
        assert_eq!(path.walk(&tree, 0).nodes, [0]);
        assert_eq!(tree.steps.get(), 100 * (1 + 9));
    }
}
