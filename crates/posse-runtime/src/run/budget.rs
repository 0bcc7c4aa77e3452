//! What a request may cost is held before it is made. When only one more fits, it is the last: without tools, to hand
//! back what there is.

use std::sync::Arc;

use posse_core::budget::{Ask, Exhausted, Which};
use posse_core::event::Outcome;
use posse_core::message::{Block, Content};
use posse_core::price::Price;
use posse_core::prompt;
use posse_core::turn::Input;

use super::Run;
use super::deadline::{Due, Stage};
use super::driver::Flight;
use crate::model::{Model, Paid, Request};
use crate::purse::{Held, Permit};
use crate::session::SessionError;

/// How much of an answer is kept where it would not fit into the last request; less and less, until it does.
const KEPT: [usize; 5] = [4_000, 1_000, 400, 100, 0];
/// Stands where something was cut off.
const LEFT_OUT: &str = " [… left out: the budget does not allow for more]";
/// What the words that ask for a hand-back come to, with what stands around them.
const WORDS: u64 = prompt::HAND_BACK.len() as u64 + 100;

/// A request, and who answers it and is paid for it.
pub(super) struct Affordable {
    pub(super) request: Request,
    pub(super) model: Arc<dyn Model>,
    /// Knows whether there was enough; nothing if nothing is limited.
    pub(super) paid: Option<Arc<Paid>>,
}

impl Run {
    /// The next request, if it can be afforded; otherwise the turn ends. Costs nothing where nothing is limited.
    pub(super) fn afford(&mut self, flight: &mut Flight) -> Result<Option<Affordable>, SessionError> {
        flight.due = None;
        let last_turn = self.setup.agent.is_some() && self.turn.is_last_request();
        if last_turn {
            self.aside(&[prompt::LAST_TURN.to_owned()])?;
        }
        let request = self.request(self.turn.history().to_vec());
        // What its caller is handed is then what the agent says of it, and not what it said before its last call.
        let request = if last_turn {
            let max_tokens = request.max_tokens.into();
            request.as_hand_back(max_tokens)
        } else {
            request
        };
        if !self.setup.purse.is_limited() {
            return Ok(Some(Affordable { request, model: self.setup.model.clone(), paid: None }));
        }
        // Should it be the last, it says so.
        let mut ask = self.ask_for(&request);
        ask.input_bound_tokens += WORDS;
        flight.at_most = None;
        match self.setup.purse.ask(&ask) {
            Permit::Go { held, max_tokens, within } => {
                flight.at_most = Some(ask.at_most(max_tokens).tokens);
                flight.due = within.map(|time| Due::after(time, Stage::Work));
                Ok(Some(self.paid(request.within(max_tokens), held)))
            }
            Permit::HandBack { held, max_tokens, max_input_tokens, within, cause } => {
                flight.due = within.map(|time| Due::after(time, Stage::HandBack));
                flight.last = Some(outcome(&cause));
                self.aside(&[prompt::HAND_BACK.to_owned()])?;
                let mut request = self.request(self.turn.history().to_vec());
                if !shorten(&mut request, self.known, self.setup.window, max_input_tokens) {
                    held.release();
                    flight.due = None;
                    flight.inputs.extend(flight.last.take().map(Input::Stop));
                    return Ok(None);
                }
                Ok(Some(self.paid(request.as_hand_back(max_tokens), held)))
            }
            Permit::Stop(cause) => {
                flight.inputs.push_back(Input::Stop(outcome(&cause)));
                Ok(None)
            }
        }
    }

    /// What a request comes to at most.
    fn ask_for(&self, request: &Request) -> Ask {
        Ask {
            input_bound_tokens: request.input_at_most(self.known, self.setup.window),
            wanted_output_tokens: u64::from(request.max_tokens),
            price: self.price(),
            searches: 0,
        }
    }

    /// A request on the side, if it can be afforded: it leaves alone what the hand-back needs.
    pub(super) fn afford_aside(&self, request: Request) -> Result<Affordable, Exhausted> {
        let model = self.setup.model.clone();
        if !self.setup.purse.is_limited() {
            return Ok(Affordable { request, model, paid: None });
        }
        let bound = self.ask_for(&request).at_most(u64::from(request.max_tokens));
        let held = self.setup.purse.reserve(bound)?;
        Ok(self.paid(request, held))
    }

    fn paid(&self, request: Request, held: Held) -> Affordable {
        let paid = Arc::new(Paid::new(self.setup.model.clone(), self.setup.purse.clone(), held));
        Affordable { request, model: paid.clone(), paid: Some(paid) }
    }

    /// The dearest of the models that may answer.
    fn price(&self) -> Price {
        let own = Price::of(&self.model_id());
        self.setup.fallback.as_deref().map_or(own, |other| own.or(Price::of(other)))
    }
}

/// How a turn ends that has nothing left to spend.
fn outcome(cause: &Exhausted) -> Outcome {
    match cause.which {
        Which::Dollars => Outcome::OutOfBudget(in_dollars(cause.limit)),
        which => Outcome::Exhausted { which, limit: cause.limit },
    }
}

/// Millionths of a dollar as dollars.
#[allow(clippy::cast_precision_loss)] // Nobody has 2^52 of them.
fn in_dollars(microdollars: u64) -> f64 {
    microdollars as f64 / 1_000_000.0
}

/// Leaves of what came since the last reply only the beginning, and less of it until all fits. Says whether it does.
fn shorten(request: &mut Request, known: Option<(usize, u64)>, window: u64, most: u64) -> bool {
    let from = known.map_or(request.messages.len().saturating_sub(1), |(count, _)| count);
    for kept in KEPT {
        if request.input_at_most(known, window) <= most {
            return true;
        }
        for message in request.messages.iter_mut().skip(from) {
            for block in &mut message.blocks {
                cut_block(block, kept);
            }
        }
    }
    request.input_at_most(known, window) <= most
}

fn cut_block(block: &mut Block, kept: usize) {
    match block {
        Block::Text(text) if !text.contains(prompt::HAND_BACK) => cut(text, kept),
        Block::ToolResult(answer) => {
            // What is no text can only be left out.
            answer.content.retain(|part| matches!(part, Content::Text(_)));
            for part in &mut answer.content {
                if let Content::Text(text) = part {
                    cut(text, kept);
                }
            }
        }
        Block::Text(_)
        | Block::Thinking { .. }
        | Block::RedactedThinking(_)
        | Block::ToolUse(_)
        | Block::Media(_)
        | Block::Other(_) => {}
    }
}

fn cut(text: &mut String, kept: usize) {
    if text.len() <= kept + LEFT_OUT.len() {
        return;
    }
    let end = (0..=kept).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    text.truncate(end);
    text.push_str(LEFT_OUT);
}
