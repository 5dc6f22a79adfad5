use std::cell::Cell;

use dactor::prelude::*;
use dactor::{ReadContext, ReadHandler};

struct Counter(Cell<u64>);
impl Actor for Counter {}

#[derive(Message)]
#[message(read, reply = u64)]
struct Value;

impl ReadHandler<Value> for Counter {
    async fn read(&self, _: Value, _: &ReadContext<Self>) -> Outcome<u64> {
        Ok(self.0.get())
    }
}

fn main() {}
