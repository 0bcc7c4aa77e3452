//! The to-do list of a run: shared by the tool that writes it and whoever shows it.

use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Nobody has begun.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
}

/// One item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Todo {
    /// As an order: "Run the tests"
    pub content: String,
    #[allow(missing_docs)] // Its doc would be told to the model, which has the words.
    pub status: TodoStatus,
    /// While it happens: "Running the tests"
    pub active_form: String,
}

/// A run's to-do list.
#[derive(Clone, Debug, Default)]
pub struct Todos(Arc<Mutex<Vec<Todo>>>);

impl Todos {
    /// The items.
    pub fn get(&self) -> Vec<Todo> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts a new list in place of the old one, which is returned.
    pub fn replace(&self, todos: Vec<Todo>) -> Vec<Todo> {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), todos)
    }
}
