//! How full the window is, and with what. Lengths come from the session, the sum from the model's last answer; what is
//! between them is the conversation.
//!
//! Four characters are taken for a token. Nobody is asked to count: a host that looks often would pay for it.

use std::collections::BTreeMap;

use posse_core::message::{Block, Content, Message, Role, Usage};
use posse_runtime::launch::{Facts, Reins, Weight, Weights};
use posse_runtime::run::compacts_above;
use serde_json::{Value, json};

/// What was said, by who said it, in characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    user: usize,
    assistant: usize,
    attachments: usize,
    calls: usize,
    results: usize,
    /// Characters of calls and of answers, by tool.
    tools: BTreeMap<String, (usize, usize)>,
    /// Which tool a call meant.
    called: BTreeMap<String, String>,
}

impl Tally {
    /// Of a conversation.
    pub(super) fn of(history: &[Message]) -> Self {
        let mut tally = Self::default();
        history.iter().for_each(|message| tally.add(message.role, &message.blocks));
        tally
    }

    /// Something more was said.
    pub(super) fn add(&mut self, role: Role, blocks: &[Block]) {
        for block in blocks {
            match block {
                Block::Text(text) if role == Role::User => self.user += text.len(),
                Block::Text(text) | Block::Thinking { text, .. } | Block::RedactedThinking(text) => {
                    self.assistant += text.len();
                }
                Block::ToolUse(call) => {
                    let size = call.name.len() + call.input.to_string().len();
                    self.calls += size;
                    self.tools.entry(call.name.to_string()).or_default().0 += size;
                    self.called.insert(call.id.to_string(), call.name.to_string());
                }
                Block::ToolResult(answer) => {
                    let text = |content: &Content| match content {
                        Content::Text(text) => text.len(),
                        Content::Media(_) => MEDIA,
                    };
                    let size: usize = answer.content.iter().map(text).sum();
                    self.results += size;
                    let name = self.called.remove(&*answer.id).unwrap_or_default();
                    self.tools.entry(name).or_default().1 += size;
                }
                Block::Media(_) => self.attachments += MEDIA,
                Block::Other(value) => self.assistant += value.to_string().len(),
            }
        }
    }

    fn all(&self) -> usize {
        self.user + self.assistant + self.attachments + self.calls + self.results
    }
}

/// What an image or a document is taken for, in characters.
const MEDIA: usize = 6_000;

fn tokens(characters: usize) -> u64 {
    characters.div_ceil(4) as u64
}

fn weigh<'w>(weights: impl IntoIterator<Item = &'w Weight>) -> u64 {
    weights.into_iter().map(|weight| tokens(weight.characters)).sum()
}

/// How full the window is.
pub(super) struct Fullness<'a> {
    pub(super) facts: &'a Facts,
    pub(super) weights: Weights,
    pub(super) tally: &'a Tally,
    /// What the last answer read and wrote, if there was one.
    pub(super) last: Option<Usage>,
}

/// One part of the window.
struct Part {
    id: &'static str,
    name: &'static str,
    color: &'static str,
    kind: &'static str,
    tokens: u64,
}

impl<'a> Fullness<'a> {
    pub(super) fn of(facts: &'a Facts, reins: &Reins, tally: &'a Tally, last: Option<Usage>) -> Self {
        Self { facts, weights: reins.weights(), tally, last }
    }

    fn before_messages(&self) -> u64 {
        let Weights { system, tools, server_tools, agents, memory, skills, commands: _ } = &self.weights;
        let now = |weights: &[Weight]| weigh(weights.iter().filter(|weight| !weight.waits));
        [system, tools, server_tools, agents, memory, skills].into_iter().map(|all| now(all)).sum()
    }

    /// What is in the window: as the model counted, else as it is estimated.
    fn total(&self) -> u64 {
        let counted = self.last.map(|usage| usage.context() + usage.output).filter(|counted| *counted > 0);
        counted.unwrap_or_else(|| self.before_messages() + self.messages_estimated())
    }

    /// The standing instructions stand in the first message; they are told of by themselves.
    fn messages_estimated(&self) -> u64 {
        let instructions = self.weights.memory.iter().map(|weight| weight.characters).sum();
        tokens(self.tally.all().saturating_sub(instructions))
    }

    fn parts(&self) -> Vec<Part> {
        let Weights { system, tools, server_tools, agents, memory, skills, commands: _ } = &self.weights;
        let (total, before) = (self.total(), self.before_messages());
        let now = |weights: &[Weight]| {
            let tokens = weigh(weights.iter().filter(|weight| !weight.waits));
            // An estimate may be too high; the parts must not be more than the whole.
            if before > total { tokens.saturating_mul(total) / before } else { tokens }
        };
        let later = |weights: &[Weight]| weigh(weights.iter().filter(|weight| weight.waits));
        let stands: u64 =
            [system, tools, server_tools, agents, memory, skills].into_iter().map(|all| now(all)).sum();
        let messages = total.saturating_sub(stands);
        let window = self.facts.window.max(1);
        let buffer = window - compacts_above(window);
        let used = |id, name, color, tokens| Part { id, name, color, kind: "used", tokens };
        let parts = [
            used("system_prompt", "System prompt", "promptBorder", now(system)),
            used("system_tools", "System tools", "inactive", now(tools)),
            used("mcp_tools", "MCP tools", "cyan", now(server_tools)),
            used("custom_agents", "Custom agents", "permission", now(agents)),
            used("memory_files", "Memory files", "claude", now(memory)),
            used("skills", "Skills", "warning", now(skills)),
            used("messages", "Messages", "purple", messages),
            Part {
                id: "system_tools_deferred",
                name: "System tools (deferred)",
                color: "inactive",
                kind: "deferred",
                tokens: later(tools),
            },
            Part {
                id: "mcp_tools_deferred",
                name: "MCP tools (deferred)",
                color: "inactive",
                kind: "deferred",
                tokens: later(server_tools),
            },
        ];
        let mut parts: Vec<Part> =
            parts.into_iter().filter(|part| part.tokens > 0 || part.id == "messages").collect();
        let free = window.saturating_sub(total).saturating_sub(buffer);
        parts.push(Part { id: "free_space", name: "Free space", color: "gray", kind: "free", tokens: free });
        parts.push(Part {
            id: "autocompact_buffer",
            name: "Autocompact buffer",
            color: "inactive",
            kind: "buffer",
            tokens: buffer.min(window.saturating_sub(total)),
        });
        parts
    }

    /// As hosts ask for it.
    pub(super) fn answer(&self, full: bool) -> Value {
        let category = |part: &Part| {
            let mut value = json!({
                "id": part.id,
                "name": part.name,
                "tokens": part.tokens,
                "color": part.color,
                "kind": part.kind,
            });
            if part.kind == "deferred" {
                value["isDeferred"] = json!(true);
            }
            value
        };
        let (total, window) = (self.total(), self.facts.window.max(1));
        let Weights { system, tools, server_tools, agents, memory, skills, commands } = &self.weights;
        let named = |weight: &Weight| json!({ "name": weight.name, "tokens": tokens(weight.characters) });
        let mut answer = json!({
            "categories": self.parts().iter().map(category).collect::<Vec<_>>(),
            "totalTokens": total,
            "maxTokens": window,
            "rawMaxTokens": window,
            "percentage": total.saturating_mul(100) / window,
            "gridRows": [],
            "model": self.facts.model,
            "memoryFiles": memory.iter().map(memory_file).collect::<Vec<_>>(),
            "mcpTools": server_tools.iter().map(server_tool).collect::<Vec<_>>(),
            "systemTools": tools.iter().filter(|tool| !tool.waits).map(named).collect::<Vec<_>>(),
            "systemPromptSections": system.iter().map(named).collect::<Vec<_>>(),
            "agents": agents.iter().map(agent).collect::<Vec<_>>(),
            "slashCommands": {
                "totalCommands": commands,
                "includedCommands": skills.len(),
                "tokens": weigh(skills),
            },
            "skills": {
                "totalSkills": self.facts.skills.len().max(skills.len()),
                "includedSkills": skills.len(),
                "tokens": weigh(skills),
                "skillFrontmatter": skills.iter().map(skill).collect::<Vec<_>>(),
            },
            "autoCompactThreshold": compacts_above(window),
            "isAutoCompactEnabled": true,
            "apiUsage": self.last.map(api_usage),
        });
        if full {
            answer["messageBreakdown"] = self.breakdown();
        }
        answer
    }

    fn breakdown(&self) -> Value {
        let Tally { user, assistant, attachments, calls, results, tools, called: _ } = self.tally;
        let instructions = self.weights.memory.iter().map(|weight| weight.characters).sum();
        let known = self.messages_estimated();
        let messages = self.total().saturating_sub(self.before_messages());
        let by_type = tools.iter().map(|(name, (calls, results))| {
            json!({ "name": name, "callTokens": tokens(*calls), "resultTokens": tokens(*results) })
        });
        json!({
            "toolCallTokens": tokens(*calls),
            "toolResultTokens": tokens(*results),
            "attachmentTokens": tokens(*attachments),
            "assistantMessageTokens": tokens(*assistant),
            "userMessageTokens": tokens(user.saturating_sub(instructions)),
            "redirectedContextTokens": 0,
            "unattributedTokens": messages.saturating_sub(known),
            "toolCallsByType": by_type.collect::<Vec<_>>(),
            "attachmentsByType": [],
        })
    }

    /// As people read it.
    pub(super) fn table(&self) -> String {
        let (total, window) = (self.total(), self.facts.window.max(1));
        let percent = total.saturating_mul(100) / window;
        let mut text = format!(
            "## Context\n\n**Model:** {}\n**Tokens:** {total} of {window} ({percent}%)\n\n| Part | Tokens | Share |\n|---|---:|---:|\n",
            self.facts.model
        );
        for part in self.parts() {
            let share = part.tokens.saturating_mul(1000) / window;
            text.push_str(&format!("| {} | {} | {}.{}% |\n", part.name, part.tokens, share / 10, share % 10));
        }
        let lists = [
            ("Memory files", &self.weights.memory),
            ("Custom agents", &self.weights.agents),
            ("Skills", &self.weights.skills),
            ("MCP tools", &self.weights.server_tools),
        ];
        for (title, weights) in lists.into_iter().filter(|(_, weights)| !weights.is_empty()) {
            text.push_str(&format!("\n### {title}\n\n| Name | Tokens |\n|---|---:|\n"));
            for weight in weights {
                text.push_str(&format!("| {} | {} |\n", weight.name, tokens(weight.characters)));
            }
        }
        text
    }
}

fn memory_file(weight: &Weight) -> Value {
    json!({ "path": weight.path, "type": weight.source, "tokens": tokens(weight.characters) })
}

fn server_tool(weight: &Weight) -> Value {
    let server = weight.name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    json!({
        "name": weight.name,
        "serverName": server.map(|(server, _)| server).unwrap_or_default(),
        "tokens": tokens(weight.characters),
        "isLoaded": !weight.waits,
    })
}

fn agent(weight: &Weight) -> Value {
    let mut value =
        json!({ "agentType": weight.name, "source": weight.source, "tokens": tokens(weight.characters) });
    origin(&mut value, weight, "pluginId");
    value
}

fn skill(weight: &Weight) -> Value {
    let mut value =
        json!({ "name": weight.name, "source": weight.source, "tokens": tokens(weight.characters) });
    origin(&mut value, weight, "pluginName");
    value
}

fn origin(value: &mut Value, weight: &Weight, plugin: &str) {
    if let Some(name) = &weight.plugin {
        value[plugin] = json!(name);
    }
    if let Some(path) = &weight.path {
        value["path"] = json!(path);
    }
}

fn api_usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
    })
}

#[cfg(test)]
mod tests;
