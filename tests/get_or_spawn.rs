//! One live actor per name, under any race, on both backends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use dactor::{Actor, Context, ErrorKind, Handler, Message, Outcome, System};

/// The number of live instances, of created ones, and of handled messages.
#[derive(Default)]
struct Counts {
    alive: AtomicUsize,
    most: AtomicUsize,
    made: AtomicUsize,
    handled: AtomicUsize,
}

struct Single {
    counts: Arc<Counts>,
    started: bool,
}

impl Single {
    fn new(counts: &Arc<Counts>) -> Self {
        counts.made.fetch_add(1, Ordering::SeqCst);
        Self { counts: counts.clone(), started: false }
    }
}

impl Actor for Single {
    async fn on_start(&mut self, _: &mut Context<Self>) -> Outcome<()> {
        let alive = self.counts.alive.fetch_add(1, Ordering::SeqCst) + 1;
        self.counts.most.fetch_max(alive, Ordering::SeqCst);
        self.started = true;
        tokio::task::yield_now().await;
        Ok(())
    }
}

impl Drop for Single {
    fn drop(&mut self) {
        if self.started {
            self.counts.alive.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

#[derive(Message)]
struct Hit;

impl Handler<Hit> for Single {
    async fn handle(&mut self, _: Hit, _: &mut Context<Self>) -> Outcome<()> {
        self.counts.handled.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

struct Other;
impl Actor for Other {}

fn systems() -> [System; 2] {
    let ractor = System::builder("single").backend(dactor_ractor::ractor()).build().unwrap();
    let kameo = System::builder("single").backend(dactor_kameo::kameo()).build().unwrap();
    [ractor, kameo]
}

fn runtime(threads: usize) -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build().unwrap()
}

/// A million calls take minutes: set `DACTOR_GET_OR_SPAWN_REPEATS=100` for the full run.
fn repeats() -> usize {
    std::env::var("DACTOR_GET_OR_SPAWN_REPEATS").ok().and_then(|text| text.parse().ok()).unwrap_or(10)
}

async fn hit(system: System, counts: Arc<Counts>) {
    // A ref may outlive its actor: the sender gets an error, and retries with the next one.
    loop {
        let factory = {
            let counts = counts.clone();
            move || Single::new(&counts)
        };
        let single = system.get_or_spawn("single", factory).await.unwrap();
        match single.ask(Hit).await {
            Ok(()) => return,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Stopped, "{error}"),
        }
    }
}

#[test]
fn a_thousand_callers_find_one_actor_while_it_is_stopped() {
    for threads in [1, 2] {
        for system in systems() {
            runtime(threads).block_on(async {
                for _ in 0..repeats() {
                    let counts = Arc::new(Counts::default());
                    let done = Arc::new(AtomicBool::new(false));
                    let stopper = {
                        let (system, done) = (system.clone(), done.clone());
                        tokio::spawn(async move {
                            while !done.load(Ordering::SeqCst) {
                                if let Some(single) = system.get::<Single>("single") {
                                    single.stop();
                                }
                                // Without a pause, no incarnation would handle a message.
                                tokio::time::sleep(Duration::from_micros(500)).await;
                            }
                        })
                    };
                    let callers: Vec<_> =
                        (0..1000).map(|_| tokio::spawn(hit(system.clone(), counts.clone()))).collect();
                    for caller in callers {
                        tokio::time::timeout(Duration::from_secs(60), caller)
                            .await
                            .expect("it hangs")
                            .unwrap();
                    }
                    done.store(true, Ordering::SeqCst);
                    stopper.await.unwrap();
                    if let Some(single) = system.get::<Single>("single") {
                        single.stop();
                        single.wait().await.unwrap();
                    }
                    assert_eq!(counts.handled.load(Ordering::SeqCst), 1000, "each message is handled once");
                    assert_eq!(counts.most.load(Ordering::SeqCst), 1, "never two alive");
                    assert_eq!(counts.alive.load(Ordering::SeqCst), 0);
                }
                system.shutdown().await.unwrap();
            });
        }
    }
}

/// Check-then-act, as with a hand-written map of conversations: look up, spawn and insert.
#[test]
fn looking_before_spawning_races() {
    for system in systems() {
        runtime(1).block_on(async {
            let counts = Arc::new(Counts::default());
            let callers: Vec<_> = (0..100)
                .map(|_| {
                    let (system, counts) = (system.clone(), counts.clone());
                    tokio::spawn(async move {
                        if system.get::<Single>("single").is_none() {
                            tokio::task::yield_now().await;
                            let single = Single::new(&counts);
                            let _ = system.spawn(single).name("single").await;
                        }
                    })
                })
                .collect();
            for caller in callers {
                caller.await.unwrap();
            }
            assert!(counts.made.load(Ordering::SeqCst) > 1, "the actor was made several times");
            let counts = Arc::new(Counts::default());
            let callers: Vec<_> = (0..100)
                .map(|_| {
                    let (system, counts) = (system.clone(), counts.clone());
                    tokio::spawn(async move {
                        system.get_or_spawn("other", move || Single::new(&counts)).await.unwrap();
                    })
                })
                .collect();
            for caller in callers {
                caller.await.unwrap();
            }
            assert_eq!(counts.made.load(Ordering::SeqCst), 1, "the factory runs once");
        });
    }
}

#[test]
fn a_bad_name_and_a_system_that_has_ended_are_errors() {
    for system in systems() {
        runtime(1).block_on(async {
            assert_eq!(system.get_or_spawn("", || Other).await.unwrap_err().kind(), ErrorKind::InvalidName);
            system.shutdown().await.unwrap();
            let error = system.get_or_spawn("late", || Other).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::SystemShutDown);
        });
    }
}
