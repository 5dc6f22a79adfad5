use std::iter::successors;

/// A linked list in ascending order. All operations except `size` walk it from its head.
#[derive(Default)]
pub(super) struct SortedList {
    head: Link,
    size: usize,
}

type Link = Option<Box<Node>>;

struct Node {
    value: u64,
    next: Link,
}

impl SortedList {
    /// Inserts a value before the first value that is not less.
    pub(super) fn write(&mut self, value: u64) {
        let mut link = &mut self.head;
        while link.as_ref().is_some_and(|node| node.value < value) {
            link = &mut link.as_mut().expect("the condition has seen it").next;
        }
        let next = link.take();
        *link = Some(Box::new(Node { value, next }));
        self.size += 1;
    }

    pub(super) fn contains(&self, value: u64) -> bool {
        self.values().find(|&other| other >= value) == Some(value)
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// A checksum of the values and their order.
    pub(super) fn checksum(&self) -> u64 {
        self.values().zip(1..).map(|(value, place)| value * place).sum()
    }

    fn values(&self) -> impl Iterator<Item = u64> {
        successors(self.head.as_deref(), |node| node.next.as_deref()).map(|node| node.value)
    }
}
