//! Accepts connections, hands their requests on, and goes in order: when told to stop it takes no new
//! ones, lets what is under way finish, and gives up after a while. The only place that listens.

#![allow(clippy::disallowed_methods, reason = "the server is what listens (invariant 2)")]

mod at_once;
mod attentive;
mod patience;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

use at_once::{AtOnce, Turns};
use attentive::{Attentive, Turn};
use patience::Patience;

use crate::http::{App, Table, respond, table};
use crate::pool::Pools;

/// Most connections at once; the next ones wait to be accepted.
const CONNECTIONS: usize = 4_096;
/// How long a client may take to send the head of a request. Because there is such a time, hyper wants to read as soon
/// as it has answered, which is when [`Attentive`] listens.
const HEAD: Duration = Duration::from_secs(10);
/// How long what is under way may take once the server was told to stop.
const GRACE: Duration = Duration::from_secs(10);

/// A server that has its address and does not serve yet.
pub struct Listening {
    runtime: Runtime,
    listener: TcpListener,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Listening {
    /// Takes the address.
    pub fn at(address: SocketAddr) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .worker_threads(Pools::workers())
            .max_blocking_threads(Pools::THREADS + 8)
            .thread_name("toolyard")
            .build()?;
        let listener = runtime.block_on(TcpListener::bind(address))?;
        let address = listener.local_addr()?;
        Ok(Self { runtime, listener, address })
    }
}

/// Serves until `stop` is done. `stop` is made inside the runtime, where signals can be waited for.
pub fn serve<S>(listening: Listening, app: Arc<App>, stop: impl FnOnce() -> S)
where
    S: Future<Output = ()>,
{
    let Listening { runtime, listener, .. } = listening;
    let resting = app.pools.rest_one(&runtime);
    runtime.block_on(async {
        let stop = stop();
        accept(listener, Arc::new(table(&app)), stop, &app).await;
    });
    drop(resting);
    app.house.end_all_terminals();
    // A tool that is still running is cut off: nothing of it is half done.
    runtime.shutdown_timeout(Duration::from_secs(2));
}

async fn accept(
    listener: TcpListener,
    table: Arc<Table>,
    stop: impl Future<Output = ()>,
    app: &Arc<App>,
) {
    let graceful = GracefulShutdown::new();
    let mut http = hyper::server::conn::http1::Builder::new();
    http.header_read_timeout(HEAD);
    let most = app.settings.connections.unwrap_or(CONNECTIONS).clamp(1, CONNECTIONS);
    let room = Arc::new(Semaphore::new(most));
    let turns = Turns::default();
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = next(&listener, &room) => accepted,
        };
        let Some((stream, peer, permit)) = accepted else { continue };
        // Answers are small: none waits for the next one to fill a packet.
        let _ = stream.set_nodelay(true);
        let (app, table) = (Arc::clone(app), Arc::clone(&table));
        let service = service_fn(move |request: Request<Incoming>| {
            let answer = respond(Arc::clone(&app), Arc::clone(&table), peer.ip(), request);
            async move { Ok::<_, Infallible>(answer.await) }
        });
        let mut http = http.clone();
        let http = http.timer(Patience::default());
        let turn = Turn::default();
        let stream = Attentive::new(stream, turn.clone());
        let watched = graceful.watch(http.serve_connection(stream, service));
        let connection = AtOnce::new(watched, turns.clone(), turn);
        tokio::spawn(async move {
            // A client that went away is no news.
            let _ = connection.await;
            drop(permit);
        });
    }
    drop(listener);
    app.is_closing();
    tokio::select! {
        () = graceful.shutdown() => {}
        () = tokio::time::sleep(GRACE) => tracing::warn!("some requests were cut off"),
    }
}

type Accepted = (TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit);

async fn next(listener: &TcpListener, room: &Arc<Semaphore>) -> Option<Accepted> {
    let permit = Arc::clone(room).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, peer)) => Some((stream, peer, permit)),
        Err(error) => {
            // Out of file handles, mostly: what is open has to end first.
            tracing::warn!(%error, "a connection could not be accepted");
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}
