//! The HTTP API.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use axum::Router;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{delete, get, post};
use metrics::{counter, gauge, histogram};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::Semaphore;

use crate::service::Service;

mod answer;
mod conversations;
mod input;

pub use answer::Problem;
pub use input::{LONGEST_ID, LONGEST_PAYLOAD, MOST_MEMBERS};

/// The largest body of a request.
pub const LARGEST_BODY: usize = 1 << 20;

/// What all requests share.
#[derive(Clone)]
pub struct Shared {
    service: Service,
    requests: Arc<Semaphore>,
    closing: Arc<AtomicBool>,
    page: Option<PrometheusHandle>,
}

impl Shared {
    /// At most this many requests are handled at once.
    pub fn new(service: Service, most_requests: usize, page: Option<PrometheusHandle>) -> Self {
        let requests = Arc::new(Semaphore::new(most_requests));
        Self { service, requests, closing: Arc::default(), page }
    }

    /// From now on `/health` says that the server is ending.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Release);
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("service", &self.service).finish_non_exhaustive()
    }
}

/// All routes.
pub fn router(shared: Shared) -> Router {
    let api = Router::new()
        .route("/conversations", post(conversations::create))
        .route("/conversations/{id}", get(conversations::view))
        .route("/conversations/{id}/epoch", get(conversations::epoch))
        .route("/conversations/{id}/members", post(conversations::add_members))
        .route("/conversations/{id}/members/{member}", delete(conversations::remove_member))
        .route("/conversations/{id}/messages", post(conversations::send))
        .route("/conversations/{id}/unread", post(conversations::increment_unread))
        .route("/conversations/{id}/read", post(conversations::reset_unread))
        .method_not_allowed_fallback(async || Problem::wrong_method())
        .layer(middleware::from_fn_with_state(shared.clone(), admit))
        .layer(DefaultBodyLimit::max(LARGEST_BODY));
    Router::new()
        .merge(api)
        .route("/", get(async || Html(include_str!("page.html"))))
        .route("/health", get(health))
        .route("/metrics", get(metrics_page))
        .fallback(async || Problem::unknown_route())
        .with_state(shared)
}

/// Sheds load, and measures.
async fn admit(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    let Ok(_permit) = shared.requests.try_acquire() else {
        counter!("conversations_shed_total", "reason" => "requests").increment(1);
        return Problem::overloaded("the server has too many requests").into_response();
    };
    let route = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str).to_owned();
    let method = request.method().as_str().to_owned();
    let id = request.uri().path().split('/').nth(2).unwrap_or_default();
    let path = shared.service.path(id).name();
    let begin = Instant::now();
    let response = next.run(request).await;
    let status = response.status().as_u16().to_string();
    let route = format!("{method} {route}");
    histogram!("conversations_request_seconds", "path" => path, "route" => route.clone())
        .record(begin.elapsed());
    counter!("conversations_requests_total", "path" => path, "route" => route, "status" => status)
        .increment(1);
    response
}

async fn health(State(shared): State<Shared>) -> Response {
    if shared.closing.load(Ordering::Acquire) {
        return Problem::overloaded("the server is ending").into_response();
    }
    if !shared.service.cluster().is_serving() {
        return Problem::overloaded("the node has no lease").into_response();
    }
    (StatusCode::OK, "ok\n").into_response()
}

async fn metrics_page(State(shared): State<Shared>) -> Response {
    let Some(page) = &shared.page else { return Problem::unknown_route().into_response() };
    gauge!("conversations_active").set(shared.service.cluster().active() as f64);
    gauge!("conversations_share_percent").set(f64::from(shared.service.share()));
    let (size, used) = shared.service.database().usage();
    gauge!("conversations_pool_connections").set(size as f64);
    gauge!("conversations_pool_in_use").set(used as f64);
    if let Some(bytes) = resident_bytes() {
        gauge!("process_resident_memory_bytes").set(bytes as f64);
    }
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], page.render()).into_response()
}

/// The memory of this process; `None` where there is no `/proc`.
pub fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}
