//! An account that is restarted after a panic. The output is the same on every backend.

use dactor::prelude::*;

#[derive(Default)]
struct Account(u64);
impl Actor for Account {}

#[derive(Message)]
#[message(reply = u64)]
struct Deposit(u64);

impl Handler<Deposit> for Account {
    async fn handle(&mut self, Deposit(cents): Deposit, _ctx: &mut Context<Self>) -> Outcome<u64> {
        assert!(cents > 0, "nothing to deposit");
        self.0 += cents;
        Ok(self.0)
    }
}

#[tokio::main]
async fn main() -> dactor::Result<()> {
    let system = System::new("bank");
    let account = system.spawn(Account::default).await?; // from a factory, so that it can be restarted
    account.tell(Deposit(100))?;
    println!("balance: {}", account.ask(Deposit(20)).await?);
    let error = account.ask(Deposit(0)).await.unwrap_err(); // the handler panics
    println!("{error:#}");
    println!("balance: {}", account.ask(Deposit(5)).await?); // the same ref reaches the restarted actor
    system.shutdown().await
}
