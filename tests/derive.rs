//! What `#[derive(Message)]` implements.

use std::any::TypeId;

use dactor::{Access, Message, Priority};

fn reply<M: Message>() -> TypeId {
    TypeId::of::<M::Reply>()
}

#[derive(Message)]
struct Told;

#[derive(Message)]
#[message(reply = Result<u64, String>)]
struct Asked {
    _cents: u64,
}

#[derive(Message)]
#[message(reply = ())]
enum Either {
    _This(u64),
    _That,
}

#[derive(Message)]
#[message(reply = Option<T>)]
struct Generic<T>(T);

#[derive(Message)]
#[message(reply = [T; N])]
struct Bounded<T: Clone, const N: usize = 2>
where
    T: PartialEq,
{
    _items: [T; N],
}

mod elsewhere {
    pub(crate) use dactor as renamed;
}

#[derive(Message)]
#[message(crate = crate::elsewhere::renamed, reply = u8)]
struct Far;

#[derive(Message)]
#[message(crate = dactor_core)]
#[message(reply = u16)]
struct FromTheCore;

extern crate dactor as dactor_core;

#[derive(Message)]
#[message(priority = High)]
struct Urgent;

#[derive(Message)]
#[message(read, reply = u64)]
struct Look;

#[derive(Message)]
#[message(interleave)]
struct Peek;

#[test]
fn a_message_is_exclusive_unless_it_only_reads() {
    fn sharing<M: Message>() -> (bool, bool) {
        (<M::Access as Access>::READS, <M::Access as Access>::INTERLEAVES)
    }
    assert_eq!(sharing::<Told>(), (false, false));
    assert_eq!(sharing::<Look>(), (true, false));
    assert_eq!(sharing::<Peek>(), (true, true));
}

#[test]
fn the_priority_defaults_to_normal() {
    assert_eq!(Told::PRIORITY, Priority::Normal);
    assert_eq!(Urgent::PRIORITY, Priority::High);
}

#[test]
fn the_reply_defaults_to_nothing() {
    assert_eq!(reply::<Told>(), TypeId::of::<()>());
    assert_eq!(reply::<Either>(), TypeId::of::<()>());
}

#[test]
fn the_reply_is_what_the_attribute_says() {
    assert_eq!(reply::<Asked>(), TypeId::of::<Result<u64, String>>());
}

#[test]
fn generics_keep_their_bounds_and_get_those_of_a_message() {
    assert_eq!(reply::<Generic<String>>(), TypeId::of::<Option<String>>());
    assert_eq!(reply::<Bounded<char>>(), TypeId::of::<[char; 2]>());
    assert_eq!(reply::<Bounded<char, 7>>(), TypeId::of::<[char; 7]>());
}

#[test]
fn the_crate_may_have_another_path() {
    assert_eq!(reply::<Far>(), TypeId::of::<u8>());
    assert_eq!(reply::<FromTheCore>(), TypeId::of::<u16>());
}

#[derive(Debug, Message)]
#[message(debug, reply = u8)]
struct Shown {
    _cents: u8,
}

#[test]
fn a_message_is_shown_in_dead_letters_only_if_it_says_so() {
    assert_eq!(Message::describe(&Shown { _cents: 7 }).as_deref(), Some("Shown { _cents: 7 }"));
    assert_eq!(Message::describe(&Told), None);
}

#[derive(Message)]
#[message(local, no_keep_alive)]
struct Probe;

#[derive(dactor::Expand)]
#[message(item = u8, local, no_keep_alive)]
struct List;

#[test]
fn flags_are_set_by_attributes() {
    const {
        assert!(Probe::LOCAL_ONLY && !Probe::KEEP_ALIVE);
        assert!(!Told::LOCAL_ONLY && Told::KEEP_ALIVE);
        assert!(<List as dactor::Expand>::LOCAL_ONLY && !<List as dactor::Expand>::KEEP_ALIVE);
        assert!(<dactor::ExpandRequest<List> as Message>::LOCAL_ONLY);
        assert!(!<dactor::ExpandRequest<List> as Message>::KEEP_ALIVE);
    }
}
