//! A conversation as a virtual actor.
//!
//! Messages of one conversation are handled one after the other. Each change is committed first, together with the rows of
//! the tables, and changes memory then.

use std::collections::BTreeMap;

use dactor::cluster::engine::{ErrorKind, Statement, StorageError};
use dactor::cluster::{Activation, DeactivationReason, Persistent, SqlReader, VirtualActor};
use dactor::prelude::*;
use dactor::wire::Remote;
use dactor::{ReadContext, ReadHandler};
use serde::{Deserialize, Serialize};

use crate::model::{FLUSH_EVERY, NewMembers, Refusal, Sent};
use crate::statements;

/// The numbers that must neither repeat nor have gaps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The current epoch.
    pub epoch: i64,
    /// The number of the last message.
    pub seq: i64,
}

/// The unread messages of a member.
#[derive(Debug, Clone, Copy, Default)]
struct Unread {
    /// As in the table.
    stored: i64,
    /// Counted since.
    pending: u32,
}

impl Unread {
    fn total(self) -> i64 {
        self.stored + i64::from(self.pending)
    }
}

/// A conversation.
#[derive(Debug)]
pub struct Conversation {
    id: String,
    head: Persistent<Head>,
    /// `false` until the conversation is created.
    exists: bool,
    /// Present members.
    members: BTreeMap<String, Unread>,
}

impl Remote for Conversation {
    const TYPE: &'static str = "Conversation";
}

impl Actor for Conversation {}

impl VirtualActor for Conversation {
    type State = Head;

    /// The tables decide: the conversation may have been on the naive path since.
    async fn activate(activation: Activation<Self>) -> Outcome<Self> {
        let id = activation.key().to_owned();
        let mut head = activation.state();
        let sql = activation.cluster().sql()?;
        let found = sql.query(statements::HEAD, &statements::by_id(&id)).await?;
        let mut members = BTreeMap::new();
        if let Some(row) = found.first() {
            let before = *head.get();
            // Messages expire, and their numbers are not used again.
            let seq = statements::int(row, "seq").max(before.seq);
            let now = Head { epoch: statements::int(row, "current_epoch"), seq };
            if now != before {
                head.persist(now).await?;
            }
            members = present_members(&sql, &id).await?;
        }
        tracing::info!(conversation = %id, epoch = head.get().epoch, members = members.len(), "activated");
        Ok(Self { id, head, exists: !found.is_empty(), members })
    }

    async fn on_deactivate(&mut self, reason: DeactivationReason, _: &mut Context<Self>) -> Outcome<()> {
        tracing::info!(conversation = %self.id, %reason, "deactivated");
        if reason != DeactivationReason::Lost && self.exists {
            self.flush(1).await?;
        }
        Ok(())
    }
}

async fn present_members(sql: &SqlReader, id: &str) -> Result<BTreeMap<String, Unread>, StorageError> {
    let rows = sql.query(statements::MEMBERS, &statements::by_id(id)).await?;
    let views = rows.iter().map(statements::member_view).filter(|member| !member.left);
    Ok(views.map(|member| (member.member, Unread { stored: member.unread, pending: 0 })).collect())
}

/// Creates the conversation, at epoch 0.
#[derive(Debug, Message)]
#[message(reply = Result<(), Refusal>)]
pub struct Create(pub Vec<String>);

/// Adds members, and answers the new epoch.
#[derive(Debug, Message)]
#[message(reply = Result<i64, Refusal>)]
pub struct AddMembers(pub NewMembers);

/// Removes a member, and answers the new epoch.
#[derive(Debug, Message)]
#[message(reply = Result<i64, Refusal>)]
pub struct RemoveMember {
    /// Who leaves.
    pub member: String,
    /// The commit message of the group.
    pub commit: Option<Vec<u8>>,
}

/// Stores a message. The epoch stays.
#[derive(Debug, Message)]
#[message(reply = Result<Sent, Refusal>)]
pub struct SendMessage {
    /// A member.
    pub sender: String,
    /// What only members can read.
    pub ciphertext: bytes::Bytes,
}

/// Counts an unread message for all members but one. Nobody waits for it.
#[derive(Debug, Message)]
pub struct IncrementUnread {
    /// Who has read it, because it is theirs.
    pub sender: String,
}

/// A member has read everything.
#[derive(Debug, Message)]
#[message(reply = Result<(), Refusal>)]
pub struct ResetUnread(pub String);

/// The current epoch, from memory.
#[derive(Debug, Message)]
#[message(read, reply = Result<i64, Refusal>)]
pub struct GetEpoch;

/// The current epoch and the unread counts, from memory.
#[derive(Debug, Message)]
#[message(read, reply = Result<(i64, BTreeMap<String, i64>), Refusal>)]
pub struct Snapshot;

impl Conversation {
    fn known(&self) -> Result<(), Refusal> {
        if self.exists { Ok(()) } else { Err(Refusal::UnknownConversation) }
    }

    fn member(&self, member: &str) -> Result<(), Refusal> {
        self.known()?;
        if self.members.contains_key(member) { Ok(()) } else { Err(Refusal::NotAMember(member.to_owned())) }
    }

    /// Commits the statements with the next epoch.
    async fn enter_epoch(&mut self, epoch: i64, also: Vec<Statement>) -> Result<i64, StorageError> {
        self.head.update_with(|head| head.epoch = epoch, also).await?;
        tracing::debug!(conversation = %self.id, epoch, "entered an epoch");
        Ok(epoch)
    }

    /// The statements for members with at least so many counts that are not in the table.
    fn flushes(&self, least: u32) -> Vec<Statement> {
        let due = self.members.iter().filter(|(_, unread)| unread.pending >= least);
        due.map(|(member, unread)| statements::set_unread(&self.id, member, unread.total())).collect()
    }

    /// The statements of [`flushes`](Self::flushes) were committed.
    fn flushed(&mut self, least: u32) {
        for unread in self.members.values_mut().filter(|unread| unread.pending >= least) {
            *unread = Unread { stored: unread.total(), pending: 0 };
        }
    }

    async fn flush(&mut self, least: u32) -> Result<(), StorageError> {
        let also = self.flushes(least);
        if !also.is_empty() {
            self.head.update_with(|_| (), also).await?;
            self.flushed(least);
        }
        Ok(())
    }

    fn count_unread(&mut self, sender: &str) {
        for (_, unread) in self.members.iter_mut().filter(|(member, _)| **member != sender) {
            unread.pending += 1;
        }
    }
}

impl Handler<Create> for Conversation {
    async fn handle(
        &mut self,
        Create(members): Create,
        _: &mut Context<Self>,
    ) -> Outcome<Result<(), Refusal>> {
        if self.exists {
            return Ok(Err(Refusal::Exists));
        }
        let also = statements::create(&self.id, &members);
        self.head.persist_with(Head::default(), also).await?;
        self.exists = true;
        self.members = members.into_iter().map(|member| (member, Unread::default())).collect();
        Ok(Ok(()))
    }
}

impl Handler<AddMembers> for Conversation {
    async fn handle(
        &mut self,
        AddMembers(new): AddMembers,
        _: &mut Context<Self>,
    ) -> Outcome<Result<i64, Refusal>> {
        if let Err(refusal) = self.known() {
            return Ok(Err(refusal));
        }
        if let Some(member) = new.members.iter().find(|member| self.members.contains_key(*member)) {
            return Ok(Err(Refusal::AlreadyAMember(member.clone())));
        }
        let epoch = self.head.get().epoch + 1;
        let also = statements::add_members(&self.id, epoch, &new);
        match self.enter_epoch(epoch, also).await {
            Ok(epoch) => {
                self.members.extend(new.members.into_iter().map(|member| (member, Unread::default())));
                Ok(Ok(epoch))
            }
            // Of these statements, only the one with the key package can change another number of rows.
            Err(error) if error.kind() == ErrorKind::RowCount => Ok(Err(Refusal::KeyPackageUsed)),
            Err(error) => Err(error.into()),
        }
    }
}

impl Handler<RemoveMember> for Conversation {
    async fn handle(
        &mut self,
        RemoveMember { member, commit }: RemoveMember,
        _: &mut Context<Self>,
    ) -> Outcome<Result<i64, Refusal>> {
        if let Err(refusal) = self.member(&member) {
            return Ok(Err(refusal));
        }
        let epoch = self.head.get().epoch + 1;
        let also = statements::remove_member(&self.id, epoch, &member, commit.as_deref());
        self.enter_epoch(epoch, also).await?;
        self.members.remove(&member);
        Ok(Ok(epoch))
    }
}

impl Handler<SendMessage> for Conversation {
    async fn handle(
        &mut self,
        SendMessage { sender, ciphertext }: SendMessage,
        _: &mut Context<Self>,
    ) -> Outcome<Result<Sent, Refusal>> {
        if let Err(refusal) = self.member(&sender) {
            return Ok(Err(refusal));
        }
        let Head { epoch, seq } = *self.head.get();
        let sent = Sent { seq: seq + 1, epoch };
        let mut also = vec![statements::message(&self.id, &sender, epoch, sent.seq, ciphertext)];
        // Counts that are due go with the message: one transaction for both.
        also.extend(self.flushes(FLUSH_EVERY));
        self.head.update_with(|head| head.seq = sent.seq, also).await?;
        self.flushed(FLUSH_EVERY);
        self.count_unread(&sender);
        Ok(Ok(sent))
    }
}

impl Handler<IncrementUnread> for Conversation {
    async fn handle(&mut self, message: IncrementUnread, _: &mut Context<Self>) -> Outcome<()> {
        self.count_unread(&message.sender);
        // A failure keeps the counts in memory, for the next attempt.
        Ok(self.flush(FLUSH_EVERY).await?)
    }
}

impl Handler<ResetUnread> for Conversation {
    async fn handle(
        &mut self,
        ResetUnread(member): ResetUnread,
        _: &mut Context<Self>,
    ) -> Outcome<Result<(), Refusal>> {
        if let Err(refusal) = self.member(&member) {
            return Ok(Err(refusal));
        }
        let unread = self.members.get(&member).copied().unwrap_or_default();
        if unread.stored != 0 {
            let also = [statements::set_unread(&self.id, &member, 0).expect_rows(1)];
            self.head.update_with(|_| (), also).await?;
        }
        self.members.insert(member, Unread::default());
        Ok(Ok(()))
    }
}

impl ReadHandler<GetEpoch> for Conversation {
    async fn read(&self, _: GetEpoch, _: &ReadContext<Self>) -> Outcome<Result<i64, Refusal>> {
        Ok(self.known().map(|()| self.head.get().epoch))
    }
}

impl ReadHandler<Snapshot> for Conversation {
    async fn read(
        &self,
        _: Snapshot,
        _: &ReadContext<Self>,
    ) -> Outcome<Result<(i64, BTreeMap<String, i64>), Refusal>> {
        let unread =
            || self.members.iter().map(|(member, unread)| (member.clone(), unread.total())).collect();
        Ok(self.known().map(|()| (self.head.get().epoch, unread())))
    }
}
