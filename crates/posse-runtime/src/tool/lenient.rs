//! Reading what models write when they mean a number, a switch or a short text.

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::Value;

/// A whole number that is not negative, also as a text or with a fraction.
pub(crate) fn number<'de, D: Deserializer<'de>>(input: D) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(input)?;
    let text = match &value {
        Value::Null => return Ok(None),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.trim().is_empty() => return Ok(None),
        Value::String(text) => text.trim().to_owned(),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => String::new(),
    };
    let whole = text.parse::<u64>().ok();
    let number = whole.or_else(|| {
        let number = text.parse::<f64>().ok().filter(|number| (0.0..1e15).contains(number))?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // The range is checked above.
        Some(number.round() as u64)
    });
    number
        .map(Some)
        .ok_or_else(|| D::Error::custom(format!("expected a whole number from 0 up, got {value}")))
}

/// Yes or no, also as a text.
pub(crate) fn switch<'de, D: Deserializer<'de>>(input: D) -> Result<Option<bool>, D::Error> {
    let value = Value::deserialize(input)?;
    match &value {
        Value::Null => Ok(None),
        Value::Bool(value) => Ok(Some(*value)),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(Some(true)),
        Value::String(text) if text.eq_ignore_ascii_case("false") || text.is_empty() => Ok(Some(false)),
        Value::String(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(D::Error::custom(format!("expected true or false, got {value}")))
        }
    }
}

/// Yes or no, also as a text; nothing is no.
pub(crate) fn flag<'de, D: Deserializer<'de>>(input: D) -> Result<bool, D::Error> {
    switch(input).map(Option::unwrap_or_default)
}

/// A text that may be left out, also as a number; null and empty text are nothing.
pub(crate) fn text<'de, D: Deserializer<'de>>(input: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(input)? {
        Value::Null => Ok(None),
        Value::String(text) => Ok((!text.trim().is_empty()).then(|| text.trim().to_owned())),
        Value::Number(number) => Ok(Some(number.to_string())),
        other @ (Value::Bool(_) | Value::Array(_) | Value::Object(_)) => {
            Err(D::Error::custom(format!("expected text, got {other}")))
        }
    }
}

/// An id, which some write as a number.
pub(crate) fn id<'de, D: Deserializer<'de>>(input: D) -> Result<String, D::Error> {
    let value = Value::deserialize(input)?;
    id_of(&value).ok_or_else(|| D::Error::custom(format!("{value} is not an id")))
}

/// Ids, some of which are written as numbers.
pub(crate) fn ids<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<String>, D::Error> {
    let values = Option::<Vec<Value>>::deserialize(input)?.unwrap_or_default();
    let read = |value: &Value| id_of(value).ok_or_else(|| D::Error::custom(format!("{value} is not an id")));
    values.iter().map(read).collect()
}

/// Words, `null` or nothing.
pub(crate) fn words<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<String>, D::Error> {
    Ok(Option::deserialize(input)?.unwrap_or_default())
}

/// `#3`, `"3"` and `3` name the same thing.
fn id_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => {
            let text = text.trim();
            Some(text.strip_prefix('#').unwrap_or(text).to_owned())
        }
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests;
