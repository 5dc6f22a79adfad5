use super::*;
use crate::interceptors::testbed::system;
use crate::{Actor, Around, Context, Handler, Inbound, Later, Outcome};

/// Keeps its deferred replies.
#[derive(Default)]
struct Debtor(Vec<Later<u64>>);
impl Actor for Debtor {}

struct Owe;
impl Message for Owe {
    type Reply = u64;
    type Access = crate::Exclusive;
}

impl Handler<Owe> for Debtor {
    async fn handle(&mut self, Owe: Owe, ctx: &mut Context<Self>) -> Outcome<u64> {
        let (later, promised) = ctx.reply_later::<Owe>();
        self.0.push(later);
        promised
    }
}

struct Breaks;
impl Inbound for Breaks {
    fn scope(&self) -> Option<&dyn Around> {
        Some(self)
    }
}
impl Around for Breaks {
    fn around<'a>(&'a self, _: &'a About<'a>, next: Next<'a>) -> Next<'a> {
        Box::pin(async move {
            next.await;
            panic!("after the promise");
        })
    }
}

/// A message that panics when it is dropped.
struct Explosive;
impl Message for Explosive {
    type Reply = u64;
    type Access = crate::Exclusive;
}
impl Drop for Explosive {
    fn drop(&mut self) {
        panic!("the message");
    }
}

impl Handler<Explosive> for Debtor {
    async fn handle(&mut self, message: Explosive, _: &mut Context<Self>) -> Outcome<u64> {
        std::mem::forget(message);
        Ok(1)
    }
}

/// Panics before it has wrapped the handler.
struct Refuses;
impl Inbound for Refuses {
    fn scope(&self) -> Option<&dyn Around> {
        Some(self)
    }
}
impl Around for Refuses {
    fn around<'a>(&'a self, _: &'a About<'a>, _: Next<'a>) -> Next<'a> {
        panic!("the interceptor");
    }
}

/// The second panic would abort the process.
#[tokio::test(start_paused = true)]
async fn a_scope_that_panics_may_hold_a_message_that_panics() {
    let debtor = system(|builder| builder).spawn(Debtor::default()).inbound(Refuses).await.unwrap();
    let error = debtor.ask(Explosive).timeout(Duration::from_secs(5)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InterceptorPanicked);
    let error = debtor.ask(Owe).timeout(Duration::from_secs(5)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InterceptorPanicked, "the actor continues");
}

#[tokio::test(start_paused = true)]
async fn a_promise_does_not_hide_that_a_scope_panicked() {
    let debtor = system(|builder| builder).spawn(Debtor::default()).inbound(Breaks).await.unwrap();
    let error = debtor.ask(Owe).timeout(Duration::from_secs(5)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InterceptorPanicked);
}
