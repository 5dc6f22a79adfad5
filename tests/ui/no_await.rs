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

async fn too_early(system: System) -> dactor::Result<()> {
    let account = system.spawn(Account)?;
    account.tell(Open)
}

async fn never(system: System) {
    let account = system.spawn(Account);
    account.tell(Open);
    account.ask(Open);
}

fn main() {}
