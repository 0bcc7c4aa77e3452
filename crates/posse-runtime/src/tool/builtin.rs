//! The built-in tools, one file each.

mod edit;
mod fs;
mod lenient;
mod notebook_edit;
mod patch;
mod read;
#[cfg(test)]
mod trial;
mod view;
mod write;

use std::sync::Arc;

use super::AnyTool;

/// All built-in tools, in the order they are offered.
pub fn all() -> Vec<Arc<dyn AnyTool>> {
    vec![
        Arc::new(edit::Edit),
        Arc::new(notebook_edit::NotebookEdit),
        Arc::new(read::Read),
        Arc::new(write::Write),
    ]
}
