//! Accepts connections and serves HTTP/1 on them. When the server receives a stop signal, it accepts no new
//! connection, waits for the requests that are under way, and closes what is left after [`GRACE`]. No
//! other module opens a listening socket.

#![allow(clippy::disallowed_methods, reason = "the server is what listens (invariant 2)")]

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

use crate::http::{App, RouteTable, respond, table};
use crate::pool::Pools;

/// The largest number of connections. Further ones wait to be accepted.
const MAX_CONNECTIONS: usize = 4_096;
/// How long a client may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long requests may still run after the server received a stop signal.
const GRACE: Duration = Duration::from_secs(10);

/// A server that has bound its address and does not accept connections yet.
pub struct BoundServer {
    runtime: Runtime,
    listener: TcpListener,
    /// The address that it is bound to.
    pub address: SocketAddr,
}

impl BoundServer {
    /// Binds the address.
    pub fn at(address: SocketAddr) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .max_blocking_threads(Pools::THREADS + 8)
            .thread_name("toolyard")
            .build()?;
        let listener = runtime.block_on(TcpListener::bind(address))?;
        let address = listener.local_addr()?;
        Ok(Self { runtime, listener, address })
    }
}

/// Serves until `stop` is done. `stop` is made inside the runtime, where signals can be waited for.
pub fn serve<S>(server: BoundServer, app: Arc<App>, stop: impl FnOnce() -> S)
where
    S: Future<Output = ()>,
{
    let BoundServer { runtime, listener, .. } = server;
    runtime.block_on(async {
        let stop = stop();
        accept(listener, Arc::new(table(&app)), stop, &app).await;
    });
    app.admin.end_all_terminals();
    // A tool that still runs is cut off. The journal finishes or undoes its change when the workspace is opened again.
    runtime.shutdown_timeout(Duration::from_secs(2));
}

async fn accept(
    listener: TcpListener,
    table: Arc<RouteTable>,
    stop: impl Future<Output = ()>,
    app: &Arc<App>,
) {
    let graceful = GracefulShutdown::new();
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    let max = app.settings.connections.unwrap_or(MAX_CONNECTIONS).clamp(1, MAX_CONNECTIONS);
    let permits = Arc::new(Semaphore::new(max));
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = next_connection(&listener, &permits) => accepted,
        };
        let Some((stream, peer, permit)) = accepted else { continue };
        // Answers are small, and Nagle's algorithm would delay them.
        let _ = stream.set_nodelay(true);
        let (app, table) = (Arc::clone(app), Arc::clone(&table));
        let service = service_fn(move |request: Request<Incoming>| {
            let answer = respond(Arc::clone(&app), Arc::clone(&table), peer.ip(), request);
            async move { Ok::<_, Infallible>(answer.await) }
        });
        let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            // An error means that the client closed the connection or was too slow: there is no answer to send.
            let _ = connection.await;
            drop(permit);
        });
    }
    drop(listener);
    app.begin_shutdown();
    tokio::select! {
        () = graceful.shutdown() => {}
        () = tokio::time::sleep(GRACE) => tracing::warn!("some requests were cut off"),
    }
}

type Accepted = (TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit);

async fn next_connection(listener: &TcpListener, permits: &Arc<Semaphore>) -> Option<Accepted> {
    let permit = Arc::clone(permits).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, peer)) => Some((stream, peer, permit)),
        Err(error) => {
            // Mostly the process is out of file descriptors: open connections have to end first.
            tracing::warn!(%error, "a connection could not be accepted");
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}
