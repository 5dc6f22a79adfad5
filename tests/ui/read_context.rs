use std::time::Duration;

use dactor::prelude::*;
use dactor::{ReadContext, ReadHandler};

struct Counter(u64);
impl Actor for Counter {}

#[derive(Message)]
#[message(read, reply = u64)]
struct Value;

impl ReadHandler<Value> for Counter {
    async fn read(&self, value: Value, ctx: &ReadContext<Self>) -> Outcome<u64> {
        ctx.spawn(|| Counter(0)).await?;
        ctx.after(Duration::from_secs(1), Value)?;
        ctx.watch(ctx.actor_ref())?;
        ctx.stash(value)
    }
}

impl ReadHandler<Change> for Counter {
    async fn read(&self, _: Change, _: &ReadContext<Self>) -> Outcome<u64> {
        self.0 += 1;
        Ok(self.0)
    }
}

#[derive(Message)]
#[message(read, reply = u64)]
struct Change;

fn main() {}
