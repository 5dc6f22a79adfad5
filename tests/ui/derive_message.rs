use dactor::prelude::*;

#[derive(Message)]
#[message(answer = u64)]
struct WrongName;

#[derive(Message)]
#[message(reply)]
struct NoType;

#[derive(Message)]
#[message(reply = 5)]
struct NotAType;

#[derive(Message)]
#[message = "u64"]
struct NotAList;

#[derive(Message)]
#[message(priority = Urgent)]
struct NoSuchPriority;

fn main() {}
