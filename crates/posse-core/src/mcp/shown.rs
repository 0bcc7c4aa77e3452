//! A server's configuration as programs are shown it: the form people write, without what is secret.
//!
//! Knows which parts may hold secrets and hides them all. Refuses to tell values that only look harmless.

use serde_json::{Map, Value, json};

use super::veil::HIDDEN;
use super::{McpConfig, Reach, Transport, without_keys};

impl Transport {
    /// What configurations call it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Sse => "sse",
            Self::WebSocket => "ws",
        }
    }
}

impl McpConfig {
    /// What configurations call the way it is reached.
    pub fn transport_word(&self) -> &'static str {
        match &self.reach {
            Reach::Stdio { .. } => "stdio",
            Reach::Remote { transport, .. } => transport.word(),
            Reach::Sdk { .. } => "sdk",
        }
    }

    /// The configuration without secrets: of variables and headers only the names, of addresses no keys.
    pub fn shown(&self) -> Value {
        let open = |text: &str| without_keys(&self.veiled(text));
        let mut shown = match &self.reach {
            Reach::Stdio { command, args, env, cwd } => {
                let args: Vec<String> = args.iter().map(|arg| open(arg)).collect();
                let mut shown = json!({ "type": "stdio", "command": open(command), "args": args });
                if !env.is_empty() {
                    shown["env"] = names_only(env);
                }
                if let Some(cwd) = cwd {
                    shown["cwd"] = json!(open(cwd));
                }
                shown
            }
            Reach::Remote { transport, url, headers } => {
                let mut shown = json!({ "type": transport.word(), "url": open(url) });
                if !headers.is_empty() {
                    shown["headers"] = names_only(headers);
                }
                shown
            }
            Reach::Sdk { name } => json!({ "type": "sdk", "name": name }),
        };
        if let Some(timeout) = self.timeout_ms {
            shown["timeout"] = json!(timeout);
        }
        if self.always_load {
            shown["alwaysLoad"] = json!(true);
        }
        shown
    }
}

fn names_only(pairs: &[(Box<str>, Box<str>)]) -> Value {
    let hidden = |(name, _): &(Box<str>, Box<str>)| (name.to_string(), Value::from(HIDDEN));
    Value::Object(pairs.iter().map(hidden).collect::<Map<String, Value>>())
}
