use std::time::Duration;

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use metrics::counter;
use serde_json::json;

use crate::model::Refusal;
use crate::service::ServiceError;

/// An answer that is an error: a status, and `{"error": …, "reason": …}`.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    error: &'static str,
    reason: String,
    retry_after: Option<Duration>,
    maybe_done: bool,
}

impl Problem {
    fn new(status: StatusCode, error: &'static str, reason: impl Into<String>) -> Self {
        Self { status, error, reason: reason.into(), retry_after: None, maybe_done: false }
    }

    pub(super) fn invalid(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", reason)
    }

    pub(super) fn too_large(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", reason)
    }

    pub(super) fn unknown_route() -> Self {
        Self::new(StatusCode::NOT_FOUND, "unknown_route", "there is nothing at this address")
    }

    pub(super) fn wrong_method() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "wrong_method", "this address has other methods")
    }

    pub(super) fn overloaded(reason: impl Into<String>) -> Self {
        let retry_after = Some(Duration::from_secs(1));
        Self { retry_after, ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", reason) }
    }
}

impl From<JsonRejection> for Problem {
    fn from(rejection: JsonRejection) -> Self {
        match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Self::too_large("the body is larger than 1 MiB"),
            status => Self::new(status, "invalid", rejection.body_text()),
        }
    }
}

impl From<PathRejection> for Problem {
    fn from(rejection: PathRejection) -> Self {
        Self::new(rejection.status(), "invalid", rejection.body_text())
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let (status, error) = match refusal {
            Refusal::UnknownConversation => (StatusCode::NOT_FOUND, "unknown_conversation"),
            Refusal::Exists => (StatusCode::CONFLICT, "exists"),
            Refusal::NotAMember(_) => (StatusCode::NOT_FOUND, "not_a_member"),
            Refusal::AlreadyAMember(_) => (StatusCode::CONFLICT, "already_a_member"),
            Refusal::KeyPackageUsed => (StatusCode::CONFLICT, "key_package_used"),
        };
        Self::new(status, error, refusal.to_string())
    }
}

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::Refused(refusal) => refusal.into(),
            ServiceError::Overloaded { what, retry_after } => {
                counter!("conversations_shed_total", "reason" => "mailbox").increment(1);
                Self { retry_after: Some(retry_after), ..Self::overloaded(what) }
            }
            ServiceError::Unavailable { why, retry_after, maybe_done } => {
                counter!("conversations_storage_errors_total", "kind" => "unavailable").increment(1);
                tracing::warn!(error = %why, "a request could not be served");
                let problem = Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", why);
                Self { retry_after: Some(retry_after), maybe_done, ..problem }
            }
            ServiceError::Internal(why) => {
                counter!("conversations_storage_errors_total", "kind" => "internal").increment(1);
                tracing::error!(error = %why, "a request failed");
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", why)
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut body = json!({ "error": self.error, "reason": self.reason });
        if self.maybe_done {
            body["may_have_been_done"] = true.into();
        }
        let mut response = (self.status, Json(body)).into_response();
        if let Some(after) = self.retry_after {
            let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)));
        }
        response
    }
}
