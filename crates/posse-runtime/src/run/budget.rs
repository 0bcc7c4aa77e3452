//! What a request may cost is held before it is made. When only one more fits, it is the last: without tools, to hand
//! back what there is.

use posse_core::budget::{Ask, Exhausted, Which};
use posse_core::event::Outcome;
use posse_core::message::{Block, Content, Message};
use posse_core::price::Price;
use posse_core::prompt;
use posse_core::turn::Input;

use super::Run;
use super::driver::Flight;
use crate::model::Request;
use crate::purse::Permit;
use crate::session::SessionError;

/// How much of an answer is kept where it would not fit into the last request.
const KEPT: usize = 400;

impl Run {
    /// The next request, if it can be afforded; otherwise the turn ends. Costs nothing where nothing is limited.
    pub(super) fn afford(&mut self, flight: &mut Flight) -> Result<Option<Request>, SessionError> {
        let request = self.request(self.turn.history().to_vec());
        if !self.setup.purse.is_limited() {
            return Ok(Some(request));
        }
        let ask = Ask {
            input_bound_tokens: request.input_at_most(self.known, self.setup.window),
            wanted_output_tokens: u64::from(request.max_tokens),
            price: self.price(),
            searches: 0,
        };
        match self.setup.purse.ask(&ask) {
            Permit::Go { held, max_tokens, within: _ } => {
                flight.held = Some(held);
                Ok(Some(request.within(max_tokens)))
            }
            Permit::HandBack { held, max_tokens, max_input_tokens, within: _, cause } => {
                flight.held = Some(held);
                flight.last = Some(outcome(&cause));
                self.aside(&[prompt::HAND_BACK.to_owned()])?;
                let mut request = self.request(self.turn.history().to_vec());
                if ask.input_bound_tokens > max_input_tokens {
                    shorten(&mut request.messages);
                }
                Ok(Some(request.as_hand_back(max_tokens)))
            }
            Permit::Stop(cause) => {
                flight.inputs.push_back(Input::Stop(outcome(&cause)));
                Ok(None)
            }
        }
    }

    /// The dearest of the models that may answer.
    fn price(&self) -> Price {
        let own = Price::of(&self.setup.model_id);
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

/// Leaves of the newest answers only their beginning.
fn shorten(messages: &mut [Message]) {
    let Some(last) = messages.last_mut() else { return };
    for block in &mut last.blocks {
        let Block::ToolResult(answer) = block else { continue };
        for part in &mut answer.content {
            if let Content::Text(text) = part
                && text.len() > KEPT
            {
                let cut = (0..=KEPT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
                text.truncate(cut);
                text.push_str(" [… left out: the budget does not allow for more]");
            }
        }
    }
}
