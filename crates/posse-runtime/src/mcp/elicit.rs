//! Questions of a server to the person: from its schema to questions on the desk, and from the answers back to what the
//! schema asks for. Where nobody can be asked, the answer is no. A host that takes such questions gets them as they are.

use std::sync::Arc;

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value, json};

use super::HostServers;
use super::connect::Surroundings;
use crate::ask::{Answers, Choice, Desk, Question, QuestionAnswer, QuestionAsk};

/// More fields than anybody answers in a terminal.
const FIELDS: usize = 20;

/// Who answers a server: a person at the desk, or whoever uses the host.
#[derive(Clone)]
pub(super) struct Person {
    pub(super) desk: Desk,
    pub(super) host: Option<Arc<dyn HostServers>>,
}

impl Person {
    pub(super) fn of(around: &Surroundings) -> Self {
        Self { desk: around.desk.clone(), host: around.host.clone() }
    }
}

fn decline() -> ElicitResult {
    ElicitResult::new(ElicitationAction::Decline)
}

/// What a host is asked, in its words; nothing if nobody knows such a question.
fn for_host(server: &str, request: &ElicitRequestParams) -> Option<Value> {
    let question = json!({ "subtype": "elicitation", "mcp_server_name": server });
    let more = match request {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            let schema = serde_json::to_value(requested_schema).unwrap_or_default();
            let names: Option<Vec<&String>> =
                schema.get("properties").and_then(Value::as_object).map(|names| names.keys().collect());
            let mut more = json!({ "message": message, "mode": "form" });
            more["property_order"] = json!(names);
            more["requested_schema"] = schema;
            more
        }
        ElicitRequestParams::UrlElicitationParams { message, url, elicitation_id, .. } => {
            json!({ "message": message, "mode": "url", "url": url, "elicitation_id": elicitation_id })
        }
        _ => return None,
    };
    let fields = [question, more].into_iter().filter_map(|part| match part {
        Value::Object(fields) => Some(fields),
        _ => None,
    });
    Some(Value::Object(fields.flatten().filter(|(_, value)| !value.is_null()).collect()))
}

/// What a host answered; what nobody understands is a no.
fn of_host(answer: &Value) -> ElicitResult {
    match answer.get("action").and_then(Value::as_str) {
        Some("accept") => {
            let accepted = ElicitResult::new(ElicitationAction::Accept);
            match answer.get("content").filter(|content| content.is_object()) {
                Some(content) => accepted.with_content(content.clone()),
                None => accepted,
            }
        }
        Some("cancel") => ElicitResult::new(ElicitationAction::Cancel),
        Some(_) | None => decline(),
    }
}

/// Asks what a server wants to know.
pub(super) async fn ask(server: &str, request: ElicitRequestParams, person: &Person) -> ElicitResult {
    let Some(host) = &person.host else { return at_desk(server, request, &person.desk).await };
    let asking = for_host(server, &request).and_then(|question| host.elicit(question));
    match asking {
        Some(asking) => asking.await.map_or_else(|_| decline(), |answer| of_host(&answer)),
        None => decline(),
    }
}

/// Asks the person at the desk.
async fn at_desk(server: &str, request: ElicitRequestParams, desk: &Desk) -> ElicitResult {
    if !desk.is_staffed() {
        return decline();
    }
    let (form, questions) = match request {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            let schema = serde_json::to_value(&requested_schema).unwrap_or_default();
            let form = Form::read(&schema);
            if form.fields.len() > FIELDS {
                return decline();
            }
            let questions = form.questions(server, &message);
            (Some(form), questions)
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            let text = format!("{server}: {message}\nOpen {url} and come back. Is it done?");
            (None, vec![yes_or_no(text)])
        }
        _ => return decline(),
    };
    let asked = QuestionAsk { questions: questions.clone(), call: Box::default() };
    match desk.question(asked).await {
        QuestionAnswer::Answered(answers) => match form {
            Some(form) => form.result(&questions, &answers),
            None if answers.values().any(|answer| answer == YES) => {
                ElicitResult::new(ElicitationAction::Accept)
            }
            None => decline(),
        },
        QuestionAnswer::Declined(_) | QuestionAnswer::Nobody => decline(),
    }
}

const YES: &str = "Yes";

fn yes_or_no(question: String) -> Question {
    let choice = |label: &str| Choice { label: label.into(), description: String::new() };
    Question {
        question,
        header: "Server".into(),
        options: vec![choice(YES), choice("No")],
        multi_select: false,
    }
}

/// What a server wants filled in.
struct Form {
    fields: Vec<Field>,
}

struct Field {
    name: String,
    title: String,
    description: String,
    kind: Kind,
    default: Option<Value>,
    required: bool,
}

enum Kind {
    Text,
    Number {
        whole: bool,
    },
    Switch,
    /// Values, each with how it is shown.
    One(Vec<(String, String)>),
    Many(Vec<(String, String)>),
}

impl Form {
    fn read(schema: &Value) -> Self {
        let required = |name: &str| {
            schema["required"].as_array().is_some_and(|list| list.iter().any(|item| item == name))
        };
        let properties = schema["properties"].as_object().cloned().unwrap_or_default();
        let fields = properties
            .into_iter()
            .map(|(name, field)| Field {
                title: field["title"].as_str().unwrap_or(&name).to_owned(),
                description: field["description"].as_str().unwrap_or_default().to_owned(),
                kind: Kind::read(&field),
                default: field.get("default").cloned(),
                required: required(&name),
                name,
            })
            .collect();
        Self { fields }
    }

    /// One question per field; a form without fields asks for a yes.
    fn questions(&self, server: &str, message: &str) -> Vec<Question> {
        if self.fields.is_empty() {
            return vec![yes_or_no(format!("{server}: {message}"))];
        }
        let lead = format!("{server}: {message}\n");
        let question = |(place, field): (usize, &Field)| {
            let lead = if place == 0 { lead.as_str() } else { "" };
            field.question(lead)
        };
        self.fields.iter().enumerate().map(question).collect()
    }

    /// What the answers to these questions, its own, come to.
    fn result(&self, questions: &[Question], answers: &Answers) -> ElicitResult {
        let decline = ElicitResult::new(ElicitationAction::Decline);
        if self.fields.is_empty() {
            let yes = answers.values().any(|answer| answer == YES);
            let content = Value::Object(Map::new());
            return if yes {
                ElicitResult::new(ElicitationAction::Accept).with_content(content)
            } else {
                decline
            };
        }
        let mut content = Map::new();
        for (field, question) in self.fields.iter().zip(questions) {
            let answer = answers.get(&question.question);
            let given = answer.map(|answer| answer.trim()).filter(|answer| !answer.is_empty());
            let skipped = given.is_none_or(|answer| answer == SKIP);
            let value =
                if skipped { field.default.clone() } else { given.and_then(|text| field.value(text)) };
            match value {
                Some(value) => drop(content.insert(field.name.clone(), value)),
                // Something that is needed was not said, or cannot be read as what is wanted.
                None if field.required || !skipped => return decline,
                None => {}
            }
        }
        ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content))
    }
}

const SKIP: &str = "Leave it";

impl Field {
    fn question(&self, lead: &str) -> Question {
        let choice =
            |label: &str, description: &str| Choice { label: label.into(), description: description.into() };
        let mut options = match &self.kind {
            Kind::Switch => vec![choice(YES, ""), choice("No", "")],
            Kind::One(values) | Kind::Many(values) => {
                values.iter().map(|(_, shown)| choice(shown, "")).collect()
            }
            Kind::Text | Kind::Number { .. } => Vec::new(),
        };
        if let Some(default) = self.default.as_ref().map(plain)
            && options.is_empty()
        {
            options.push(choice(&default, "What the server suggests"));
        }
        if !self.required || options.is_empty() {
            options.push(choice(SKIP, "Say nothing"));
        }
        let description =
            if self.description.is_empty() { String::new() } else { format!("{}\n", self.description) };
        let optional = if self.required { "" } else { " (optional)" };
        Question {
            // The name tells fields of one title apart: answers are found again by the text of their question.
            question: format!("{lead}{description}{} [{}]{optional}?", self.title, self.name),
            header: self.title.chars().take(12).collect(),
            options,
            multi_select: matches!(self.kind, Kind::Many(_)),
        }
    }

    /// The answer as the schema wants it.
    fn value(&self, answer: &str) -> Option<Value> {
        let chosen = |values: &[(String, String)], answer: &str| {
            let found = values.iter().find(|(value, shown)| shown == answer || value == answer);
            found.map(|(value, _)| Value::String(value.clone()))
        };
        match &self.kind {
            Kind::Text => Some(answer.into()),
            Kind::Number { whole: true } => answer.parse::<i64>().ok().map(Value::from),
            Kind::Number { whole: false } => answer.parse::<f64>().ok().map(|number| json!(number)),
            Kind::Switch => match answer.to_ascii_lowercase().as_str() {
                "yes" | "y" | "true" => Some(true.into()),
                "no" | "n" | "false" => Some(false.into()),
                _ => None,
            },
            Kind::One(values) => chosen(values, answer),
            Kind::Many(values) => {
                let each = answer.split(',').map(str::trim).filter(|one| !one.is_empty());
                each.map(|one| chosen(values, one)).collect::<Option<Vec<_>>>().map(Value::Array)
            }
        }
    }
}

impl Kind {
    fn read(field: &Value) -> Self {
        let named = |values: &Value, names: &Value| -> Option<Vec<(String, String)>> {
            let values: Vec<String> = values.as_array()?.iter().map(plain).collect();
            let name = |place: usize, value: &str| names[place].as_str().unwrap_or(value).to_owned();
            Some(
                values.into_iter().enumerate().map(|(at, value)| (value.clone(), name(at, &value))).collect(),
            )
        };
        let titled = |values: &Value| -> Option<Vec<(String, String)>> {
            let pair = |one: &Value| {
                let value = one["const"].as_str()?.to_owned();
                let shown = one["title"].as_str().map_or_else(|| value.clone(), str::to_owned);
                Some((value, shown))
            };
            values.as_array()?.iter().map(pair).collect()
        };
        if let Some(values) = titled(&field["oneOf"]).or_else(|| named(&field["enum"], &field["enumNames"])) {
            return Self::One(values);
        }
        match field["type"].as_str() {
            Some("boolean") => Self::Switch,
            Some("integer") => Self::Number { whole: true },
            Some("number") => Self::Number { whole: false },
            Some("array") => {
                let items = &field["items"];
                let values = titled(&items["anyOf"]).or_else(|| named(&items["enum"], &Value::Null));
                Self::Many(values.unwrap_or_default())
            }
            _ => Self::Text,
        }
    }
}

/// A value as a person reads it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests;
