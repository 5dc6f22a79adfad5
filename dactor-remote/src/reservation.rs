//! Reserved UIDs: refs with such a UID are refused for a time.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use dactor_core::ActorPath;
use dactor_core::path::ActorUid;
use tokio::time::Instant;

/// The maximum number of reservations; beyond it the oldest is dropped.
pub(crate) const LIMIT: usize = 65_536;

/// Reserved pairs of path and UID, of actors on quarantined nodes. The path itself is not reserved.
#[derive(Debug)]
pub(crate) struct Reservations {
    until: HashMap<Key, Instant>,
    /// In order of expiry.
    order: VecDeque<(Key, Instant)>,
    duration: Duration,
    limit: usize,
}

type Key = (ActorPath, ActorUid);

impl Reservations {
    pub(crate) fn new(duration: Duration, limit: usize) -> Self {
        Self { until: HashMap::new(), order: VecDeque::new(), duration, limit }
    }

    /// Reserves the UID of a path from now on. Ignores a path without a UID.
    pub(crate) fn reserve(&mut self, path: &ActorPath, now: Instant) {
        let Some(uid) = path.uid() else { return };
        let key = (path.clone().without_uid(), uid);
        let until = now + self.duration;
        self.until.insert(key.clone(), until);
        self.order.push_back((key, until));
        self.expire(now);
        while self.until.len() > self.limit {
            self.drop_oldest();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.until.is_empty()
    }

    pub(crate) fn is_reserved(&self, path: &ActorPath, now: Instant) -> bool {
        let Some(uid) = path.uid().filter(|_| !self.until.is_empty()) else { return false };
        self.until.get(&(path.clone().without_uid(), uid)).is_some_and(|until| now < *until)
    }

    /// Removes expired reservations.
    pub(crate) fn expire(&mut self, now: Instant) {
        while self.order.front().is_some_and(|(_, until)| *until <= now) {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        let Some((key, until)) = self.order.pop_front() else { return };
        // Unless the reservation was renewed.
        if self.until.get(&key) == Some(&until) {
            self.until.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str, uid: u64) -> ActorPath {
        let path: ActorPath = format!("pekko.tcp://bank@h:1/user/{name}").parse().unwrap();
        path.with_uid(ActorUid::new(uid))
    }

    #[test]
    fn reservations_end() {
        let (now, hour) = (Instant::now(), Duration::from_secs(3600));
        let mut reserved = Reservations::new(hour, 10);
        reserved.reserve(&path("a", 1), now);
        reserved.reserve(&path("a", 1).without_uid(), now);
        assert!(reserved.is_reserved(&path("a", 1), now));
        assert!(!reserved.is_reserved(&path("a", 2), now), "another incarnation");
        assert!(!reserved.is_reserved(&path("a", 1).without_uid(), now), "the path is free");
        assert!(!reserved.is_reserved(&path("a", 1), now + hour));
        reserved.reserve(&path("a", 1), now + hour / 2);
        reserved.expire(now + hour);
        assert!(reserved.is_reserved(&path("a", 1), now + hour), "it was reserved again");
        reserved.expire(now + 2 * hour);
        assert!(reserved.is_empty());
    }

    #[test]
    fn the_oldest_goes_first() {
        let now = Instant::now();
        let mut reserved = Reservations::new(Duration::from_secs(1), 2);
        for uid in 1..=3 {
            reserved.reserve(&path("a", uid), now);
        }
        let left: Vec<_> = (1..=3).filter(|uid| reserved.is_reserved(&path("a", *uid), now)).collect();
        assert_eq!(left, [2, 3]);
    }
}
