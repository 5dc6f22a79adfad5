//! The code that the actors replace: read, compute, write.
//!
//! Between the read and the write another request may do the same. Then two requests enter the same epoch, two messages have
//! one number, and a count that was reset comes back. This is deliberate: it is the problem.

use std::sync::Arc;

use bytes::Bytes;

use crate::database::{Database, DatabaseError};
use crate::model::{MemberView, NewMembers, Refusal, Sent};
use crate::statements;

/// Conversations without actors.
#[derive(Clone)]
pub struct Naive {
    database: Arc<dyn Database>,
}

/// An answer, a refusal, or a failure of the database.
pub type Answer<T> = Result<Result<T, Refusal>, DatabaseError>;

impl Naive {
    /// On this database.
    pub fn new(database: Arc<dyn Database>) -> Self {
        Self { database }
    }

    /// Creates a conversation.
    pub async fn create(&self, id: &str, members: &[String]) -> Answer<()> {
        refuse(self.database.transaction(statements::create(id, members)).await, Refusal::Exists, ())
    }

    /// The current epoch, by a query.
    pub async fn epoch(&self, id: &str) -> Answer<i64> {
        let rows = self.database.query(statements::EPOCH, statements::by_id(id).to_vec()).await?;
        let epoch = rows.first().map(|row| statements::int(row, "current_epoch"));
        Ok(epoch.ok_or(Refusal::UnknownConversation))
    }

    /// All members.
    pub async fn members(&self, id: &str) -> Result<Vec<MemberView>, DatabaseError> {
        let rows = self.database.query(statements::MEMBERS, statements::by_id(id).to_vec()).await?;
        Ok(rows.iter().map(statements::member_view).collect())
    }

    async fn present(&self, id: &str, member: &str) -> Answer<Vec<MemberView>> {
        let members = self.members(id).await?;
        let is_present = members.iter().any(|other| other.member == member && !other.left);
        Ok(if is_present { Ok(members) } else { Err(Refusal::NotAMember(member.to_owned())) })
    }

    /// Adds members.
    pub async fn add_members(&self, id: &str, new: &NewMembers) -> Answer<i64> {
        let epoch = match self.epoch(id).await? {
            Ok(epoch) => epoch + 1,
            Err(refusal) => return Ok(Err(refusal)),
        };
        for other in self.members(id).await? {
            if !other.left && new.members.contains(&other.member) {
                return Ok(Err(Refusal::AlreadyAMember(other.member)));
            }
        }
        // Another request may have read the same epoch.
        let written = self.database.transaction(statements::add_members(id, epoch, new)).await;
        refuse(written, Refusal::KeyPackageUsed, epoch)
    }

    /// Removes a member.
    pub async fn remove_member(&self, id: &str, member: &str, commit: Option<&[u8]>) -> Answer<i64> {
        let epoch = match self.epoch(id).await? {
            Ok(epoch) => epoch + 1,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let statements = statements::remove_member(id, epoch, member, commit);
        let written = self.database.transaction(statements).await;
        refuse(written, Refusal::NotAMember(member.to_owned()), epoch)
    }

    /// Stores a message, and counts it as unread.
    pub async fn send(&self, id: &str, sender: &str, ciphertext: Bytes) -> Answer<Sent> {
        let rows = self.database.query(statements::HEAD, statements::by_id(id).to_vec()).await?;
        let Some(head) = rows.first() else { return Ok(Err(Refusal::UnknownConversation)) };
        let (epoch, seq) = (statements::int(head, "current_epoch"), statements::int(head, "seq") + 1);
        if let Err(refusal) = self.present(id, sender).await? {
            return Ok(Err(refusal));
        }
        let message = statements::message(id, sender, epoch, seq, ciphertext);
        self.database.transaction(vec![message]).await?;
        // In the background, so that the sender does not wait. A member who has read everything by then gets it back.
        let (naive, id, sender) = (self.clone(), id.to_owned(), sender.to_owned());
        tokio::spawn(async move {
            if let Err(error) = naive.increment_unread(&id, &sender).await {
                tracing::warn!(conversation = %id, %error, "unread messages could not be counted");
            }
        });
        Ok(Ok(Sent { seq, epoch }))
    }

    /// Counts an unread message for all members but one.
    pub async fn increment_unread(&self, id: &str, sender: &str) -> Result<(), DatabaseError> {
        let members = self.members(id).await?;
        let others = members.into_iter().filter(|member| !member.left && member.member != sender);
        // A reset that comes here is overwritten.
        let counts =
            others.map(|other| statements::set_unread(id, &other.member, other.unread + 1)).collect();
        self.database.transaction(counts).await
    }

    /// A member has read everything.
    pub async fn reset_unread(&self, id: &str, member: &str) -> Answer<()> {
        if let Err(refusal) = self.epoch(id).await? {
            return Ok(Err(refusal));
        }
        let reset = statements::set_unread(id, member, 0).expect_rows(1);
        refuse(self.database.transaction(vec![reset]).await, Refusal::NotAMember(member.to_owned()), ())
    }
}

impl std::fmt::Debug for Naive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Naive")
    }
}

/// A wrong number of rows is this refusal.
fn refuse<T>(written: Result<(), DatabaseError>, refusal: Refusal, value: T) -> Answer<T> {
    match written {
        Ok(()) => Ok(Ok(value)),
        Err(DatabaseError::RowCount) => Ok(Err(refusal)),
        Err(error) => Err(error),
    }
}
