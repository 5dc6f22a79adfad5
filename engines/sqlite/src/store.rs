//! The state store, and SQL of the application.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use dactor_engine::{
    ClaimToken, EntityId, ErrorKind, Etag, FencedSql, Generation, Opened, Operation, Page, Row, StateStore,
    Statement, StorageError, Stored, Value,
};
use rusqlite::Connection;

use crate::engine::unexpected;
use crate::requests::{Reply, Request};
use crate::{Sqlite, reader, sql};

#[async_trait]
impl StateStore for Sqlite {
    async fn open(
        &self,
        id: &EntityId,
        generation: Generation,
        token: ClaimToken,
    ) -> Result<Opened, StorageError> {
        match self.request(Request::Open { id: id.clone(), generation, token }, id).await? {
            Reply::Opened(opened) => Ok(opened),
            other => Err(unexpected(Operation::Open, id, &other)),
        }
    }

    async fn save(
        &self,
        id: &EntityId,
        generation: Generation,
        read: Option<Etag>,
        new: Etag,
        body: Bytes,
    ) -> Result<(), StorageError> {
        self.save_with(id, generation, read, new, body, Arc::default()).await
    }

    async fn clear(
        &self,
        id: &EntityId,
        generation: Generation,
        read: Option<Etag>,
        new: Etag,
    ) -> Result<(), StorageError> {
        self.write(
            Request::Write { id: id.clone(), generation, read, new, body: None, also: Arc::default() },
            id,
        )
        .await
    }

    async fn read(&self, id: &EntityId) -> Result<Option<Stored>, StorageError> {
        let entity = id.clone();
        self.read_state(Operation::Read, id, move |state| reader::read(state, &entity)).await
    }

    async fn list(
        &self,
        namespace: &str,
        actor_type: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page, StorageError> {
        let id = format!("{namespace}::{actor_type}");
        let (namespace, actor_type) = (namespace.to_owned(), actor_type.to_owned());
        let after = after.map(str::to_owned);
        let list =
            move |state: &Connection| reader::list(state, &namespace, &actor_type, after.as_deref(), limit);
        self.read_state(Operation::List, &id, list).await
    }
}

#[async_trait]
impl FencedSql for Sqlite {
    async fn save_with(
        &self,
        id: &EntityId,
        generation: Generation,
        read: Option<Etag>,
        new: Etag,
        body: Bytes,
        also: Arc<[Statement]>,
    ) -> Result<(), StorageError> {
        let largest = self.largest_state();
        if body.len() > largest {
            let text = format!("{} bytes; the limit is {largest}", body.len());
            return Err(StorageError::new(ErrorKind::TooLarge, Operation::Save).on(id).because(text));
        }
        self.write(Request::Write { id: id.clone(), generation, read, new, body: Some(body), also }, id).await
    }

    async fn query(&self, sql: &str, args: &[Value]) -> Result<Vec<Row>, StorageError> {
        let (text, args) = (sql.to_owned(), args.to_vec());
        let query = move |state: &Connection| sql::query(state, &text, &args);
        self.read_state(Operation::Query, &sql, query).await
    }
}
