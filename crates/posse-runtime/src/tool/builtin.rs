//! The built-in tools, one file each.

use std::sync::Arc;

use super::AnyTool;

/// All built-in tools, in the order they are offered.
pub fn all() -> Vec<Arc<dyn AnyTool>> {
    vec![]
}
