use dactor::prelude::*;

struct Account;
impl Actor for Account {}

#[derive(Message)]
struct Deposit;

impl Handler<Deposit> for Account {
    async fn handle(&mut self, _: Deposit, _: &mut Context<Self>) -> Outcome<()> {
        Ok(())
    }
}

#[derive(Message)]
struct Withdraw;

async fn run(account: ActorRef<Account>) {
    let _ = account.tell(Withdraw);
    let _ = account.ask(Withdraw).await;
}

fn main() {}
