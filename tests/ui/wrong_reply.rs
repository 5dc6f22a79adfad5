use dactor::prelude::*;

struct Account;
impl Actor for Account {}

#[derive(Message)]
#[message(reply = u64)]
struct Balance;

impl Handler<Balance> for Account {
    async fn handle(&mut self, _: Balance, _: &mut Context<Self>) -> Outcome<String> {
        Ok("a lot".into())
    }
}

fn main() {}
