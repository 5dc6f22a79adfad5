use dactor::prelude::*;

struct Counter(u64);
impl Actor for Counter {}

#[derive(Message)]
#[message(read, reply = u64)]
struct Value;

impl Handler<Value> for Counter {
    async fn handle(&mut self, _: Value, _: &mut Context<Self>) -> Outcome<u64> {
        Ok(self.0)
    }
}

async fn ask(counter: ActorRef<Counter>) {
    let _ = counter.ask(Value).await;
}

fn main() {}
