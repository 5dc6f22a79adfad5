//! A connection to the server.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::AnyError;

/// One connection, kept open.
#[derive(Debug)]
pub struct Client {
    address: String,
    sender: SendRequest<Full<Bytes>>,
}

impl Client {
    /// Connects.
    pub async fn connect(address: &str) -> Result<Self, AnyError> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        // It ends with the connection.
        tokio::spawn(connection);
        Ok(Self { address: address.to_owned(), sender })
    }

    /// Sends a request and reads the answer; `Null` for one that is not JSON.
    pub async fn request(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value), AnyError> {
        let (status, body) = self.raw(method, path, body.map(Value::to_string).unwrap_or_default()).await?;
        Ok((status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
    }

    /// Sends a body as it is.
    pub async fn raw(
        &mut self,
        method: Method,
        path: &str,
        body: String,
    ) -> Result<(StatusCode, Bytes), AnyError> {
        if self.sender.ready().await.is_err() {
            *self = Self::connect(&self.address).await?;
        }
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, &self.address)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::from(body))?;
        let answer = self.sender.send_request(request).await?;
        let status = answer.status();
        Ok((status, answer.into_body().collect().await?.to_bytes()))
    }

    /// Sends a request that must succeed.
    pub async fn expect(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, AnyError> {
        let (status, answer) = self.request(method.clone(), path, body).await?;
        if !status.is_success() {
            return Err(format!("{method} {path}: {status} {answer}").into());
        }
        Ok(answer)
    }

    /// [`expect`](Self::expect) of a `POST`.
    pub async fn post(&mut self, path: &str, body: &Value) -> Result<Value, AnyError> {
        self.expect(Method::POST, path, Some(body)).await
    }

    /// [`expect`](Self::expect) of a `GET`.
    pub async fn get(&mut self, path: &str) -> Result<Value, AnyError> {
        self.expect(Method::GET, path, None).await
    }
}
