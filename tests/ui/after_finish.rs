use dactor::prelude::*;
use dactor::{Expand, ExpandHandler, Producer};

struct Log;
impl Actor for Log {}

#[derive(Expand)]
#[message(item = u64)]
struct Tail;

impl ExpandHandler<Tail> for Log {
    async fn expand(&mut self, _: Tail, mut out: Producer<u64>, _: &mut Context<Self>) -> Outcome<()> {
        out.finish().await?;
        out.send(1).await?;
        Ok(())
    }
}

fn main() {}
