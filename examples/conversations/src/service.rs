//! The application: each conversation is on one of two paths, by its id.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dactor::cluster::engine::StorageError;
use dactor::cluster::{ActivationState, Cluster, ClusterError};
use dactor::prelude::*;

use crate::conversation::{
    AddMembers, Conversation, Create, GetEpoch, IncrementUnread, RemoveMember, ResetUnread, SendMessage,
    Snapshot,
};
use crate::database::{Database, DatabaseError};
use crate::model::{NewMembers, Refusal, Sent, View};
use crate::naive::Naive;
use crate::statements;

/// Which code serves a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// A virtual actor.
    Actors,
    /// Reads and writes of the tables.
    Naive,
}

impl Path {
    /// The name, in metrics and answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Actors => "actors",
            Self::Naive => "naive",
        }
    }

    /// The path of a conversation, if `share` percent are on actors. Ids that begin with `actor-` or `naive-` have their
    /// path by their name, to compare the two.
    pub fn of(id: &str, share: u8) -> Self {
        if id.starts_with("actor-") {
            return Self::Actors;
        }
        if id.starts_with("naive-") {
            return Self::Naive;
        }
        // FNV-1a: the same on each machine and in each version.
        let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        if (hash >> 32) % 100 < u64::from(share) { Self::Actors } else { Self::Naive }
    }
}

/// Why a request has no answer.
#[derive(Debug)]
pub enum ServiceError {
    /// The request was refused.
    Refused(Refusal),
    /// Too much to do. Nothing was changed.
    Overloaded {
        /// What is too full.
        what: &'static str,
        /// When to try again.
        retry_after: Duration,
    },
    /// The database or the server is not available.
    Unavailable {
        /// Why.
        why: String,
        /// When to try again.
        retry_after: Duration,
        /// Whether the request may have been handled all the same.
        maybe_done: bool,
    },
    /// A mistake of this program.
    Internal(String),
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Overloaded { what, .. } => f.write_str(what),
            Self::Unavailable { why, .. } | Self::Internal(why) => f.write_str(why),
        }
    }
}

impl Error for ServiceError {}

impl From<Refusal> for ServiceError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<DatabaseError> for ServiceError {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::Unavailable(_) => unavailable(error.to_string(), true),
            _ => Self::Internal(error.to_string()),
        }
    }
}

impl From<StorageError> for ServiceError {
    fn from(error: StorageError) -> Self {
        let maybe_done = error.may_have_been_applied();
        if is_temporary(&error) {
            unavailable(format!("{error:#}"), maybe_done)
        } else {
            Self::Internal(format!("{error:#}"))
        }
    }
}

/// Whether the storage may work again without a change of the program.
fn is_temporary(error: &StorageError) -> bool {
    use dactor::cluster::engine::ErrorKind::{Conflict, Fenced, Io};
    error.is_transient() || matches!(error.kind(), Io | Fenced | Conflict)
}

fn unavailable(why: String, maybe_done: bool) -> ServiceError {
    ServiceError::Unavailable { why, retry_after: Duration::from_secs(1), maybe_done }
}

impl From<dactor::Error> for ServiceError {
    fn from(error: dactor::Error) -> Self {
        use dactor::ErrorKind::{MailboxFull, Overloaded, Panicked, Timeout};
        let retry_after = error.retry_after().unwrap_or(Duration::from_secs(1));
        match error.kind() {
            MailboxFull | Overloaded => {
                return Self::Overloaded { what: "the conversation has too many requests", retry_after };
            }
            Timeout => return unavailable("the conversation did not answer in time".into(), true),
            Panicked => return Self::Internal(format!("{error:#}")),
            _ => {}
        }
        let maybe_done = error.may_have_been_handled();
        if let Some(ClusterError::OwnedElsewhere { retry_after, .. }) = error.downcast_ref() {
            return Self::Unavailable { why: error.to_string(), retry_after: *retry_after, maybe_done };
        }
        match error.downcast_ref::<StorageError>() {
            Some(storage) if !is_temporary(storage) => Self::Internal(format!("{error:#}")),
            _ => unavailable(format!("{error:#}"), maybe_done),
        }
    }
}

/// The conversations.
#[derive(Clone)]
pub struct Service {
    cluster: Cluster,
    naive: Naive,
    database: Arc<dyn Database>,
    share: u8,
}

/// The result of a request.
pub type Answer<T> = Result<T, ServiceError>;

impl Service {
    /// The conversations of a cluster and a pool of plain connections, with this percentage on actors.
    pub fn new(cluster: Cluster, database: Arc<dyn Database>, share: u8) -> Self {
        Self { cluster, naive: Naive::new(database.clone()), database, share }
    }

    /// The path of a conversation.
    pub fn path(&self, id: &str) -> Path {
        Path::of(id, self.share)
    }

    /// The percentage of conversations on actors.
    pub fn share(&self) -> u8 {
        self.share
    }

    /// The cluster of the actors.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The plain connections.
    pub fn database(&self) -> &Arc<dyn Database> {
        &self.database
    }

    /// The actor of a conversation that exists. Others are not activated: each would leave a row in the directory.
    async fn actor(&self, id: &str) -> Answer<ActorRef<Conversation>> {
        if self.cluster.state_of::<Conversation>(id)? == ActivationState::Invalid {
            let rows = self.cluster.sql()?.query(statements::EPOCH, &statements::by_id(id)).await?;
            if rows.is_empty() {
                return Err(Refusal::UnknownConversation.into());
            }
        }
        Ok(self.cluster.actor::<Conversation>(id)?)
    }

    /// Creates a conversation.
    pub async fn create(&self, id: &str, members: Vec<String>) -> Answer<()> {
        match self.path(id) {
            Path::Actors => self.cluster.actor::<Conversation>(id)?.ask(Create(members)).await??,
            Path::Naive => self.naive.create(id, &members).await??,
        }
        Ok(())
    }

    /// Adds members, and returns the new epoch.
    pub async fn add_members(&self, id: &str, new: NewMembers) -> Answer<i64> {
        Ok(match self.path(id) {
            Path::Actors => self.actor(id).await?.ask(AddMembers(new)).await??,
            Path::Naive => self.naive.add_members(id, &new).await??,
        })
    }

    /// Removes a member, and returns the new epoch.
    pub async fn remove_member(&self, id: &str, member: String, commit: Option<Vec<u8>>) -> Answer<i64> {
        Ok(match self.path(id) {
            Path::Actors => self.actor(id).await?.ask(RemoveMember { member, commit }).await??,
            Path::Naive => self.naive.remove_member(id, &member, commit.as_deref()).await??,
        })
    }

    /// Sends a message.
    pub async fn send(&self, id: &str, sender: String, ciphertext: Bytes) -> Answer<Sent> {
        Ok(match self.path(id) {
            Path::Actors => self.actor(id).await?.ask(SendMessage { sender, ciphertext }).await??,
            Path::Naive => self.naive.send(id, &sender, ciphertext).await??,
        })
    }

    /// Counts an unread message for all members but the sender. Does not wait for it.
    pub async fn increment_unread(&self, id: &str, sender: String) -> Answer<()> {
        match self.path(id) {
            Path::Actors => self.actor(id).await?.tell(IncrementUnread { sender })?,
            Path::Naive => self.naive.increment_unread(id, &sender).await?,
        }
        Ok(())
    }

    /// A member has read everything.
    pub async fn reset_unread(&self, id: &str, member: String) -> Answer<()> {
        match self.path(id) {
            Path::Actors => self.actor(id).await?.ask(ResetUnread(member)).await??,
            Path::Naive => self.naive.reset_unread(id, &member).await??,
        }
        Ok(())
    }

    /// The current epoch: from memory on actors, by a query otherwise.
    pub async fn epoch(&self, id: &str) -> Answer<i64> {
        Ok(match self.path(id) {
            Path::Actors => self.actor(id).await?.ask(GetEpoch).await??,
            Path::Naive => self.naive.epoch(id).await??,
        })
    }

    /// The whole conversation.
    pub async fn view(&self, id: &str) -> Answer<View> {
        let path = self.path(id);
        let (epoch, unread) = match path {
            Path::Actors => self.actor(id).await?.ask(Snapshot).await??,
            Path::Naive => (self.naive.epoch(id).await??, Default::default()),
        };
        let mut members = self.naive.members(id).await?;
        for member in &mut members {
            // The table is behind the memory of the actor.
            if let Some(unread) = unread.get(&member.member) {
                member.unread = *unread;
            }
        }
        let messages = self.database.query(statements::MESSAGES, statements::by_id(id).to_vec()).await?;
        let messages = messages.iter().map(statements::message_view).collect();
        Ok(View { id: id.to_owned(), path: path.name(), epoch, members, messages })
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("share", &self.share).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_the_actors() {
        for share in [0, 10, 100] {
            let ids = (0..10_000).map(|number| format!("conversation-{number}"));
            let actors = ids.filter(|id| Path::of(id, share) == Path::Actors).count();
            let expected = usize::from(share) * 100;
            assert!(actors.abs_diff(expected) < 200, "{actors} of 10 000 at {share} %");
        }
        assert_eq!(Path::of("actor-1", 0), Path::Actors);
        assert_eq!(Path::of("naive-1", 100), Path::Naive);
        // A conversation that is on actors stays there when the share grows.
        for id in (0..1000).map(|number| format!("c{number}")) {
            assert!(Path::of(&id, 10) == Path::Naive || Path::of(&id, 50) == Path::Actors);
        }
    }
}
