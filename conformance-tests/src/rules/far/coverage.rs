//! Which local rules hold through a link, and why the others do not apply.

/// What becomes of a family of local rules when the actor lives in another system.
#[derive(Debug, Clone, Copy)]
pub enum FromAfar {
    /// These rules show it through a link.
    Rules(&'static [&'static str]),
    /// The rules are about what happens inside of the actor's own system, which a link does not change.
    Inside(&'static str),
}

use FromAfar::{Inside, Rules};

/// By the prefix of the ids of the local rules.
pub static FAMILIES: &[(&str, FromAfar)] = &[
    ("MSG", Rules(&["FAR-01", "FAR-03", "FAR-15"])),
    ("ASK", Rules(&["FAR-01", "FAR-02", "FAR-04"])),
    ("TIME", Rules(&["FAR-04", "FAR-14"])),
    ("CANCEL", Rules(&["FAR-04", "FAR-06"])),
    ("EDGE", Rules(&["FAR-02", "FAR-04", "FAR-14"])),
    ("LATER", Rules(&["FAR-05"])),
    ("HEAD", Rules(&["FAR-06"])),
    ("PRIO", Rules(&["FAR-01"])),
    ("FAIL", Rules(&["FAR-02"])),
    ("PANIC", Rules(&["FAR-02"])),
    ("RESTART", Rules(&["FAR-02"])),
    ("DEAD", Rules(&["FAR-03", "FAR-07"])),
    ("STOP", Rules(&["FAR-07"])),
    ("DRAIN", Rules(&["FAR-07"])),
    ("KILL", Rules(&["FAR-07"])),
    ("END", Rules(&["FAR-07", "FAR-08"])),
    ("WAIT", Rules(&["FAR-07", "FAR-08"])),
    ("WATCH", Rules(&["FAR-08", "FAR-09", "FAR-10"])),
    ("PATH", Rules(&["FAR-11", "FAR-12", "FAR-18"])),
    ("NAME", Rules(&["FAR-11", "FAR-12"])),
    ("REF", Rules(&["FAR-01", "FAR-11", "FAR-13"])),
    ("OUT", Inside("outbound interceptors run in the sender's system, before a message takes its route")),
    ("EXPAND", Rules(&["FAR-16", "FAR-17"])),
    ("REDUCE", Rules(&["FAR-16"])),
    ("TRANSFORM", Rules(&["FAR-16"])),
    ("IN", Inside("inbound interceptors run in the actor's system, for messages of any origin")),
    (
        "BOUND",
        Inside("a mailbox treats messages from a link like those of local senders; `send` waits on the way"),
    ),
    ("LINE", Inside("a sender waits in line in its own system; asks from a link wait like local asks")),
    ("SHED", Inside("a mailbox sheds messages from a link like those of local senders")),
    ("READ", Inside("reads run beside each other in the actor's system, for messages of any origin")),
    ("ITEM", Inside("item hooks run in the system of their interceptor, at each end of a link")),
    ("STASH", Inside("a stashed message is in the actor's system, wherever it came from")),
    ("STREAM", Inside("attached streams and pipes have no ref to another system")),
    ("TIMER", Inside("timers are the actor's own")),
    ("START", Inside("an actor of another system is not spawned by a ref")),
    ("GET", Inside("`get_or_spawn` looks in one system")),
    ("TREE", Inside("parents and children live in one system")),
    ("SUPER", Inside("supervision is decided in the actor's system")),
    ("SHUT", Inside("a shutdown ends the actors of one system")),
    ("PHASE", Inside("the phases of a shutdown are of one system")),
    (
        "CYCLE",
        Inside(
            "a cycle of asks is found among the actors of one process; over a link the time limit ends it",
        ),
    ),
    ("REPEAT", Inside("a seed repeats the runs of one process")),
    ("RACE", Inside("races of senders with an end are decided by the mailbox, for messages of any origin")),
    ("RANDOM", Inside("random programs run in one process")),
    ("WAKE", Inside("how an actor is woken does not depend on the sender")),
    ("FAIR", Inside("turns are given by the actor's backend")),
    ("NAT", Inside("a native actor is reached in its own process")),
    ("TEXT", Inside("texts of errors are made where the error is")),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::rules;

    #[test]
    fn every_family_of_rules_is_listed() {
        let prefix = |id: &'static str| id.split_once('-').expect("a prefix and a number").0;
        let families: BTreeSet<_> = rules().map(|rule| prefix(rule.id)).filter(|it| *it != "FAR").collect();
        let listed: BTreeSet<_> = FAMILIES.iter().map(|(family, _)| *family).collect();
        let missing: Vec<_> = families.difference(&listed).collect();
        let unknown: Vec<_> = listed.difference(&families).collect();
        assert!(missing.is_empty() && unknown.is_empty(), "missing {missing:?}, unknown {unknown:?}");
        assert_eq!(listed.len(), FAMILIES.len(), "one is listed twice");
        let ids: BTreeSet<_> = rules().map(|rule| rule.id).collect();
        let mut used = BTreeSet::new();
        for (family, from_afar) in FAMILIES {
            match from_afar {
                Rules(far) => far.iter().for_each(|id| {
                    assert!(ids.contains(id), "{family}: {id}");
                    used.insert(*id);
                }),
                Inside(why) => assert!(!why.is_empty(), "{family}"),
            }
        }
        let far = ids.iter().filter(|id| id.starts_with("FAR-")).count();
        assert_eq!(used.len(), far, "every far rule shows what becomes of a local one");
    }
}
