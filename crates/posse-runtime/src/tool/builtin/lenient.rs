//! Reading inputs as models write them: numbers and switches as text, and nothing where nothing was meant.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A whole number, also as text; null and empty text are nothing.
pub(super) fn number<'de, D: Deserializer<'de>>(input: D) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(input)?;
    match &value {
        Value::Null => return Ok(None),
        Value::String(text) if text.trim().is_empty() => return Ok(None),
        Value::String(text) => text.trim().parse().ok(),
        Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
    .map(Some)
    .ok_or_else(|| D::Error::custom(format!("expected a whole number from 0 up, got {value}")))
}

/// The number a fraction like `3.0` stands for.
fn whole(number: f64) -> Option<u64> {
    // Beyond 2^53 a float no longer names one whole number.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    (number.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(&number)).then_some(number as u64)
}

/// Yes or no, also as text; null is no.
pub(super) fn switch<'de, D: Deserializer<'de>>(input: D) -> Result<bool, D::Error> {
    let value = Value::deserialize(input)?;
    match &value {
        Value::Null => Some(false),
        Value::Bool(yes) => Some(*yes),
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" => Some(true),
            "false" | "" => Some(false),
            _ => None,
        },
        Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
    .ok_or_else(|| D::Error::custom(format!("expected true or false, got {value}")))
}

/// A text that may be left out, also as a number; null and empty text are nothing.
pub(super) fn text<'de, D: Deserializer<'de>>(input: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(input)? {
        Value::Null => Ok(None),
        Value::String(text) => Ok((!text.trim().is_empty()).then(|| text.trim().to_owned())),
        Value::Number(number) => Ok(Some(number.to_string())),
        other @ (Value::Bool(_) | Value::Array(_) | Value::Object(_)) => {
            Err(D::Error::custom(format!("expected text, got {other}")))
        }
    }
}
