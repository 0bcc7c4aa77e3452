//! Hooks that call a tool of a server.

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{CallOptions, Holder, Servers};
use crate::hooks::McpCaller;

impl McpCaller for Servers {
    fn call<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        input: Value,
        limit: Duration,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let holder = Holder { agent: "", own: false };
            let lease =
                self.lease(server, holder).ok_or_else(|| format!("no MCP server is called {server}"))?;
            let Value::Object(input) = input else { return Err("a tool takes an object".to_owned()) };
            let options = CallOptions { stop: CancellationToken::new(), ..CallOptions::default() };
            let calling = lease.call(tool, input, options);
            let late = || format!("{server} did not answer within {} s", limit.as_secs());
            let answer = tokio::time::timeout(limit, calling).await.map_err(|_| late())?;
            let answer = answer.map_err(|error| error.to_string())?;
            let texts = answer.content.iter().filter_map(|block| block.as_text());
            let text = texts.map(|text| text.text.as_str()).collect::<Vec<_>>().join("\n");
            if answer.is_error == Some(true) { Err(text) } else { Ok(text) }
        })
    }
}
