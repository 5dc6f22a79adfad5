use kameo::actor::{Actor, ActorRef, Spawn};
use kameo::error::Infallible;
use kameo::mailbox::unbounded;
use kameo::message::{Context, Message};
use tokio::sync::oneshot;

use super::{Config, Finish, Primes, Runs};

pub(super) const IDIOM: &str =
    "`tell(..).try_send()`; a filter spawns the next in its handler; unbounded mailboxes";

struct Source {
    config: Config,
    filter: ActorRef<Filter>,
}

impl Actor for Source {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(source: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(source)
    }
}

struct Flow(oneshot::Sender<usize>);

impl Message<Flow> for Source {
    type Reply = ();

    async fn handle(&mut self, Flow(home): Flow, ctx: &mut Context<Self, ()>) {
        for candidate in self.config.candidates() {
            self.filter.tell(Candidate(candidate)).try_send().runs();
        }
        self.filter.tell(Last(Finish { primes: 0, home })).try_send().runs();
        ctx.stop();
    }
}

struct Filter {
    primes: Primes,
    next: Option<ActorRef<Filter>>,
}

impl Actor for Filter {
    type Args = Primes;
    type Error = Infallible;

    async fn on_start(primes: Primes, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(Self { primes, next: None })
    }
}

struct Candidate(u64);

impl Message<Candidate> for Filter {
    type Reply = ();

    async fn handle(&mut self, Candidate(candidate): Candidate, _ctx: &mut Context<Self, ()>) {
        match (self.primes.sift(candidate), &self.next) {
            (None, _) => {}
            (Some(candidate), Some(next)) => next.tell(Candidate(candidate)).try_send().runs(),
            (Some(prime), None) => {
                let primes = Primes::starting_with(prime, self.primes.at_most);
                self.next = Some(Filter::spawn_with_mailbox(primes, unbounded()));
            }
        }
    }
}

struct Last(Finish);

impl Message<Last> for Filter {
    type Reply = ();

    async fn handle(&mut self, Last(finish): Last, ctx: &mut Context<Self, ()>) {
        let finish = finish.add(&self.primes);
        match &self.next {
            Some(next) => next.tell(Last(finish)).try_send().runs(),
            None => finish.report(),
        }
        ctx.stop();
    }
}

pub(super) async fn run(config: Config) -> usize {
    let primes = Primes::starting_with(2, config.primes_per_filter);
    let filter = Filter::spawn_with_mailbox(primes, unbounded());
    let source = Source::spawn_with_mailbox(Source { config, filter }, unbounded());
    let (home, primes) = oneshot::channel();
    source.tell(Flow(home)).try_send().runs();
    primes.await.runs()
}
