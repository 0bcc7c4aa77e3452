//! What an editor says, in posse's own words. Pure.

use std::path::PathBuf;

use agent_client_protocol::v1::schema::{
    ClientCapabilities, ContentBlock, CreateElicitationResponse, ElicitationAction, ElicitationContentValue,
    EmbeddedResourceResource, EnvVariable, HttpHeader, McpServer, RequestPermissionOutcome,
    RequestPermissionResponse, SessionConfigOptionValue,
};
use serde_json::{Map, Value, json};

use crate::commands::acp::words::{Abilities, Chosen, Filled, Opening, Piece};

pub(super) fn abilities(client: &ClientCapabilities) -> Abilities {
    let session = client.session.as_ref();
    Abilities {
        notices: session.is_some_and(|session| session.notices.is_some()),
        compaction: session.is_some_and(|session| session.compaction.is_some()),
        forms: client.elicitation.as_ref().is_some_and(|forms| forms.form.is_some()),
    }
}

pub(super) fn opening(cwd: PathBuf, more_dirs: Vec<PathBuf>, servers: &[McpServer]) -> Opening {
    Opening { cwd, more_dirs, servers: servers.iter().filter_map(server).collect() }
}

/// A server as it would stand in `.mcp.json`.
fn server(server: &McpServer) -> Option<(String, Value)> {
    let headers = |headers: &[HttpHeader]| -> Map<String, Value> {
        headers.iter().map(|one| (one.name.clone(), json!(one.value))).collect()
    };
    match server {
        McpServer::Stdio(server) => {
            let variable = |one: &EnvVariable| (one.name.clone(), json!(one.value));
            let env: Map<String, Value> = server.env.iter().map(variable).collect();
            let config = json!({
                "type": "stdio", "command": server.command.display().to_string(), "args": server.args, "env": env,
            });
            Some((server.name.clone(), config))
        }
        McpServer::Http(server) => {
            let config = json!({ "type": "http", "url": server.url, "headers": headers(&server.headers) });
            Some((server.name.clone(), config))
        }
        McpServer::Sse(server) => {
            let config = json!({ "type": "sse", "url": server.url, "headers": headers(&server.headers) });
            Some((server.name.clone(), config))
        }
        // Only what posse said it can reach is asked for.
        _ => None,
    }
}

pub(super) fn piece(block: ContentBlock) -> Piece {
    match block {
        ContentBlock::Text(text) => Piece::Text(text.text),
        ContentBlock::Image(image) => Piece::Image { media_type: image.mime_type, data: image.data },
        ContentBlock::Audio(audio) => Piece::Audio { media_type: audio.mime_type },
        ContentBlock::ResourceLink(link) => Piece::Link { name: link.name, uri: link.uri },
        ContentBlock::Resource(resource) => match resource.resource {
            EmbeddedResourceResource::TextResourceContents(text) => {
                Piece::TextResource { uri: text.uri, text: text.text }
            }
            EmbeddedResourceResource::BlobResourceContents(blob) => {
                Piece::BlobResource { uri: blob.uri, media_type: blob.mime_type, data: blob.blob }
            }
            _ => unknown(),
        },
        _ => unknown(),
    }
}

fn unknown() -> Piece {
    Piece::Text("[The user attached something that posse cannot read.]".to_owned())
}

pub(super) fn value(value: &SessionConfigOptionValue) -> Option<String> {
    match value {
        SessionConfigOptionValue::ValueId { value } => Some(value.to_string()),
        _ => None,
    }
}

pub(super) fn chosen(response: RequestPermissionResponse) -> Chosen {
    match response.outcome {
        RequestPermissionOutcome::Selected(selected) => Chosen::Option(selected.option_id.to_string()),
        RequestPermissionOutcome::Cancelled => Chosen::Cancelled,
        _ => Chosen::Nobody,
    }
}

pub(super) fn filled(response: CreateElicitationResponse) -> Filled {
    match response.action {
        ElicitationAction::Accept(accepted) => {
            let fields = accepted.content.unwrap_or_default();
            Filled::In(fields.into_iter().map(|(id, value)| (id, texts(value))).collect())
        }
        ElicitationAction::Decline => Filled::Declined,
        ElicitationAction::Cancel => Filled::Cancelled,
        _ => Filled::Nobody,
    }
}

fn texts(value: ElicitationContentValue) -> Vec<String> {
    match value {
        ElicitationContentValue::String(text) => vec![text],
        ElicitationContentValue::StringArray(texts) => texts,
        ElicitationContentValue::Integer(number) => vec![number.to_string()],
        ElicitationContentValue::Number(number) => vec![number.to_string()],
        ElicitationContentValue::Boolean(yes) => vec![yes.to_string()],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
