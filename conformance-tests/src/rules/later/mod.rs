//! Deferred replies, forwarded messages and pipes.

pub(super) mod forward;
pub(super) mod overridden;
pub(super) mod pipe;
pub(super) mod reply;

use dactor_core::{Context, Handler, Message, Outcome};

use crate::fixtures::scripted::{Script, ScriptedActor, script};

/// Sends the first deferred reply.
pub(crate) fn answer_deferred(number: u32) -> Script {
    script(move |scripted, _| Ok(u32::from(scripted.deferred.remove(0).reply(number))))
}

/// A message with another reply type.
pub(crate) struct TextRequest;

impl Message for TextRequest {
    type Reply = String;
    type Access = dactor_core::Exclusive;
}

impl Handler<TextRequest> for ScriptedActor {
    async fn handle(&mut self, TextRequest: TextRequest, _: &mut Context<Self>) -> Outcome<String> {
        Ok("words".into())
    }
}
