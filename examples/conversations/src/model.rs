//! What both paths are asked for and answer.

use std::error::Error;
use std::fmt;
use std::time::{Duration, SystemTime};

use dactor::cluster::engine::Etag;
use serde::Serialize;

/// How long a message is kept.
pub const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Unread counts reach the table every so many messages.
pub const FLUSH_EVERY: u32 = 10;

/// New members of a conversation.
#[derive(Debug, Clone, Default)]
pub struct NewMembers {
    /// Who joins.
    pub members: Vec<String>,
    /// The commit message of the group, which is stored as a message.
    pub commit: Option<Vec<u8>>,
    /// The welcome message, which each new member gets.
    pub welcome: Option<Vec<u8>>,
    /// The key package that was used for a member. A key package is used once.
    pub key_packages: Vec<KeyPackage>,
}

/// The hash of a key package, and whose it is.
#[derive(Debug, Clone)]
pub struct KeyPackage {
    /// The member.
    pub member: String,
    /// The hash, in hexadecimal digits.
    pub hash: String,
}

/// A message that was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Sent {
    /// Its number in the conversation.
    pub seq: i64,
    /// The epoch in which it was sent.
    pub epoch: i64,
}

/// A member as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemberView {
    /// The name.
    pub member: String,
    /// How many messages it has not read.
    pub unread: i64,
    /// Whether it has left.
    pub left: bool,
}

/// A conversation as it is shown.
#[derive(Debug, Clone, Serialize)]
pub struct View {
    /// The id.
    pub id: String,
    /// `actors` or `naive`.
    pub path: &'static str,
    /// The current epoch.
    pub epoch: i64,
    /// All members, also those who left.
    pub members: Vec<MemberView>,
    /// The newest messages, the newest first.
    pub messages: Vec<MessageView>,
}

/// A message as it is shown.
#[derive(Debug, Clone, Serialize)]
pub struct MessageView {
    /// Its number; `None` for a commit.
    pub seq: Option<i64>,
    /// Its epoch.
    pub epoch: i64,
    /// `app` or `commit`.
    pub kind: String,
    /// Who sent it.
    pub sender: String,
    /// The length of the ciphertext.
    pub bytes: i64,
}

/// Why a request was refused, although everything works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such conversation.
    UnknownConversation,
    /// There is a conversation with this id.
    Exists,
    /// This is not a member, or was removed.
    NotAMember(String),
    /// This is a member already.
    AlreadyAMember(String),
    /// A key package was used before.
    KeyPackageUsed,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownConversation => f.write_str("there is no such conversation"),
            Self::Exists => f.write_str("there is a conversation with this id"),
            Self::NotAMember(member) => write!(f, "{member} is not a member"),
            Self::AlreadyAMember(member) => write!(f, "{member} is a member already"),
            Self::KeyPackageUsed => f.write_str("a key package was used before"),
        }
    }
}

impl Error for Refusal {}

/// Milliseconds since 1970.
pub fn now() -> i64 {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A random id of 32 hexadecimal digits.
pub fn random_id() -> String {
    Etag::random().to_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}
