//! posse as a server of tools (MCP): its own tools and its agents, for any program that speaks the protocol.
//!
//! Knows the protocol through `rmcp` and keeps its types to itself. Calls go through the same guard, hooks and sandbox as
//! those of an agent; there is no other way to a tool from here. Refuses to know flags, and where the bytes come from.

mod asker;
mod lines;
mod offers;
mod progress;
mod server;

use std::time::Duration;

use posse_core::hooks::occasion::EndReason;
use rmcp::service::{ElicitationMode, ServerInitializeError, serve_server_with_ct};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::lines::Lines;
use self::offers::Offers;
use self::progress::Watched;
use self::server::Server;
use crate::ask::Asks;
use crate::launch::Launched;
use crate::run::Event;

pub use offers::{OFFERED, Offer, UnknownTool};

/// Why serving ended with nobody served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The other side does not speak the protocol, or not so that both understand it.
    #[error("the program at the other end could not be served: {0}")]
    NotUnderstood(String),
}

/// What a session is served with.
pub struct Serving<R, W> {
    /// What is offered.
    pub offer: Offer,
    /// The version clients are told.
    pub version: &'static str,
    /// Questions of the session: whoever is served may be able to put them before a person.
    pub asks: Asks,
    /// Where messages come from.
    pub input: R,
    /// Where messages go. Nobody else may write there.
    pub output: W,
    /// Cancelled to end.
    pub stop: CancellationToken,
}

/// Serves until the input ends or `stop` is cancelled, then ends the session: nothing it started is left. `tell` is
/// handed what a person should know, line by line.
pub async fn serve<R, W>(
    mut launched: Launched,
    serving: Serving<R, W>,
    mut tell: impl FnMut(&str),
) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (say, mut said) = unbounded_channel();
    let served = {
        let (_, none) = unbounded_channel();
        let events = std::mem::replace(&mut launched.events, none);
        let served = connect(&launched, events, serving, say);
        tokio::pin!(served);
        loop {
            tokio::select! {
                biased;
                Some(line) = said.recv() => tell(&line),
                served = &mut served => break served,
            }
        }
    };
    let left = launched.end(EndReason::Other).await;
    while let Ok(line) = said.try_recv() {
        tell(&line);
    }
    left.iter().for_each(|line| tell(line));
    served
}

async fn connect<R, W>(
    launched: &Launched,
    events: UnboundedReceiver<Event>,
    serving: Serving<R, W>,
    say: UnboundedSender<String>,
) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let Serving { offer, version, asks, input, output, stop } = serving;
    let errands = launched.run.errands();
    let offers = Offers::new(&offer, errands.tools(), launched.startable(), &launched.facts.cwd);
    let (gone, over) = (CancellationToken::new(), CancellationToken::new());
    let watched = Watched::default();
    let (flush, flushes) = unbounded_channel();
    let server = Server::new(server::Parts {
        offers,
        version,
        errands,
        ids: launched.cx.world.ids.clone(),
        watched: watched.clone(),
        flush,
        say: say.clone(),
        gone: gone.clone(),
        over: over.clone(),
    });
    let calls = server.calls();
    let lines = Lines::new(input, output, gone.clone());
    let running = match serve_server_with_ct(server, lines, stop.child_token()).await {
        Ok(running) => running,
        Err(error) => return not_served(&error),
    };
    let peer = running.peer().clone();
    // Ends with this function, whoever still waits inside.
    let mut helpers = JoinSet::new();
    helpers.spawn(progress::report(events, flushes, watched, peer.clone(), say));
    if peer.supported_elicitation_modes().contains(&ElicitationMode::Form) {
        helpers.spawn(asker::ask(asks, peer, gone.clone()));
    } else {
        // From now on nobody can be asked, and whatever would be is refused with the reason.
        drop(asks);
    }
    helpers.spawn(end_calls(gone.clone(), over.clone()));
    // How the connection ended changes nothing: it has ended.
    let _ = running.waiting().await;
    gone.cancel();
    over.cancel();
    calls.close();
    calls.wait().await;
    Ok(())
}

/// What somebody asked for before they hung up is still answered if it does not take long: a pipe may be all they are.
async fn end_calls(gone: CancellationToken, over: CancellationToken) {
    const GRACE: Duration = Duration::from_secs(1);
    gone.cancelled().await;
    tokio::time::sleep(GRACE).await;
    over.cancel();
}

/// Somebody who hangs up before they have said anything has not done anything wrong.
fn not_served(error: &ServerInitializeError) -> Result<(), ServeError> {
    match error {
        ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled => Ok(()),
        other => Err(ServeError::NotUnderstood(other.to_string())),
    }
}
