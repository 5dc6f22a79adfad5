//! Opens and reads states.

use dactor_engine::{ClaimToken, EntityId, ErrorKind, Generation, Opened, Page, Stored};

use crate::connection::Connection;
use crate::error::{Effect, Fault};
use crate::statements::Statements;
use crate::values::{Uuid, body, etag, generation, get, int8};

pub(crate) async fn open(
    connection: &mut Connection,
    statements: &Statements,
    id: &EntityId,
    new: Generation,
    token: ClaimToken,
) -> Result<Opened, Fault> {
    let key = (id.namespace(), id.actor_type(), id.key());
    let (fence, token) = (int8(new.get()), Uuid::from(token));
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
        [&key.0, &key.1, &key.2, &fence, &token];
    let rows = connection.query(&statements.open, &parameters, Effect::Write).await?;
    if let Some(row) = rows.first() {
        return Ok(Opened { etag: etag(row, 0)?, body: body(row, 1)? });
    }
    let rows = connection.query(&statements.fence, &parameters[..3], Effect::Read).await?;
    let fence = rows.first().map(|row| generation(row, 0)).transpose()?.map_or(0, Generation::get);
    let text = format!("generation {new} is not higher than the fence {fence}");
    Err(Fault::new(ErrorKind::Fenced, text))
}

pub(crate) async fn read(
    connection: &mut Connection,
    statements: &Statements,
    id: &EntityId,
) -> Result<Option<Stored>, Fault> {
    let key = (id.namespace(), id.actor_type(), id.key());
    let rows = connection.query(&statements.read, &[&key.0, &key.1, &key.2], Effect::Read).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    Ok(Some(Stored { fence: generation(row, 0)?, etag: etag(row, 1)?, body: body(row, 2)? }))
}

pub(crate) async fn list(
    connection: &mut Connection,
    statements: &Statements,
    (namespace, actor_type): (&str, &str),
    after: Option<&str>,
    limit: usize,
) -> Result<Page, Fault> {
    let most = i64::try_from(limit.saturating_add(1)).unwrap_or(i64::MAX);
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
        [&namespace, &actor_type, &after.unwrap_or(""), &most];
    let rows = connection.query(&statements.list, &parameters, Effect::Read).await?;
    let keys: Result<Vec<String>, Fault> = rows.iter().map(|row| get(row, 0)).collect();
    Ok(Page::new(keys?, limit))
}
