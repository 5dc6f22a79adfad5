//! A virtual actor, and a plain one that does the same.

use dactor::cluster::{Activation, Persistent, VirtualActor};
use dactor::prelude::*;
use dactor::wire::Remote;
use serde::{Deserialize, Serialize};

pub(crate) struct Counter {
    state: Persistent<u64>,
}

impl Actor for Counter {}
impl Remote for Counter {
    const TYPE: &'static str = "Counter";
}
impl VirtualActor for Counter {
    type State = u64;
    async fn activate(activation: Activation<Self>) -> Outcome<Self> {
        Ok(Self { state: activation.state() })
    }
}

pub(crate) struct Plain(pub(crate) u64);
impl Actor for Plain {}

#[derive(Message)]
#[message(reply = u64)]
pub(crate) struct Get;

impl Handler<Get> for Counter {
    async fn handle(&mut self, _: Get, _: &mut Context<Self>) -> Outcome<u64> {
        Ok(*self.state.get())
    }
}

impl Handler<Get> for Plain {
    async fn handle(&mut self, _: Get, _: &mut Context<Self>) -> Outcome<u64> {
        Ok(self.0)
    }
}

/// A state of about 512 bytes.
#[derive(Serialize, Deserialize, Clone, Default)]
pub(crate) struct Document {
    saves: u64,
    text: String,
}

pub(crate) struct Saver {
    document: Persistent<Document>,
}

impl Actor for Saver {}
impl Remote for Saver {
    const TYPE: &'static str = "Saver";
}
impl VirtualActor for Saver {
    type State = Document;
    async fn activate(activation: Activation<Self>) -> Outcome<Self> {
        Ok(Self { document: activation.state() })
    }
}

#[derive(Message)]
#[message(reply = u64)]
pub(crate) struct Save;

impl Handler<Save> for Saver {
    async fn handle(&mut self, _: Save, _: &mut Context<Self>) -> Outcome<u64> {
        let change = |document: &mut Document| {
            document.saves += 1;
            if document.text.is_empty() {
                document.text = "x".repeat(480);
            }
            document.saves
        };
        Ok(self.document.update(change).await?)
    }
}
