//! Deletes messages that have expired: an ordinary actor, restarted with growing pauses when the database fails.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use dactor::prelude::*;
use dactor::{Backoff, Directive, Supervision};

use crate::database::Database;
use crate::statements;

const PERIOD: Duration = Duration::from_secs(60);

/// Deletes expired messages once a minute.
#[derive(Clone)]
pub struct Sweeper {
    database: Arc<dyn Database>,
}

impl Sweeper {
    /// On this database.
    pub fn new(database: Arc<dyn Database>) -> Self {
        Self { database }
    }
}

impl fmt::Debug for Sweeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sweeper")
    }
}

/// It is time.
#[derive(Debug, Message)]
struct Sweep;

impl Actor for Sweeper {
    async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
        ctx.timer("sweep").every(PERIOD, || Sweep)?;
        Ok(())
    }

    /// The caretaker starts another one, later.
    async fn on_error(&mut self, failure: &Failure, _: &mut Context<Self>) -> Directive {
        tracing::warn!(%failure, "expired messages could not be deleted");
        Directive::Restart
    }
}

impl Handler<Sweep> for Sweeper {
    async fn handle(&mut self, _: Sweep, _: &mut Context<Self>) -> Outcome<()> {
        Ok(self.database.transaction(vec![statements::expire()]).await?)
    }
}

/// Supervises the sweeper.
#[derive(Debug)]
pub struct Caretaker {
    sweeper: Sweeper,
}

impl Caretaker {
    /// Supervises this one.
    pub fn new(sweeper: Sweeper) -> Self {
        Self { sweeper }
    }
}

impl Actor for Caretaker {
    fn supervision() -> Supervision {
        let backoff = Backoff::exponential(Duration::from_millis(100), Duration::from_secs(30));
        Supervision::one_for_one().budget(1000, Duration::from_secs(3600)).backoff(backoff)
    }

    async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
        let sweeper = self.sweeper.clone();
        ctx.spawn(move || sweeper.clone()).name("sweeper").await?;
        Ok(())
    }
}
