//! The server: connections, limits, signals, and the end in phases.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use metrics::{counter, gauge};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::AnyError;
use crate::app::{App, Settings};
use crate::http::{Shared, router};

/// What the server allows.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Open connections. One more is answered with 429 and closed.
    pub connections: usize,
    /// Requests at once. One more is answered with 503.
    pub requests: usize,
    /// How long a client may take to send the head of a request.
    pub head: Duration,
    /// How long requests may take to finish when the server ends.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 8000,
            requests: 4096,
            head: Duration::from_secs(10),
            grace: Duration::from_secs(10),
        }
    }
}

/// Serves until the future is ready. Then: no new connections, requests finish, actors store what they have, the database is
/// closed.
pub async fn serve(
    listener: TcpListener,
    settings: &Settings,
    limits: Limits,
    page: Option<PrometheusHandle>,
    until: impl Future<Output = ()>,
) -> Result<(), AnyError> {
    let app = App::start(settings).await?;
    let shared = Shared::new(app.service.clone(), limits.requests, page);
    let service = TowerToHyperService::new(router(shared.clone()));
    let room = Arc::new(Semaphore::new(limits.connections));
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.head);
    let connections = GracefulShutdown::new();
    tracing::info!(address = %listener.local_addr()?, "listening");
    tokio::pin!(until);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut until => break,
        };
        let Some((stream, _)) = connection(accepted).await else { continue };
        let Ok(permit) = room.clone().try_acquire_owned() else {
            tokio::spawn(refuse(stream));
            continue;
        };
        gauge!("conversations_connections").set((limits.connections - room.available_permits()) as f64);
        let serving = http.serve_connection(TokioIo::new(stream), service.clone());
        let serving = connections.watch(serving);
        tokio::spawn(async move {
            // A client that breaks the connection is nobody's mistake.
            let _ = serving.await;
            drop(permit);
        });
    }
    tracing::info!("phase 1 of 3: no new connections");
    shared.close();
    drop(listener);
    if tokio::time::timeout(limits.grace, connections.shutdown()).await.is_err() {
        tracing::warn!(grace = ?limits.grace, "some requests did not finish in time");
    }
    tracing::info!("phase 2 of 3: the requests are finished");
    drop((shared, service));
    app.shutdown().await?;
    tracing::info!("phase 3 of 3: the actors have ended");
    Ok(())
}

/// A connection, or a pause if there are no file descriptors left.
async fn connection(accepted: io::Result<(TcpStream, SocketAddr)>) -> Option<(TcpStream, SocketAddr)> {
    match accepted {
        Ok(connection) => {
            // Answers are small, and clients wait for them.
            let _ = connection.0.set_nodelay(true);
            Some(connection)
        }
        Err(error) => {
            tracing::warn!(%error, "a connection could not be accepted");
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}

/// Answers without reading the request.
async fn refuse(mut stream: TcpStream) {
    counter!("conversations_shed_total", "reason" => "connections").increment(1);
    let body = r#"{"error":"overloaded","reason":"the server has too many connections"}"#;
    let answer = format!(
        "HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         retry-after: 1\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let write = async {
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await
    };
    // A client that does not read it does not get it.
    let _ = tokio::time::timeout(Duration::from_secs(1), write).await;
}

/// Ready when the process is asked to end. A second signal ends it at once.
pub async fn signalled() {
    wait_for_signal().await;
    tokio::spawn(async {
        wait_for_signal().await;
        tracing::warn!("a second signal: ending at once");
        std::process::exit(1);
    });
}

#[cfg(unix)]
async fn wait_for_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let terminated = async {
        match signal(SignalKind::terminate()) {
            Ok(mut terminated) => drop(terminated.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = terminated => {}
    }
}

#[cfg(not(unix))]
async fn wait_for_signal() {
    let _ = tokio::signal::ctrl_c().await;
}

/// Allows as many open files as the system does: each connection is one.
pub fn raise_file_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        if let Err(error) = setrlimit(Resource::Nofile, limit) {
            tracing::warn!(%error, "the limit of open files could not be raised");
        }
    }
}
