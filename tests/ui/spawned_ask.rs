use dactor::prelude::*;

struct Account;
impl Actor for Account {}

#[derive(Message)]
struct Open;

impl Handler<Open> for Account {
    async fn handle(&mut self, _: Open, _: &mut Context<Self>) -> Outcome<()> {
        Ok(())
    }
}

async fn borrows(account: ActorRef<Account>) {
    tokio::spawn(account.ask(Open));
}

fn main() {}
