use dactor::prelude::*;
use tokio::sync::oneshot;

use super::{Config, Finish, Primes, Runs};

struct Source {
    config: Config,
    filter: ActorRef<Filter>,
}
impl Actor for Source {}

#[derive(Message)]
struct Flow(oneshot::Sender<usize>);

impl Handler<Flow> for Source {
    async fn handle(&mut self, Flow(home): Flow, ctx: &mut Context<Self>) -> Outcome<()> {
        for candidate in self.config.candidates() {
            self.filter.tell(Candidate(candidate))?;
        }
        self.filter.tell(Last(Finish { primes: 0, home }))?;
        ctx.stop();
        Ok(())
    }
}

struct Filter {
    primes: Primes,
    next: Option<ActorRef<Filter>>,
}
impl Actor for Filter {}

impl Filter {
    fn new(primes: Primes) -> Self {
        Self { primes, next: None }
    }
}

#[derive(Message)]
struct Candidate(u64);

impl Handler<Candidate> for Filter {
    async fn handle(&mut self, Candidate(candidate): Candidate, ctx: &mut Context<Self>) -> Outcome<()> {
        match (self.primes.sift(candidate), &self.next) {
            (None, _) => {}
            (Some(candidate), Some(next)) => next.tell(Candidate(candidate))?,
            (Some(prime), None) => {
                let primes = Primes::starting_with(prime, self.primes.at_most);
                self.next = Some(ctx.system().spawn(Filter::new(primes)).await?);
            }
        }
        Ok(())
    }
}

#[derive(Message)]
struct Last(Finish);

impl Handler<Last> for Filter {
    async fn handle(&mut self, Last(finish): Last, ctx: &mut Context<Self>) -> Outcome<()> {
        let finish = finish.add(&self.primes);
        match &self.next {
            Some(next) => next.tell(Last(finish))?,
            None => finish.report(),
        }
        ctx.stop();
        Ok(())
    }
}

pub(super) async fn run(system: &System, config: Config) -> usize {
    let primes = Primes::starting_with(2, config.primes_per_filter);
    let filter = system.spawn(Filter::new(primes)).await.runs();
    let source = system.spawn(Source { config, filter }).await.runs();
    let (home, primes) = oneshot::channel();
    source.tell(Flow(home)).runs();
    primes.await.runs()
}
