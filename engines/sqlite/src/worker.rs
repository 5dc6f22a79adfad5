use std::thread;
use std::time::Duration;

use dactor_engine::ErrorKind;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::error::Fault;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// A thread with its own connection, which runs jobs in order.
#[derive(Debug, Clone)]
pub(crate) struct Worker {
    jobs: mpsc::UnboundedSender<Job>,
    timeout: Duration,
}

impl Worker {
    pub(crate) fn start(name: &str, mut connection: Connection, timeout: Duration) -> std::io::Result<Self> {
        let (jobs, mut queue) = mpsc::unbounded_channel::<Job>();
        let body = move || {
            while let Some(job) = queue.blocking_recv() {
                job(&mut connection);
            }
        };
        thread::Builder::new().name(name.to_owned()).spawn(body)?;
        Ok(Self { jobs, timeout })
    }

    /// Runs a job. A job that times out fails with `late`, and is skipped if it has not started.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        late: ErrorKind,
        job: impl FnOnce(&mut Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let (answer, answered) = oneshot::channel();
        let job = Box::new(move |connection: &mut Connection| {
            if !answer.is_closed() {
                // Fails if the caller has given up in the meantime.
                let _ = answer.send(job(connection));
            }
        });
        self.jobs.send(job).map_err(|_| stopped())?;
        answer_within(self.timeout, answered, late).await?
    }
}

/// Waits for the reply, up to a timeout.
pub(crate) async fn answer_within<T>(
    timeout: Duration,
    answered: oneshot::Receiver<T>,
    late: ErrorKind,
) -> Result<T, Fault> {
    match tokio::time::timeout(timeout, answered).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(_)) => Err(Fault::new(late, "the thread of the database has ended")),
        Err(_) => Err(Fault::new(late, format!("no answer after {timeout:?}"))),
    }
}

pub(crate) fn stopped() -> Fault {
    Fault::new(ErrorKind::Unavailable, "the thread of the database has ended").permanent()
}
