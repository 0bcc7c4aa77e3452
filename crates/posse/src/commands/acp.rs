//! `posse acp`: posse as an agent of the Agent Client Protocol, for Zed and other editors.
//!
//! Sessions are launched like any other. Here they are put at the far end of standard input and output, on which there
//! is nothing but lines of the protocol; what is for people goes to standard error.

mod asks;
mod ending;
mod hub;
mod menu;
mod prompt;
mod protocol;
mod replay;
mod session;
mod side;
mod updates;
mod wire;
mod words;

use std::io::BufReader;

use posse_runtime::launch::LaunchRequest;
use posse_runtime::world::World;
use tokio::sync::mpsc::unbounded_channel;

use self::hub::Hub;
use super::lines::{self, Far};
use super::run::{request, runtime};
use super::signals::{Signals, at_once};
use crate::args::{AcpArgs, PermissionPrompts};
use crate::report::{CommandResult, Failure, Outcome};
use crate::terminal::Terminal;

pub(super) fn run(args: AcpArgs, world: &World, terminal: &mut Terminal) -> CommandResult {
    let is_asked = args.authority.permission_prompts == PermissionPrompts::Host;
    let request = LaunchRequest { entrypoint: "acp".to_owned(), ..request(args.into(), world)? };
    let runtime = runtime()?;
    let (outgoing, incoming, far) = wire::open(BufReader::new(std::io::stdin()), std::io::stdout());
    lines::watch_output(far.broken.clone());
    let served = runtime.block_on(async {
        let Far { broken, mut written } = far;
        let mut signals = Signals::listen();
        let (notes, mut to_say) = unbounded_channel::<String>();
        let world = world.clone();
        let err = &mut terminal.err;
        let work = async |editor: protocol::Editor, mut inbox: tokio::sync::mpsc::UnboundedReceiver<_>| {
            let mut hub = Hub::new(world, request, is_asked, editor.clone(), notes);
            let mut say = |note: String| {
                // Nobody there to read it is no reason to stop.
                let _ = writeln!(err, "posse: {note}");
            };
            let outcome = loop {
                tokio::select! {
                    biased;
                    _ = signals.next() => break Outcome::Interrupted,
                    () = broken.cancelled() => break Outcome::Fine,
                    Some(incoming) = inbox.recv() => hub.take(incoming),
                    Some(note) = to_say.recv() => say(note),
                    () = editor.gone() => break Outcome::Fine,
                }
            };
            tokio::select! {
                () = hub.end() => {}
                // Whoever asks twice does not want to wait.
                _ = signals.next() => at_once(),
            }
            while let Ok(note) = to_say.try_recv() {
                say(note);
            }
            outcome
        };
        let outcome = protocol::serve(outgoing, incoming, work).await.map_err(Failure::new)?;
        if !broken.is_cancelled() {
            // What was said last is written before the program ends; nobody who reads is nobody to wait for.
            tokio::select! {
                _ = &mut written => {}
                _ = signals.next() => {}
            }
        }
        Ok(outcome)
    });
    // Somebody may still hold the other end of the input open: reading it is not waited for.
    runtime.shutdown_background();
    served
}
