//! The routes of conversations.

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use bytes::Bytes;
use serde_json::{Value, json};
use tracing::Instrument;

use super::input::{self, AddInput, CreateInput, MemberInput, RemoveInput, SendInput, SenderInput};
use super::{Problem, Shared};
use crate::model::{View, random_id};
use crate::service::ServiceError;

type Id = Result<Path<String>, PathRejection>;
type Body<T> = Result<Json<T>, JsonRejection>;

/// A valid id.
fn checked(id: Id) -> Result<String, Problem> {
    let Path(id) = id?;
    input::conversation_id(&id)?;
    Ok(id)
}

/// Runs a request in a span with the id of its conversation.
async fn run<T>(
    id: &str,
    request: &'static str,
    work: impl Future<Output = Result<T, ServiceError>>,
) -> Result<T, Problem> {
    let span = tracing::info_span!("request", conversation = %id, request);
    async { work.await.map_err(Problem::from) }.instrument(span).await
}

pub(super) async fn create(
    State(shared): State<Shared>,
    body: Body<CreateInput>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let Json(input) = body?;
    let id = input.id.unwrap_or_else(random_id);
    input::conversation_id(&id)?;
    input::members(&input.members, true)?;
    run(&id, "create", shared.service.create(&id, input.members)).await?;
    let path = shared.service.path(&id).name();
    Ok((StatusCode::CREATED, Json(json!({ "id": id, "epoch": 0, "path": path }))))
}

pub(super) async fn view(State(shared): State<Shared>, id: Id) -> Result<Json<View>, Problem> {
    let id = checked(id)?;
    Ok(Json(run(&id, "view", shared.service.view(&id)).await?))
}

pub(super) async fn epoch(State(shared): State<Shared>, id: Id) -> Result<Json<Value>, Problem> {
    let id = checked(id)?;
    let epoch = run(&id, "epoch", shared.service.epoch(&id)).await?;
    Ok(Json(json!({ "epoch": epoch })))
}

pub(super) async fn add_members(
    State(shared): State<Shared>,
    id: Id,
    body: Body<AddInput>,
) -> Result<Json<Value>, Problem> {
    let id = checked(id)?;
    let new = body?.0.check()?;
    let epoch = run(&id, "add members", shared.service.add_members(&id, new)).await?;
    Ok(Json(json!({ "epoch": epoch })))
}

pub(super) async fn remove_member(
    State(shared): State<Shared>,
    address: Result<Path<(String, String)>, PathRejection>,
    body: Bytes,
) -> Result<Json<Value>, Problem> {
    let Path((id, member)) = address?;
    input::conversation_id(&id)?;
    input::member(&member)?;
    let input = if body.is_empty() {
        RemoveInput::default()
    } else {
        serde_json::from_slice(&body).map_err(|error| Problem::invalid(error.to_string()))?
    };
    let commit = input.commit.map(|text| input::payload("commit", &text)).transpose()?;
    let epoch = run(&id, "remove member", shared.service.remove_member(&id, member, commit)).await?;
    Ok(Json(json!({ "epoch": epoch })))
}

pub(super) async fn send(
    State(shared): State<Shared>,
    id: Id,
    body: Body<SendInput>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let id = checked(id)?;
    let Json(SendInput { sender, ciphertext }) = body?;
    input::member(&sender)?;
    let ciphertext = Bytes::from(input::payload("ciphertext", &ciphertext)?);
    let sent = run(&id, "send", shared.service.send(&id, sender, ciphertext)).await?;
    Ok((StatusCode::CREATED, Json(json!(sent))))
}

pub(super) async fn increment_unread(
    State(shared): State<Shared>,
    id: Id,
    body: Body<SenderInput>,
) -> Result<StatusCode, Problem> {
    let id = checked(id)?;
    let Json(SenderInput { sender }) = body?;
    input::member(&sender)?;
    run(&id, "increment unread", shared.service.increment_unread(&id, sender)).await?;
    Ok(StatusCode::ACCEPTED)
}

pub(super) async fn reset_unread(
    State(shared): State<Shared>,
    id: Id,
    body: Body<MemberInput>,
) -> Result<StatusCode, Problem> {
    let id = checked(id)?;
    let Json(MemberInput { member }) = body?;
    input::member(&member)?;
    run(&id, "reset unread", shared.service.reset_unread(&id, member)).await?;
    Ok(StatusCode::NO_CONTENT)
}
