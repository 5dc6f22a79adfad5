//! An actor on a bare tokio task, stopped through its native handle.

use custom_backend::TasksInterop;
use dactor_core::{Actor, Context, Handler, Message, Outcome, Result, System};

struct Greeter;
impl Actor for Greeter {}

struct Greet(&'static str);
impl Message for Greet {
    type Reply = String;
    type Access = dactor_core::Exclusive;
}

impl Handler<Greet> for Greeter {
    async fn handle(&mut self, Greet(whom): Greet, ctx: &mut Context<Self>) -> Outcome<String> {
        Ok(format!("hello {whom}, from {}", ctx.system().backend_name()))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let system = System::builder("hello").backend(custom_backend::tasks()).build()?;
    let greeter = system.spawn(Greeter).await?;
    println!("{}", greeter.ask(Greet("world")).await?);
    if let Some(task) = greeter.task() {
        task.stop();
        println!("the task ended: {:?}; the actor: {}", task.exit().await, greeter.wait().await?);
    }
    Ok(())
}
