//! What requests may contain.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;

use super::Problem;
use crate::model::{KeyPackage, NewMembers};

/// The longest id of a conversation or a member.
pub const LONGEST_ID: usize = 64;
/// The most members that one request can add.
pub const MOST_MEMBERS: usize = 100;
/// The largest ciphertext, commit or welcome message, in bytes.
pub const LONGEST_PAYLOAD: usize = 256 << 10;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateInput {
    pub(super) id: Option<String>,
    pub(super) members: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AddInput {
    members: Vec<String>,
    commit: Option<String>,
    welcome: Option<String>,
    #[serde(default)]
    key_packages: Vec<PackageInput>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PackageInput {
    member: String,
    hash: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RemoveInput {
    pub(super) commit: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SendInput {
    pub(super) sender: String,
    pub(super) ciphertext: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SenderInput {
    pub(super) sender: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MemberInput {
    pub(super) member: String,
}

/// The id of a conversation: letters, digits, `-` and `_`.
pub(super) fn conversation_id(id: &str) -> Result<(), Problem> {
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if id.is_empty() || id.len() > LONGEST_ID || !id.bytes().all(valid) {
        let text = "an id of a conversation has 1 to 64 letters, digits, hyphens and underscores";
        return Err(Problem::invalid(text));
    }
    Ok(())
}

/// The name of a member: anything that can be printed, such as `did:plc:ada`.
pub(super) fn member(name: &str) -> Result<(), Problem> {
    if name.is_empty() || name.len() > LONGEST_ID || name.chars().any(char::is_control) {
        let text = "the name of a member has 1 to 64 bytes and no control characters";
        return Err(Problem::invalid(text));
    }
    Ok(())
}

pub(super) fn members(names: &[String], may_be_empty: bool) -> Result<(), Problem> {
    if names.is_empty() && !may_be_empty {
        return Err(Problem::invalid("there are no members"));
    }
    if names.len() > MOST_MEMBERS {
        return Err(Problem::too_large(format!("more than {MOST_MEMBERS} members")));
    }
    for (at, name) in names.iter().enumerate() {
        member(name)?;
        if names[..at].contains(name) {
            return Err(Problem::invalid(format!("{name} is named twice")));
        }
    }
    Ok(())
}

pub(super) fn payload(what: &str, text: &str) -> Result<Vec<u8>, Problem> {
    // Four characters for three bytes.
    if text.len() / 4 * 3 > LONGEST_PAYLOAD {
        return Err(Problem::too_large(format!("{what} is larger than {LONGEST_PAYLOAD} bytes")));
    }
    let decoded = BASE64_STANDARD.decode(text);
    decoded.map_err(|error| Problem::invalid(format!("{what} is not valid base64: {error}")))
}

impl AddInput {
    pub(super) fn check(self) -> Result<NewMembers, Problem> {
        members(&self.members, false)?;
        let commit = self.commit.map(|text| payload("commit", &text)).transpose()?;
        let welcome = self.welcome.map(|text| payload("welcome", &text)).transpose()?;
        let mut key_packages = Vec::with_capacity(self.key_packages.len());
        for PackageInput { member, hash } in self.key_packages {
            if !self.members.contains(&member) {
                return Err(Problem::invalid(format!("{member} has a key package and is not added")));
            }
            if hash.is_empty() || hash.len() > 128 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                let text = "the hash of a key package has 1 to 128 hexadecimal digits";
                return Err(Problem::invalid(text));
            }
            key_packages.push(KeyPackage { member, hash });
        }
        Ok(NewMembers { members: self.members, commit, welcome, key_packages })
    }
}
