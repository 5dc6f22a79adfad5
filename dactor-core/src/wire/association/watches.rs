//! Watches between the two systems, in both directions.

use std::collections::BTreeMap;

use tokio::task::AbortHandle;

use super::link::Lane;
use super::{Association, control, lock};
use crate::spi::far_ended;
use crate::{ActorPath, ErrorKind, Result, StopReason};

/// Actors of the other system watched from here, with the number of ref types that watch each.
pub(super) type Watching = BTreeMap<String, (ActorPath, usize)>;

impl Association {
    pub(super) fn begin_watch(&self, target: &ActorPath) -> Result<()> {
        self.link.admit_watch(target)?;
        let is_first = {
            let mut watching = lock(&self.watching);
            let key = target.to_serialization_format();
            let (_, count) = watching.entry(key).or_insert_with(|| (target.clone(), 0));
            *count += 1;
            *count == 1
        };
        // Without a connection the watch is sent after reconnecting. Not under the lock: the actor may be
        // reported as terminated at once.
        if is_first && self.link.is_up() {
            self.control(target, control::WATCH, &[], Lane::Urgent);
        }
        Ok(())
    }

    pub(super) fn end_watch(&self, target: &ActorPath) {
        let mut watching = lock(&self.watching);
        let key = target.to_serialization_format();
        let Some((_, count)) = watching.get_mut(&key) else { return };
        *count -= 1;
        if *count == 0 {
            watching.remove(&key);
            if self.link.is_up() {
                self.control(target, control::UNWATCH, &[], Lane::Urgent);
            }
        }
    }

    /// The number of actors of the other system watched from here.
    pub fn watching(&self) -> usize {
        lock(&self.watching).len()
    }

    /// The number of actors of this system that the other one watches.
    pub fn watched(&self) -> usize {
        lock(&self.watched).len()
    }

    /// Handles a lost connection: in-flight asks and streams fail with
    /// [`Disconnected`](ErrorKind::Disconnected), and the asks and watches of the other system are dropped.
    /// No actor is reported as terminated.
    pub fn disconnected(&self) {
        let error = self.link.error(ErrorKind::Disconnected);
        self.fail_asks(&error);
        let streams = std::mem::take(&mut *lock(&self.streams));
        streams.fail(&error);
        lock(&self.targets).clear();
        let watched = std::mem::take(&mut *lock(&self.watched));
        watched.into_values().for_each(|watch| watch.abort());
    }

    /// Handles a new connection: sends all watches again.
    pub fn connected(&self) {
        let paths: Vec<_> = lock(&self.watching).values().map(|(path, _)| path.clone()).collect();
        paths.iter().for_each(|path| self.control(path, control::WATCH, &[], Lane::Urgent));
    }

    /// Gives up the other system: in-flight asks and streams fail, and all actors watched there are reported
    /// as terminated.
    pub fn give_up(&self, reason: &StopReason) {
        self.disconnected();
        self.end_watched(reason);
    }

    /// Reports all watched actors of the other system as terminated.
    pub fn end_watched(&self, reason: &StopReason) {
        let watching = std::mem::take(&mut *lock(&self.watching));
        for (path, _) in watching.into_values() {
            far_ended(&self.system, &path, reason);
        }
    }

    /// Handles the termination of an actor of the other system.
    pub(super) fn terminated(&self, path: &ActorPath, reason: &StopReason) {
        lock(&self.watching).remove(&path.to_serialization_format());
        far_ended(&self.system, path, reason);
    }

    /// Reports the termination of an actor of this system to the other one; at once if it has already
    /// terminated. `path` is the path that the other system uses.
    pub(super) fn watch_for_other(&self, path: ActorPath, local: &ActorPath) {
        let Ok(actor) = self.system.find(local) else {
            return self.tell_end(&path, &StopReason::Unknown);
        };
        let key = path.to_serialization_format();
        let own = self.own.clone();
        let tell = async move {
            let reason = actor.wait().await.unwrap_or(StopReason::Unknown);
            if let Some(own) = own.upgrade() {
                lock(&own.watched).remove(&path.to_serialization_format());
                own.tell_end(&path, &reason);
            }
        };
        // Under the lock: the entry is added before the task can remove it.
        let mut watched = lock(&self.watched);
        let watch = self.runtime.spawn(tell).abort_handle();
        if let Some(before) = watched.insert(key, watch) {
            before.abort();
        }
    }

    pub(super) fn unwatch_for_other(&self, path: &ActorPath) {
        let watch = lock(&self.watched).remove(&path.to_serialization_format());
        watch.iter().for_each(AbortHandle::abort);
    }

    fn tell_end(&self, path: &ActorPath, reason: &StopReason) {
        self.control(path, control::TERMINATED, &control::encode_reason(reason), Lane::Normal);
    }
}
