//! Equality, hash and order of paths, which all ignore the UID.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::ActorPath;

impl PartialEq for ActorPath {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for ActorPath {}

impl Hash for ActorPath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

/// Pekko's order: names from the actor's own to the guardian's, then the address. If one path is a suffix of
/// the other, the shorter is the greater.
impl Ord for ActorPath {
    fn cmp(&self, other: &Self) -> Ordering {
        let mut others = other.names().rev();
        for name in self.names().rev() {
            match others.next().map(|other| name.cmp(other)) {
                None => return Ordering::Less,
                Some(Ordering::Equal) => {}
                Some(unequal) => return unequal,
            }
        }
        match others.next() {
            Some(_) => Ordering::Greater,
            None => self.root_text().cmp(other.root_text()),
        }
    }
}

impl PartialOrd for ActorPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl ActorPath {
    /// The text of the path's root. Its `/` sorts a local system before the same one with a host.
    fn root_text(&self) -> impl Iterator<Item = u8> {
        self.text[..self.layout.address_end as usize].bytes().chain([b'/'])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> ActorPath {
        text.parse().unwrap()
    }

    #[test]
    fn order() {
        let ascending = [
            "pekko://sys/user/b/a",
            "pekko://sys/user/a/b",
            "pekko://sys/user/b",
            "pekko.tcp://sys/user/c",
            "pekko://sys/user/c",
            "pekko://sys2/user/c",
            "pekko://sys@h:1/user/c",
            "pekko://sys@h:10/user/c",
            "pekko://sys@h:9/user/c",
            "pekko://sys/user",
            "pekko://sys/",
        ];
        for (at, left) in ascending.iter().enumerate() {
            for (other, right) in ascending.iter().enumerate() {
                assert_eq!(path(left).cmp(&path(right)), at.cmp(&other), "{left} {right}");
            }
        }
    }

    #[test]
    fn the_uid_does_not_count() {
        let (one, two) = (path("pekko://sys/user/a#1"), path("pekko://sys/user/a#2"));
        assert_eq!(one, two);
        assert_eq!(one.cmp(&two), Ordering::Equal);
        assert!(!one.is_same_incarnation(&two));
        assert!(one.is_same_incarnation(&one.clone()));
        assert_ne!(path("pekko://sys/user/a"), path("pekko.tcp://sys/user/a"), "the scheme does");
    }
}
