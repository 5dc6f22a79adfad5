//! Frames over a socket, and nothing else: what a typed message is compared with.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};

use crate::{ANSWER, REQUEST};

/// What the first byte of a connection asks for.
const ECHO: u8 = 1;
const SINK: u8 = 2;

/// Answers every request, with one write for all that came at once; or only counts.
pub(crate) async fn serve(listener: TcpListener) {
    while let Ok((mut stream, _)) = listener.accept().await {
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            let mode = stream.read_u8().await.unwrap_or(ECHO);
            let (read, mut write) = stream.into_split();
            let mut frames = Frames::new(read);
            let mut out = Vec::new();
            let mut count = 0_u64;
            while let Some(read) = frames.read().await {
                for number in read {
                    if number == u64::MAX {
                        // The end of a one-way stream: how many came.
                        put(&mut out, count, ANSWER);
                    } else if mode == ECHO {
                        put(&mut out, number, ANSWER);
                    }
                    count += 1;
                }
                if !out.is_empty() && write.write_all(&out).await.is_err() {
                    return;
                }
                out.clear();
            }
        });
    }
}

fn put(out: &mut Vec<u8>, number: u64, length: usize) {
    out.extend_from_slice(&(length as u32).to_le_bytes());
    out.extend_from_slice(&number.to_le_bytes());
    out.resize(out.len() + length - 8, 7);
}

/// Reads frames, and gives the numbers in them.
struct Frames {
    read: OwnedReadHalf,
    buffer: Vec<u8>,
    end: usize,
}

impl Frames {
    fn new(read: OwnedReadHalf) -> Self {
        Self { read, buffer: vec![0; 64 * 1024], end: 0 }
    }

    async fn read(&mut self) -> Option<Vec<u64>> {
        let mut numbers = Vec::with_capacity(64);
        while numbers.is_empty() {
            let count = self.read.read(&mut self.buffer[self.end..]).await.ok().filter(|count| *count > 0)?;
            self.end += count;
            let mut at = 0;
            while let Some(head) = self.buffer[at..self.end].first_chunk::<4>() {
                let length = u32::from_le_bytes(*head) as usize;
                let Some(body) = self.buffer[at + 4..self.end].get(..length) else { break };
                numbers.push(u64::from_le_bytes(*body.first_chunk().expect("a number")));
                at += 4 + length;
            }
            self.buffer.copy_within(at..self.end, 0);
            self.end -= at;
        }
        Some(numbers)
    }
}

async fn connect(address: &str, mode: u8) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("the server listens");
    stream.set_nodelay(true).expect("a socket");
    stream.write_u8(mode).await.expect("it is written");
    stream
}

/// One task on each side: as many requests are written at once as answers came.
pub(crate) async fn echo(address: &str, in_flight: usize, length: Duration) -> u64 {
    let (read, mut write) = connect(address, ECHO).await.into_split();
    let (mut frames, mut out, mut done) = (Frames::new(read), Vec::new(), 0);
    (0..in_flight as u64).for_each(|number| put(&mut out, number, REQUEST));
    write.write_all(&out).await.expect("it is written");
    let end = Instant::now() + length;
    while Instant::now() < end {
        let answers = frames.read().await.expect("answers");
        done += answers.len() as u64;
        out.clear();
        answers.into_iter().for_each(|number| put(&mut out, number, REQUEST));
        write.write_all(&out).await.expect("it is written");
    }
    done
}

/// A task for each request under way, which waits for its own answer.
pub(crate) async fn echo_tasks(address: &str, tasks: usize, length: Duration) -> u64 {
    let (read, mut write) = connect(address, ECHO).await.into_split();
    let pending: Arc<Mutex<HashMap<u64, oneshot::Sender<()>>>> = Arc::default();
    let (requests, mut to_write) = mpsc::unbounded_channel::<u64>();
    let writer = tokio::spawn(async move {
        let mut out = Vec::new();
        while let Some(number) = to_write.recv().await {
            out.clear();
            put(&mut out, number, REQUEST);
            while let Ok(number) = to_write.try_recv() {
                put(&mut out, number, REQUEST);
            }
            if write.write_all(&out).await.is_err() {
                return;
            }
        }
    });
    let answered = pending.clone();
    let reader = tokio::spawn(async move {
        let mut frames = Frames::new(read);
        while let Some(numbers) = frames.read().await {
            for number in numbers {
                if let Some(asker) = answered.lock().expect("no panic").remove(&number) {
                    let _ = asker.send(());
                }
            }
        }
    });
    let end = Instant::now() + length;
    let tasks: Vec<_> = (0..tasks as u64)
        .map(|task| {
            let (pending, requests) = (pending.clone(), requests.clone());
            tokio::spawn(async move {
                let mut done = 0;
                while Instant::now() < end {
                    let (answer, answered) = oneshot::channel();
                    let number = task << 32 | done;
                    pending.lock().expect("no panic").insert(number, answer);
                    let _ = requests.send(number);
                    let _ = answered.await;
                    done += 1;
                }
                done
            })
        })
        .collect();
    let mut done = 0;
    for task in tasks {
        done += task.await.expect("no panic");
    }
    drop(requests);
    let _ = writer.await;
    reader.abort();
    done
}

/// Requests without answers, in bursts.
pub(crate) async fn one_way(address: &str, length: Duration) -> u64 {
    let (read, mut write) = connect(address, SINK).await.into_split();
    let (mut out, mut sent) = (Vec::new(), 0);
    let end = Instant::now() + length;
    while Instant::now() < end {
        out.clear();
        (0..1000).for_each(|_| put(&mut out, 0, REQUEST));
        write.write_all(&out).await.expect("it is written");
        sent += 1000;
    }
    out.clear();
    put(&mut out, u64::MAX, REQUEST);
    write.write_all(&out).await.expect("it is written");
    let count = Frames::new(read).read().await.expect("the count")[0];
    assert_eq!(count, sent, "all arrive");
    sent
}
