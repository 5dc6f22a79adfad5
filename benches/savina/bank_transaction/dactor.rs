use dactor::prelude::*;

use super::{Answer, Config, Ledger, Runs, Transfer};

struct Account(Ledger);
impl Actor for Account {}

#[derive(Message)]
struct Pay {
    amount: i64,
    to: ActorRef<Account>,
    teller: ActorRef<Teller>,
}

impl Handler<Pay> for Account {
    async fn handle(&mut self, Pay { amount, to, teller }: Pay, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.0.withdraw(amount);
        to.ask(Deposit(amount)).await?;
        teller.tell(Paid)?;
        Ok(())
    }
}

#[derive(Message)]
struct Deposit(i64);

impl Handler<Deposit> for Account {
    async fn handle(&mut self, Deposit(amount): Deposit, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.0.deposit(amount);
        Ok(())
    }
}

#[derive(Message)]
#[message(reply = Ledger)]
struct Close;

impl Handler<Close> for Account {
    async fn handle(&mut self, Close: Close, ctx: &mut Context<Self>) -> Outcome<Ledger> {
        ctx.stop();
        Ok(self.0)
    }
}

struct Teller {
    config: Config,
    accounts: Vec<ActorRef<Account>>,
    paid: usize,
}
impl Actor for Teller {}

#[derive(Message)]
struct Start;

impl Handler<Start> for Teller {
    async fn handle(&mut self, Start: Start, ctx: &mut Context<Self>) -> Outcome<()> {
        for Transfer { from, to, amount } in self.config.transfers() {
            let (to, teller) = (self.accounts[to].clone(), ctx.actor_ref().clone());
            self.accounts[from].tell(Pay { amount, to, teller })?;
        }
        Ok(())
    }
}

#[derive(Message)]
struct Paid;

impl Handler<Paid> for Teller {
    async fn handle(&mut self, Paid: Paid, ctx: &mut Context<Self>) -> Outcome<()> {
        self.paid += 1;
        if self.paid == self.config.transactions {
            ctx.stop();
        }
        Ok(())
    }
}

pub(super) async fn run(system: &System, config: Config) -> Answer {
    let mut accounts = Vec::with_capacity(config.accounts);
    for _ in 0..config.accounts {
        accounts.push(system.spawn(Account(Ledger::OPENED)).await.runs());
    }
    let teller = system.spawn(Teller { config, accounts: accounts.clone(), paid: 0 }).await.runs();
    teller.tell(Start).runs();
    teller.wait().await.unwrap();
    let mut ledgers = Vec::with_capacity(config.accounts);
    for account in &accounts {
        ledgers.push(account.ask(Close).await.runs());
    }
    Answer::from_ledgers(&ledgers)
}
