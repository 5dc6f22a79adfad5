use dactor::prelude::*;

#[derive(Message)]
#[message(reply = u64)]
struct Greet<'a>(&'a str);

fn main() {}
