//! A proxy that cuts connections.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// When to cut the connection to the client. The server does not learn of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// As soon as the request is forwarded.
    AfterTheRequest,
    /// When the server has answered; the answer is lost.
    AfterTheAnswer,
}

#[derive(Default)]
struct Control {
    next: Option<(Cut, &'static str)>,
    has_cut: bool,
}

pub struct Proxy {
    /// The parameters of a connection through the proxy.
    pub config: String,
    control: Arc<Mutex<Control>>,
}

impl Proxy {
    pub async fn start(url: &str) -> Self {
        let config: Config = url.parse().expect("a valid URL");
        let Some(Host::Tcp(host)) = config.get_hosts().first() else { panic!("a server with a TCP address") };
        let upstream = (host.clone(), config.get_ports().first().copied().unwrap_or(5432));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let text = |value: Option<&[u8]>| String::from_utf8_lossy(value.unwrap_or_default()).into_owned();
        let config = format!(
            "host=127.0.0.1 port={port} user='{}' password='{}' dbname='{}'",
            config.get_user().unwrap_or_default(),
            text(config.get_password()),
            config.get_dbname().unwrap_or_default()
        );
        let control = Arc::new(Mutex::new(Control::default()));
        let of_connections = control.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (control, upstream) = (of_connections.clone(), upstream.clone());
                tokio::spawn(async move {
                    if let Ok(server) = TcpStream::connect((&*upstream.0, upstream.1)).await {
                        serve(client, server, control).await;
                    }
                });
            }
        });
        Self { config, control }
    }

    /// Cuts the connection of the next request.
    pub fn cut_next(&self, cut: Cut) {
        self.cut_next_containing("", cut);
    }

    /// Cuts the connection of the next request that contains this text.
    pub fn cut_next_containing(&self, text: &'static str, cut: Cut) {
        *self.control.lock().unwrap() = Control { next: Some((cut, text)), has_cut: false };
    }

    /// Whether the last cut has happened. Asked once per cut.
    pub fn has_cut(&self) -> bool {
        std::mem::take(&mut self.control.lock().unwrap().has_cut)
    }
}

async fn serve(mut client: TcpStream, mut server: TcpStream, control: Arc<Mutex<Control>>) {
    let (mut up, mut down) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    loop {
        tokio::select! {
            read = client.read(&mut up) => {
                let Ok(length @ 1..) = read else { return };
                let cut = take_cut(&control, &up[..length]);
                if server.write_all(&up[..length]).await.is_err() {
                    return;
                }
                let Some(cut) = cut else { continue };
                if cut == Cut::AfterTheAnswer {
                    let _ = server.read(&mut down).await;
                }
                control.lock().unwrap().has_cut = true;
                drop(client);
                // The server goes on with what it has.
                while matches!(server.read(&mut down).await, Ok(1..)) {}
                return;
            }
            read = server.read(&mut down) => {
                let Ok(length @ 1..) = read else { return };
                if client.write_all(&down[..length]).await.is_err() {
                    return;
                }
            }
        }
    }
}

fn take_cut(control: &Mutex<Control>, request: &[u8]) -> Option<Cut> {
    let mut control = control.lock().unwrap();
    let (cut, text) = control.next?;
    let found = text.is_empty() || request.windows(text.len()).any(|part| part == text.as_bytes());
    if found { control.next.take().map(|_| cut) } else { None }
}
