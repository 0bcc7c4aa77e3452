//! Figures that hosts ask for: how full the window is.

use posse_runtime::launch::Facts;
use serde_json::{Value, json};

/// How full the window is, as far as the last answer told.
pub(super) fn context_usage(facts: &Facts, tokens: u64) -> Value {
    let window = facts.window.max(1);
    let free = window.saturating_sub(tokens);
    json!({
        "categories": [
            { "name": "Messages", "tokens": tokens, "color": "purple", "kind": "messages" },
            { "name": "Free space", "tokens": free, "color": "gray", "kind": "free" },
        ],
        "totalTokens": tokens,
        "maxTokens": window,
        "rawMaxTokens": window,
        "percentage": tokens.saturating_mul(100) / window,
        "model": facts.model,
        "isAutoCompactEnabled": true,
        "memoryFiles": [],
        "mcpTools": [],
        "agents": facts.agent_list.iter().map(|agent| json!({ "agentType": agent.name, "tokens": 0 })).collect::<Vec<_>>(),
        "gridRows": [],
        "apiUsage": null,
    })
}
