//! A chat room in one process and its guests in others.
//!
//! `cargo run --example chat --features ractor,kameo,remote` starts a room and two guests, one of which is killed.
//! `chat room 127.0.0.1:5000` and `chat guest 127.0.0.1:5000 NAME` run one of them.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use dactor::remote::{Node, RemotingConfig};
use dactor::wire::{Accepts, Remote};
use dactor::{Actor, ActorRef, Context, Handler, Message, Outcome, System, Terminated};
use serde::{Deserialize, Serialize};

/// Knows the guests, and tells each what the others say.
#[derive(Default)]
struct Room {
    guests: Vec<(String, ActorRef<Guest>)>,
}

impl Actor for Room {}

impl Remote for Room {
    const TYPE: &'static str = "chat.Room";

    fn accepts(messages: &mut Accepts<Self>) {
        messages.message::<Join>().message::<Say>();
    }
}

impl Room {
    fn tell_all(&self, text: &str) {
        println!("room: {text}");
        for (_, guest) in &self.guests {
            // A guest that is gone is reported by its watch.
            let _ = guest.tell(Line(text.to_owned()));
        }
    }
}

#[derive(Serialize, Deserialize, Message)]
#[message(wire = "chat.Join", reply = usize)]
struct Join {
    name: String,
    guest: ActorRef<Guest>,
}

impl Handler<Join> for Room {
    async fn handle(&mut self, Join { name, guest }: Join, ctx: &mut Context<Self>) -> Outcome<usize> {
        ctx.watch(&guest)?;
        self.guests.push((name.clone(), guest));
        self.tell_all(&format!("{name} has joined"));
        Ok(self.guests.len())
    }
}

#[derive(Serialize, Deserialize, Message)]
#[message(wire = "chat.Say")]
struct Say {
    name: String,
    text: String,
}

impl Handler<Say> for Room {
    async fn handle(&mut self, Say { name, text }: Say, _: &mut Context<Self>) -> Outcome<()> {
        self.tell_all(&format!("{name} says: {text}"));
        Ok(())
    }
}

impl Handler<Terminated> for Room {
    async fn handle(&mut self, ended: Terminated, _: &mut Context<Self>) -> Outcome<()> {
        let Some(at) = self.guests.iter().position(|(_, guest)| ended.is(guest)) else { return Ok(()) };
        let (name, _) = self.guests.remove(at);
        self.tell_all(&format!("{name} has left ({})", ended.reason()));
        Ok(())
    }
}

/// Prints what it is told.
struct Guest(String);

impl Actor for Guest {}

impl Remote for Guest {
    const TYPE: &'static str = "chat.Guest";

    fn accepts(messages: &mut Accepts<Self>) {
        messages.message::<Line>();
    }
}

#[derive(Serialize, Deserialize, Message)]
#[message(wire = "chat.Line")]
struct Line(String);

impl Handler<Line> for Guest {
    async fn handle(&mut self, Line(text): Line, _: &mut Context<Self>) -> Outcome<()> {
        println!("{}: {text}", self.0);
        Ok(())
    }
}

fn config() -> RemotingConfig {
    // A guest that is killed is missed after a second.
    RemotingConfig::new().heartbeat(Duration::from_millis(100)).dead_after(Duration::from_secs(1))
}

async fn room(at: &str) -> dactor::Result<()> {
    let system = System::builder("chat").backend(dactor::ractor()).build()?;
    system.spawn(Room::default()).name("room").await?;
    let node = Node::builder(&system).config(config()).listen(at).serve::<Room>().start().await?;
    println!("listening at {}", node.id());
    std::future::pending().await
}

async fn guest(at: &str, name: &str) -> dactor::Result<()> {
    let system = System::builder("chat").backend(dactor::kameo()).build()?;
    let node = Node::builder(&system).config(config()).serve::<Guest>().start().await?;
    let guest = system.spawn(Guest(name.to_owned())).name("guest").await?;
    let room = node.actor_at::<Room>(format!("pekko.tcp://chat@{at}/user/room")).await?;
    room.ask(Join { name: name.to_owned(), guest }).await?;
    room.tell(Say { name: name.to_owned(), text: "hello".to_owned() })?;
    println!("{name} is in the room");
    std::future::pending().await
}

/// Another process of this program, which ends with this one.
struct Process(Child);

impl Process {
    /// Starts it, and waits for the first line with this text.
    fn start(args: &[&str], until: &str) -> (Self, String) {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        let mut child = command.args(args).stdout(Stdio::piped()).spawn().expect("another process");
        let mut lines =
            BufReader::new(child.stdout.take().expect("its output")).lines().map_while(Result::ok);
        let found = lines.find(|line| line.contains(until)).unwrap_or_default();
        let is_room = args[0] == "room";
        std::thread::spawn(move || lines.filter(|_| is_room).for_each(|line| println!("{line}")));
        (Self(child), found)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::main]
async fn main() -> dactor::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["room", at] => room(at).await,
        ["guest", at, name] => guest(at, name).await,
        _ => {
            let (_room, line) = Process::start(&["room", "127.0.0.1:0"], "listening at ");
            let at = line.trim_start_matches("listening at ").to_owned();
            let (_ann, _) = Process::start(&["guest", &at, "ann"], "is in the room");
            let (bob, _) = Process::start(&["guest", &at, "bob"], "is in the room");
            drop(bob); // kill -9
            tokio::time::sleep(Duration::from_secs(3)).await;
            Ok(())
        }
    }
}
