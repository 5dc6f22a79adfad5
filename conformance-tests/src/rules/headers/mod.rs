//! Headers of messages and replies.

pub(super) mod messages;
pub(super) mod replies;

use dactor_core::Context;
use dactor_core::testkit::Journal;

use crate::fixtures::header::Tag;
use crate::fixtures::scripted::{Script, script};

fn tag<A: dactor_core::Actor>(ctx: &Context<A>) -> u32 {
    ctx.headers().get::<Tag>().map_or(0, |Tag(number)| *number)
}

/// Notes the tag, which is the reply.
fn note(journal: &Journal) -> Script {
    let journal = journal.clone();
    script(move |_, ctx| {
        journal.note(tag(ctx));
        Ok(tag(ctx))
    })
}
