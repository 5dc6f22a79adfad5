//! How kinds are classified.

use ErrorKind as K;

use super::*;

/// Every kind, in order: whether a handler may have had the message, whether it is temporary, whether it is about
/// the actor.
const TABLE: [(ErrorKind, bool, bool, bool); 51] = [
    (K::Stopped, false, false, true),
    (K::Interrupted, true, false, true),
    (K::MailboxFull, false, true, true),
    (K::Overloaded, false, true, true),
    (K::InvalidCapacity, false, false, false),
    (K::InvalidPriority, false, false, false),
    (K::AskerGone, true, false, true),
    (K::Failed, true, false, true),
    (K::Panicked, true, false, true),
    (K::ChildFailed, false, false, true),
    (K::InvalidWatch, false, false, false),
    (K::InvalidTimer, false, false, false),
    (K::StashFull, false, true, true),
    (K::Detached, false, false, true),
    (K::ConsumerGone, false, false, false),
    (K::Unfinished, true, false, true),
    (K::Timeout, true, true, true),
    (K::Cancelled, true, false, false),
    (K::NoReply, true, false, true),
    (K::Rejected, false, false, false),
    (K::RetryLater, false, true, false),
    (K::Dropped, false, false, false),
    (K::InterceptorPanicked, true, false, false),
    (K::InvalidHeader, false, false, false),
    (K::AskedItself, false, false, false),
    (K::AskCycle, true, false, false),
    (K::StartFailed, false, false, true),
    (K::NameTaken, false, false, false),
    (K::InvalidName, false, false, false),
    (K::InvalidPath, false, false, false),
    (K::NoSuchActor, false, false, true),
    (K::WrongIncarnation, false, false, true),
    (K::WrongActorType, false, false, true),
    (K::Unresolved, false, false, true),
    (K::Quarantined, false, false, true),
    (K::UidReserved, false, false, true),
    (K::Disconnected, true, true, true),
    (K::SystemShutDown, false, false, true),
    (K::ShutdownIncomplete, false, false, true),
    (K::InvalidPhase, false, false, false),
    (K::NoRuntime, false, false, false),
    (K::NoBackend, false, false, false),
    (K::Backend, false, false, true),
    (K::Unsupported, false, false, false),
    (K::NotRemotable, false, false, false),
    (K::UnknownMessage, false, false, false),
    (K::InvalidWireName, false, false, false),
    (K::EncodeFailed, false, false, false),
    (K::DecodeFailed, false, false, false),
    (K::InvalidFrame, false, false, false),
    (K::Other, true, false, true),
];

#[test]
fn kinds_are_classified() {
    for (index, (kind, handled, temporary, about_actor)) in TABLE.into_iter().enumerate() {
        assert_eq!(kind as usize, index, "{kind:?}: the table has every kind, in order");
        let error = super::super::Error::new(kind);
        assert_eq!(error.may_have_been_handled(), handled, "{kind:?}");
        assert_eq!((error.is_temporary(), error.is_about_actor()), (temporary, about_actor), "{kind:?}");
        assert!(!error.clone().perhaps_handled().unhandled().may_have_been_handled(), "{kind:?}");
        assert!(error.unhandled().perhaps_handled().may_have_been_handled(), "{kind:?}");
    }
    assert_eq!(TABLE.last().map(|(kind, ..)| *kind), Some(K::Other), "the last kind of all");
}
