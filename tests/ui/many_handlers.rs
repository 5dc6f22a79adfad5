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

#[derive(Message)]
struct Deposit;

impl Handler<Deposit> for Account {
    async fn handle(&mut self, _: Deposit, _: &mut Context<Self>) -> Outcome<()> {
        Ok(())
    }
}

#[derive(Message)]
struct Transfer;

impl Handler<Transfer> for Account {
    async fn handle(&mut self, _: Transfer, _: &mut Context<Self>) -> Outcome<()> {
        Ok(())
    }
}

#[derive(Message)]
struct Close;

impl Handler<Close> for Account {
    async fn handle(&mut self, _: Close, _: &mut Context<Self>) -> Outcome<()> {
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
