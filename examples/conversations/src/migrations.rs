//! The tables of the application, created under the fence of a virtual actor: two processes that start at once do it once.

use dactor::cluster::engine::Statement;
use dactor::cluster::{Activation, Persistent, VirtualActor};
use dactor::prelude::*;
use dactor::wire::Remote;

use crate::statements::MIGRATIONS;

/// The schema. Its state is the version of the tables.
#[derive(Debug)]
pub struct Schema {
    version: Persistent<usize>,
}

impl Actor for Schema {}

impl Remote for Schema {
    const TYPE: &'static str = "Schema";
}

impl VirtualActor for Schema {
    type State = usize;

    async fn activate(activation: Activation<Self>) -> Outcome<Self> {
        Ok(Self { version: activation.state() })
    }
}

/// Brings the tables up to date, and answers their version.
#[derive(Debug, Message)]
#[message(reply = usize)]
pub struct Migrate;

impl Handler<Migrate> for Schema {
    async fn handle(&mut self, _: Migrate, _: &mut Context<Self>) -> Outcome<usize> {
        let known = MIGRATIONS.len();
        let mut version = *self.version.get();
        if version > known {
            return Err(Failure::new(format!(
                "the tables have version {version}; this program knows {known}"
            )));
        }
        while let Some(step) = MIGRATIONS.get(version) {
            version += 1;
            self.version.persist_with(version, step.iter().map(|sql| Statement::new(*sql))).await?;
        }
        Ok(version)
    }
}
