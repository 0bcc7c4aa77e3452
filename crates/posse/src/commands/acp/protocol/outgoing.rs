//! What posse says, in the words of the protocol. Pure.

use agent_client_protocol::v1::schema::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, BlobResourceContents, CompactionStatus,
    CompactionUpdate, ConfigOptionUpdate, Content, ContentBlock, ContentChunk, Cost,
    CreateElicitationRequest, CurrentModeUpdate, Diff, ElicitationFormMode, ElicitationSchema,
    ElicitationSessionScope, EmbeddedResource, EmbeddedResourceResource, EnumOption, ImageContent, Meta,
    MultiSelectPropertySchema, Notice, NoticeSeverity, PermissionOption, PermissionOptionKind, Plan,
    PlanEntry, PlanEntryPriority, PlanEntryStatus, ResourceLink, SessionConfigOption,
    SessionConfigOptionCategory, SessionConfigSelectOption, SessionInfoUpdate, SessionMode, SessionModeState,
    SessionUpdate, StopReason, StringPropertySchema, TextResourceContents, ToolCall, ToolCallContent,
    ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
    UnstructuredCommandInput, UsageUpdate,
};
use posse_runtime::launch::CommandFact;
use serde_json::json;

use crate::commands::acp::menu;
use crate::commands::acp::words::{
    About, Agent, Answer, Call, Field, Form, Kind, Meaning, Modes, Named, Piece, Place, Progress, Setting,
    Shown, Step, Stop, Update,
};

pub(super) fn update(update: Update) -> SessionUpdate {
    let chunk = |text: String| ContentChunk::new(text.into());
    match update {
        Update::User(piece) => SessionUpdate::UserMessageChunk(ContentChunk::new(block(piece))),
        Update::Text(text) => SessionUpdate::AgentMessageChunk(chunk(text)),
        Update::Thought(text) => SessionUpdate::AgentThoughtChunk(chunk(text)),
        Update::NewCall(call) => SessionUpdate::ToolCall(new_call(*call)),
        Update::Call(call) => SessionUpdate::ToolCallUpdate(changed_call(*call)),
        Update::Plan(steps) => SessionUpdate::Plan(Plan::new(steps.into_iter().map(step).collect())),
        Update::Commands(commands) => SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(
            commands.into_iter().map(command).collect(),
        )),
        Update::Mode(mode) => SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(mode.name())),
        Update::Settings(all) => SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(settings(all))),
        Update::Title(title) => SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(title)),
        Update::Usage { used, size, cost } => {
            SessionUpdate::UsageUpdate(UsageUpdate::new(used, size).cost(Cost::new(cost, "USD")))
        }
        Update::Notice(text) => SessionUpdate::Notice(Notice::new(NoticeSeverity::Info, text)),
        Update::Compaction(number, progress) => {
            let status = match progress {
                Progress::Pending | Progress::Running => CompactionStatus::InProgress,
                Progress::Done => CompactionStatus::Completed,
                Progress::Failed => CompactionStatus::Cancelled,
            };
            SessionUpdate::CompactionUpdate(CompactionUpdate::new(format!("compaction-{number}"), status))
        }
    }
}

fn block(piece: Piece) -> ContentBlock {
    match piece {
        Piece::Text(text) => text.into(),
        Piece::Image { media_type, data } => ContentBlock::Image(ImageContent::new(data, media_type)),
        Piece::Audio { media_type } => format!("[{media_type}]").into(),
        Piece::Link { name, uri } => ContentBlock::ResourceLink(ResourceLink::new(name, uri)),
        Piece::TextResource { uri, text } => ContentBlock::Resource(EmbeddedResource::new(
            EmbeddedResourceResource::TextResourceContents(TextResourceContents::new(text, uri)),
        )),
        Piece::BlobResource { uri, media_type, data } => {
            let blob = BlobResourceContents::new(data, uri).mime_type(media_type);
            ContentBlock::Resource(EmbeddedResource::new(EmbeddedResourceResource::BlobResourceContents(
                blob,
            )))
        }
    }
}

fn new_call(call: Call) -> ToolCall {
    let Call { id, tool, title, kind, progress, shown, places, input, output, agent } = call;
    ToolCall::new(id, title.unwrap_or_default())
        .name(tool)
        .kind(tool_kind(kind.unwrap_or(Kind::Other)))
        .status(status(progress.unwrap_or(Progress::Pending)))
        .content(shown.unwrap_or_default().into_iter().map(content).collect::<Vec<_>>())
        .locations(places.unwrap_or_default().into_iter().map(location).collect::<Vec<_>>())
        .raw_input(input)
        .raw_output(output)
        .meta(agent.map(meta))
}

pub(super) fn changed_call(call: Call) -> ToolCallUpdate {
    let Call { id, tool, title, kind, progress, shown, places, input, output, agent } = call;
    let fields = ToolCallUpdateFields::new()
        .name(tool)
        .title(title)
        .kind(kind.map(tool_kind))
        .status(progress.map(status))
        .content(shown.map(|shown| shown.into_iter().map(content).collect::<Vec<_>>()))
        .locations(places.map(|places| places.into_iter().map(location).collect::<Vec<_>>()))
        .raw_input(input)
        .raw_output(output);
    ToolCallUpdate::new(id, fields).meta(agent.map(meta))
}

/// Whose a call is; the protocol has no word of its own for it yet.
fn meta(agent: Agent) -> Meta {
    let Agent { parent, id, kind } = agent;
    let about = json!({ "parentToolCallId": parent, "agentId": id, "agentType": kind });
    Meta::from_iter([("posse".to_owned(), about)])
}

fn tool_kind(kind: Kind) -> ToolKind {
    match kind {
        Kind::Read => ToolKind::Read,
        Kind::Edit => ToolKind::Edit,
        Kind::Search => ToolKind::Search,
        Kind::Execute => ToolKind::Execute,
        Kind::Think => ToolKind::Think,
        Kind::Fetch => ToolKind::Fetch,
        Kind::Mode => ToolKind::SwitchMode,
        Kind::Other => ToolKind::Other,
    }
}

fn status(progress: Progress) -> ToolCallStatus {
    match progress {
        Progress::Pending => ToolCallStatus::Pending,
        Progress::Running => ToolCallStatus::InProgress,
        Progress::Done => ToolCallStatus::Completed,
        Progress::Failed => ToolCallStatus::Failed,
    }
}

fn content(shown: Shown) -> ToolCallContent {
    match shown {
        Shown::Text(text) => ToolCallContent::Content(Content::new(text)),
        Shown::Image { media_type, data } => {
            ToolCallContent::Content(Content::new(ContentBlock::Image(ImageContent::new(data, media_type))))
        }
        Shown::Diff { path, old, new } => ToolCallContent::Diff(Diff::new(path, new).old_text(old)),
    }
}

fn location(place: Place) -> ToolCallLocation {
    ToolCallLocation::new(place.path).line(place.line)
}

fn step(step: Step) -> PlanEntry {
    let status = match step.progress {
        Progress::Pending | Progress::Failed => PlanEntryStatus::Pending,
        Progress::Running => PlanEntryStatus::InProgress,
        Progress::Done => PlanEntryStatus::Completed,
    };
    PlanEntry::new(step.text, PlanEntryPriority::Medium, status)
}

fn command(command: CommandFact) -> AvailableCommand {
    let CommandFact { name, description, argument_hint } = command;
    let input = (!argument_hint.is_empty())
        .then(|| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(argument_hint)));
    AvailableCommand::new(name, description).input(input)
}

pub(super) fn stop(stop: Stop) -> StopReason {
    match stop {
        Stop::EndTurn => StopReason::EndTurn,
        Stop::MaxTokens => StopReason::MaxTokens,
        Stop::MaxRequests => StopReason::MaxTurnRequests,
        Stop::Refusal => StopReason::Refusal,
        Stop::Cancelled => StopReason::Cancelled,
    }
}

pub(super) fn modes(modes: &Modes) -> SessionModeState {
    let mode = |one: Named| SessionMode::new(one.id, one.name).description(one.description);
    let open = modes.open.iter().copied().map(menu::named_mode).map(mode).collect();
    SessionModeState::new(modes.current.name(), open)
}

pub(super) fn settings(all: Vec<Setting>) -> Vec<SessionConfigOption> {
    let choice = |one: Named| SessionConfigSelectOption::new(one.id, one.name).description(one.description);
    let setting = |one: Setting| {
        let Setting { id, name, about, current, choices } = one;
        let category = match about {
            About::Mode => SessionConfigOptionCategory::Mode,
            About::Model => SessionConfigOptionCategory::Model,
        };
        let choices: Vec<SessionConfigSelectOption> = choices.into_iter().map(choice).collect();
        SessionConfigOption::select(id, name, current, choices).category(category)
    };
    all.into_iter().map(setting).collect()
}

pub(super) fn option(answer: Answer) -> PermissionOption {
    let kind = match answer.meaning {
        Meaning::Once => PermissionOptionKind::AllowOnce,
        Meaning::Always => PermissionOptionKind::AllowAlways,
        Meaning::Reject => PermissionOptionKind::RejectOnce,
        Meaning::Never => PermissionOptionKind::RejectAlways,
    };
    PermissionOption::new(answer.id, answer.name, kind)
}

pub(super) fn form(session: &str, form: Form) -> CreateElicitationRequest {
    let Form { title, call, fields } = form;
    let schema = fields.into_iter().fold(ElicitationSchema::new(), |schema, field| {
        let Field { id, title, question, choices, several } = field;
        let choice = |one: Named| EnumOption::new(one.id, one.name).description(one.description);
        let choices: Vec<EnumOption> = choices.into_iter().map(choice).collect();
        if several {
            let field = MultiSelectPropertySchema::titled(choices).title(title).description(question);
            return schema.property(id, field, false);
        }
        let field = StringPropertySchema::new().title(title).description(question);
        let field = if choices.is_empty() { field } else { field.one_of(choices) };
        schema.property(id, field, false)
    });
    let scope = ElicitationSessionScope::new(session.to_owned())
        .tool_call_id(agent_client_protocol::v1::schema::ToolCallId::new(call));
    CreateElicitationRequest::new(ElicitationFormMode::new(scope, schema), title)
}

#[cfg(test)]
mod tests;
