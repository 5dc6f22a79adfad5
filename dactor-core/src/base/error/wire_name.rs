//! What error kinds are called in other processes.

use super::ErrorKind;

macro_rules! wire_names {
    ($($kind:ident => $name:literal,)*) => {
        impl ErrorKind {
            /// Its name in other processes: it stays the same in all versions.
            pub fn wire_name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            /// The kind with this [name](Self::wire_name), if this version knows it.
            pub fn from_wire_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$kind),)*
                    _ => None,
                }
            }

            /// All kinds.
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$kind,)*];
        }
    };
}

wire_names! {
    Stopped => "stopped",
    Interrupted => "interrupted",
    MailboxFull => "mailbox-full",
    Overloaded => "overloaded",
    InvalidCapacity => "invalid-capacity",
    InvalidPriority => "invalid-priority",
    AskerGone => "asker-gone",
    Failed => "failed",
    Panicked => "panicked",
    ChildFailed => "child-failed",
    InvalidWatch => "invalid-watch",
    InvalidTimer => "invalid-timer",
    StashFull => "stash-full",
    Detached => "detached",
    ConsumerGone => "consumer-gone",
    Unfinished => "unfinished",
    Timeout => "timeout",
    Cancelled => "cancelled",
    NoReply => "no-reply",
    Rejected => "rejected",
    RetryLater => "retry-later",
    Dropped => "dropped",
    InterceptorPanicked => "interceptor-panicked",
    InvalidHeader => "invalid-header",
    AskedItself => "asked-itself",
    AskCycle => "ask-cycle",
    StartFailed => "start-failed",
    NameTaken => "name-taken",
    InvalidName => "invalid-name",
    InvalidPath => "invalid-path",
    NoSuchActor => "no-such-actor",
    WrongIncarnation => "wrong-incarnation",
    WrongActorType => "wrong-actor-type",
    Unresolved => "unresolved",
    Quarantined => "quarantined",
    UidReserved => "uid-reserved",
    Disconnected => "disconnected",
    SystemShutDown => "system-shut-down",
    ShutdownIncomplete => "shutdown-incomplete",
    InvalidPhase => "invalid-phase",
    NoRuntime => "no-runtime",
    NoBackend => "no-backend",
    Backend => "backend",
    Unsupported => "unsupported",
    NotRemotable => "not-remotable",
    UnknownMessage => "unknown-message",
    InvalidWireName => "invalid-wire-name",
    EncodeFailed => "encode-failed",
    DecodeFailed => "decode-failed",
    InvalidFrame => "invalid-frame",
    Other => "other",
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_kind_has_a_name_of_its_own() {
        let names: HashSet<_> = ErrorKind::ALL.iter().map(|kind| kind.wire_name()).collect();
        assert_eq!(names.len(), ErrorKind::ALL.len());
        for (index, kind) in ErrorKind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, index, "{kind:?}: all kinds, in order");
            let name = kind.wire_name();
            assert_eq!(ErrorKind::from_wire_name(name), Some(*kind));
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{name}");
        }
        assert_eq!(ErrorKind::ALL.last(), Some(&ErrorKind::Other), "the last kind of all");
        assert_eq!(ErrorKind::from_wire_name("from-the-future"), None);
    }
}
