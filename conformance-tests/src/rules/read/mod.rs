//! Messages that only read, and run beside each other.

pub(super) mod asks;
pub(super) mod ends;
pub(super) mod failure;
pub(super) mod interleave;
pub(super) mod mailbox;
pub(super) mod order;

use dactor_core::{ActorRef, PendingReply};

use crate::RuleContext;
use crate::fixtures::reading::{Read, ReadScript, Reading, Write, WriteScript};

async fn spawn(rule: &RuleContext) -> (ActorRef<Reading>, Reading) {
    let reading = Reading::default();
    let twin = reading.clone();
    let actor = rule.system().spawn(move || twin.clone()).await.unwrap();
    (actor, reading)
}

fn read(actor: &ActorRef<Reading>, script: ReadScript) -> PendingReply<Read> {
    actor.ask(Read(script)).enqueue().unwrap()
}

fn write(actor: &ActorRef<Reading>, script: WriteScript) -> PendingReply<Write> {
    actor.ask(Write(script)).enqueue().unwrap()
}
