//! The SQL of both paths. It is the same on SQLite and on PostgreSQL.

use bytes::Bytes;
use dactor::cluster::engine::{Row, Statement, Value};

use crate::model::{KEPT, MemberView, MessageView, NewMembers, now, random_id};

/// The versions of the schema. The statements at index `n` lead from version `n` to the next.
pub const MIGRATIONS: &[&[&str]] = &[&[
    "CREATE TABLE conversations (id TEXT PRIMARY KEY, current_epoch BIGINT NOT NULL, created_at BIGINT NOT NULL)",
    "CREATE TABLE members (conversation_id TEXT NOT NULL, member TEXT NOT NULL, joined_at BIGINT NOT NULL,
        left_at BIGINT, unread_count BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (conversation_id, member))",
    "CREATE TABLE messages (id TEXT PRIMARY KEY, conversation_id TEXT NOT NULL, sender TEXT NOT NULL,
        kind TEXT NOT NULL, epoch BIGINT NOT NULL, seq BIGINT, ciphertext BYTEA NOT NULL,
        created_at BIGINT NOT NULL, expires_at BIGINT)",
    "CREATE INDEX messages_by_seq ON messages (conversation_id, seq)",
    "CREATE INDEX messages_by_expiry ON messages (expires_at) WHERE expires_at IS NOT NULL",
    "CREATE TABLE welcome_messages (id TEXT PRIMARY KEY, conversation_id TEXT NOT NULL, member TEXT NOT NULL,
        epoch BIGINT NOT NULL, welcome BYTEA, key_package_hash TEXT, created_at BIGINT NOT NULL)",
    "CREATE UNIQUE INDEX welcome_key_packages ON welcome_messages (key_package_hash)
        WHERE key_package_hash IS NOT NULL",
]];

/// The epoch of a conversation, and the highest number of a message.
pub const HEAD: &str = "SELECT current_epoch,
    (SELECT coalesce(max(seq), 0) FROM messages WHERE conversation_id = $1) AS seq
    FROM conversations WHERE id = $1";
/// The epoch of a conversation.
pub const EPOCH: &str = "SELECT current_epoch FROM conversations WHERE id = $1";
/// All members, with their unread counts.
pub const MEMBERS: &str =
    "SELECT member, unread_count, left_at FROM members WHERE conversation_id = $1 ORDER BY joined_at, member";
/// The newest messages.
pub const MESSAGES: &str = "SELECT seq, epoch, kind, sender, length(ciphertext) AS bytes FROM messages
    WHERE conversation_id = $1 ORDER BY created_at DESC, epoch DESC, seq DESC LIMIT 50";

/// A new conversation with its first members.
pub fn create(id: &str, members: &[String]) -> Vec<Statement> {
    let row = "INSERT INTO conversations (id, current_epoch, created_at) VALUES ($1, 0, $2)
        ON CONFLICT (id) DO NOTHING";
    let mut all = vec![Statement::new(row).bind(id).bind(now()).expect_rows(1)];
    all.extend(members.iter().map(|member| join(id, member)));
    all
}

/// A member joins, perhaps again.
fn join(id: &str, member: &str) -> Statement {
    Statement::new(
        "INSERT INTO members (conversation_id, member, joined_at) VALUES ($1, $2, $3)
            ON CONFLICT (conversation_id, member) DO UPDATE SET left_at = NULL, unread_count = 0, joined_at = $3",
    )
    .bind(id)
    .bind(member)
    .bind(now())
}

/// The conversation enters an epoch, with the commit that led there.
pub fn enter_epoch(id: &str, epoch: i64, commit: Option<&[u8]>) -> Vec<Statement> {
    let update = Statement::new("UPDATE conversations SET current_epoch = $1 WHERE id = $2");
    let mut all = vec![update.bind(epoch).bind(id).expect_rows(1)];
    if let Some(commit) = commit {
        let insert = "INSERT INTO messages (id, conversation_id, sender, kind, epoch, ciphertext, created_at)
            VALUES ($1, $2, 'system', 'commit', $3, $4, $5)";
        let insert = Statement::new(insert).bind(random_id()).bind(id).bind(epoch);
        all.push(insert.bind(Bytes::copy_from_slice(commit)).bind(now()));
    }
    all
}

/// Members join in a new epoch.
pub fn add_members(id: &str, epoch: i64, new: &NewMembers) -> Vec<Statement> {
    let mut all = enter_epoch(id, epoch, new.commit.as_deref());
    for member in &new.members {
        all.push(join(id, member));
        let hash = new.key_packages.iter().find(|package| package.member == *member);
        if new.welcome.is_none() && hash.is_none() {
            continue;
        }
        // A key package that was used before inserts no row, and that fails the transaction.
        let insert = "INSERT INTO welcome_messages
            (id, conversation_id, member, epoch, welcome, key_package_hash, created_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING";
        let insert = Statement::new(insert).bind(random_id()).bind(id).bind(&**member).bind(epoch);
        let insert = insert.bind(new.welcome.clone()).bind(hash.map(|package| package.hash.clone()));
        all.push(insert.bind(now()).expect_rows(1));
    }
    all
}

/// A member leaves in a new epoch. Its row stays.
pub fn remove_member(id: &str, epoch: i64, member: &str, commit: Option<&[u8]>) -> Vec<Statement> {
    let mut all = enter_epoch(id, epoch, commit);
    let leave =
        "UPDATE members SET left_at = $1 WHERE conversation_id = $2 AND member = $3 AND left_at IS NULL";
    all.push(Statement::new(leave).bind(now()).bind(id).bind(member).expect_rows(1));
    all
}

/// A message.
pub fn message(id: &str, sender: &str, epoch: i64, seq: i64, ciphertext: Bytes) -> Statement {
    let expires = now() + i64::try_from(KEPT.as_millis()).unwrap_or(i64::MAX);
    Statement::new(
        "INSERT INTO messages (id, conversation_id, sender, kind, epoch, seq, ciphertext, created_at, expires_at)
            VALUES ($1, $2, $3, 'app', $4, $5, $6, $7, $8)",
    )
    .bind(random_id())
    .bind(id)
    .bind(sender)
    .bind(epoch)
    .bind(seq)
    .bind(ciphertext)
    .bind(now())
    .bind(expires)
}

/// A member has this many unread messages.
pub fn set_unread(id: &str, member: &str, unread: i64) -> Statement {
    let update = "UPDATE members SET unread_count = $1 WHERE conversation_id = $2 AND member = $3";
    Statement::new(update).bind(unread).bind(id).bind(member)
}

/// Deletes messages that have expired.
pub fn expire() -> Statement {
    Statement::new("DELETE FROM messages WHERE expires_at IS NOT NULL AND expires_at < $1").bind(now())
}

/// An integer in a row; 0 for `NULL`.
pub fn int(row: &Row, column: &str) -> i64 {
    row.get(column).as_int().unwrap_or(0)
}

/// A text in a row.
pub fn text(row: &Row, column: &str) -> String {
    row.get(column).as_text().unwrap_or_default().to_owned()
}

/// A row of [`MEMBERS`].
pub fn member_view(row: &Row) -> MemberView {
    MemberView {
        member: text(row, "member"),
        unread: int(row, "unread_count"),
        left: !row.get("left_at").is_null(),
    }
}

/// A row of [`MESSAGES`].
pub fn message_view(row: &Row) -> MessageView {
    MessageView {
        seq: row.get("seq").as_int(),
        epoch: int(row, "epoch"),
        kind: text(row, "kind"),
        sender: text(row, "sender"),
        bytes: int(row, "bytes"),
    }
}

/// The only argument of many queries.
pub fn by_id(id: &str) -> [Value; 1] {
    [id.into()]
}
