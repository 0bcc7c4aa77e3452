//! A model that wants to overspend: it uses every token it may, miscounts, starts as many agents as it can, fails, says
//! nothing, never ends by itself and bills what it was cut off in. It keeps books of its own.
//!
//! What it bills is what a provider could bill: no more tokens read than there are bytes, none written beyond the limit
//! of the request. What it reports is that, or more, or nothing at all.

use std::collections::HashMap;

use posse_testkit::server::Fault;

use super::super::*;

/// What may be used up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits {
    pub(super) tokens: Option<u64>,
    pub(super) microdollars: Option<u64>,
    pub(super) descendants: Option<u64>,
    pub(super) turns: Option<u64>,
}

/// A kind of agent.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    pub(super) name: String,
    pub(super) model: &'static str,
    pub(super) background: bool,
    pub(super) limits: Limits,
}

/// Numbers that a seed decides (SplitMix64).
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_F491_4F6C_DD1D) ^ 0xA076_1D64_78BD_642F)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    pub(super) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    /// A number of a range, one time in so many.
    pub(super) fn maybe(&mut self, one_in: u64, from: u64, to: u64) -> Option<u64> {
        self.one_in(one_in).then(|| from + self.below(to - from + 1))
    }
}

/// One agent, in the adversary's books.
#[derive(Debug, Default)]
struct Node {
    /// Everybody above, the root first.
    above: Vec<String>,
    limits: Limits,
    tokens: u64,
    nanodollars: u64,
    descendants: u64,
    children: u64,
    /// Answers of the model before its own conversation began.
    inherited: u64,
    /// The words that reached it, or were sent to it at least, each with how many answers there were before.
    said: Vec<(usize, String)>,
    /// Whether its last request was without tools, and whether its answer broke off.
    last_off: bool,
    last_broke: bool,
    /// Whether an answer to it ever came to its end.
    heard: bool,
    /// Whether one was reported as more than it may have been, here or below.
    overbilled: bool,
}

impl Node {
    /// What may be the last it said. The last answer may have broken off, or come too late: then it is the one before it.
    fn may_leave(&self) -> Vec<&str> {
        let at = |step: usize| {
            self.said.iter().filter(move |(at, _)| *at == step).map(|(_, words)| words.as_str())
        };
        let Some((step, _)) = self.said.last() else { return vec![""] };
        let before = self.said.iter().rev().map(|(at, _)| *at).find(|at| at < step);
        let mut texts: Vec<&str> = at(*step).collect();
        match before {
            Some(before) => texts.extend(at(before)),
            None => texts.push(""),
        }
        texts
    }
}

/// The model.
pub(super) struct Adversary {
    chance: Chance,
    kinds: Vec<Kind>,
    nodes: HashMap<String, Node>,
    /// Agents by their ids.
    paths: HashMap<String, String>,
    /// Agents by the calls that started them.
    calls: HashMap<String, String>,
    pub(super) wrong: Vec<String>,
}

const ROOT: &str = "0";

impl Adversary {
    pub(super) fn new(seed: u64, root: Limits, kinds: Vec<Kind>) -> Self {
        let node = Node { limits: root, ..Node::default() };
        Self {
            chance: Chance::new(seed ^ 0xFEED),
            kinds,
            nodes: HashMap::from([(ROOT.to_owned(), node)]),
            paths: HashMap::from([(String::new(), ROOT.to_owned())]),
            calls: HashMap::new(),
            wrong: Vec::new(),
        }
    }

    pub(super) fn answer(&mut self, request: &Recorded) -> Answer {
        let path = self.whose(request);
        self.check_reports(request, &path);
        self.check_turns(request, &path);
        let off = request.body["tool_choice"]["type"] == "none";
        let node = self.nodes.entry(path.clone()).or_default();
        (node.last_off, node.last_broke) = (off, false);
        if self.chance.one_in(25) {
            node.last_broke = true;
            let (status, kind) = [(529, "overloaded_error"), (500, "api_error"), (429, "rate_limit_error")]
                [self.chance.below(3) as usize];
            return Answer::error(status, kind, "not now").header("retry-after", "0");
        }
        self.bill_and_say(request, &path, off)
    }

    /// Who asks; whoever is new is written down.
    fn whose(&mut self, request: &Recorded) -> String {
        let id = agent(request).unwrap_or_default();
        if let Some(path) = self.paths.get(id) {
            return path.clone();
        }
        let said = last(request);
        let tag = said.rfind("[[").map(|at| &said[at + 2..]).and_then(|rest| rest.split_once("]]"));
        let (path, kind) = tag.and_then(|(tag, _)| tag.split_once(':')).unwrap_or(("?", "?"));
        let limits = self.kinds.iter().find(|known| known.name == kind).map(|kind| kind.limits);
        let parent = path.rsplit_once('.').map_or(ROOT, |(parent, _)| parent);
        let mut above = self.nodes.get(parent).map(|node| node.above.clone()).unwrap_or_default();
        above.push(parent.to_owned());
        for path in &above {
            let Some(node) = self.nodes.get_mut(path) else { continue };
            node.descendants += 1;
            if node.limits.descendants.is_some_and(|limit| node.descendants > limit) {
                self.wrong.push(format!("{path} has {} descendants", node.descendants));
            }
        }
        let inherited = if kind == "fork" { steps(request) as u64 } else { 0 };
        let node = Node { above, limits: limits.unwrap_or_default(), inherited, ..Node::default() };
        self.nodes.insert(path.to_owned(), node);
        self.paths.insert(id.to_owned(), path.to_owned());
        path.to_owned()
    }

    fn check_turns(&mut self, request: &Recorded, path: &str) {
        let node = &self.nodes[path];
        // The main agent's limit is for each turn, and others of its turns are what it hears of its agents.
        let asked = (steps(request) as u64).saturating_sub(node.inherited);
        if path != ROOT && node.limits.turns.is_some_and(|limit| asked >= limit) {
            self.wrong.push(format!("{path} asks for the {}th time", asked + 1));
        }
    }

    /// Whoever was cut off must have handed back the last it said.
    fn check_reports(&mut self, request: &Recorded, path: &str) {
        let message = list(&request.body["messages"]).last().cloned().unwrap_or_default();
        for block in list(&message["content"]) {
            let call = block["tool_use_id"].as_str().unwrap_or_default();
            let told = words(&json!({ "content": [block] }));
            let Some(child) = self.calls.get(call).and_then(|child| self.nodes.get(child)) else { continue };
            let is_told = |words: &&str| {
                if words.is_empty() { told.contains("wrote no report") } else { told.contains(*words) }
            };
            if told.contains("PARTIAL") && !child.may_leave().iter().any(is_told) {
                self.wrong.push(format!("{path} is not told {:?}: {told}", child.said));
            }
            if told.contains("used up") && child.heard {
                self.wrong.push(format!("{path} gets an error for a limit: {told}"));
            }
        }
    }

    /// Called at the end: what the main agent leaves, and whether it ran out of something.
    pub(super) fn check_main(&mut self, out: bool, words: &str) {
        let root = &self.nodes[ROOT];
        if out && !root.may_leave().contains(&words) {
            self.wrong.push(format!("the main agent leaves {words:?} of {:?}", root.said));
        }
        if out && root.heard && !root.overbilled && !root.last_off && !root.last_broke {
            self.wrong.push("the main agent ran out without a last word".into());
        }
    }

    fn bill_and_say(&mut self, request: &Recorded, path: &str, off: bool) -> Answer {
        let most = request.body["max_tokens"].as_u64().unwrap_or_default();
        let (mut reply, bytes, words) = self.reply(path, off);
        // Everything it may, or as little as it said.
        let output = if self.chance.one_in(3) { bytes.min(most) } else { most };
        let input = bytes_of(&request.body["system"])
            + bytes_of(&request.body["messages"])
            + tools(&request.body["tools"]);
        let parts = self.split(input);
        let model = request.body["model"].as_str().unwrap_or_default().to_owned();
        self.bill(path, input + output, cost(&model, parts, output));
        reply = reply.model(&model);
        let lie = self.chance.below(12);
        let (parts, output) = match lie {
            0 => ([0, 0, 0], 0),
            1 => ([parts[0], parts[1], parts[2]], 0),
            2 => (parts.map(|part| part * 3), output * 3),
            _ => (parts, output),
        };
        let answer = reply.usage(parts[0], output).cache(parts[1], parts[2]).answer();
        let length = answer.bytes().len() as u64;
        let fault = self.chance.below(40);
        let at = usize::try_from(self.chance.below(length)).unwrap_or_default();
        if lie == 2 {
            self.overbilled(path);
        }
        let node = self.nodes.entry(path.to_owned()).or_default();
        (node.last_broke, node.heard) = (fault < 4, node.heard || fault >= 4);
        if !words.is_empty() {
            node.said.push((steps(request), words));
        }
        match fault {
            0 => answer.failing(Fault::Reset(at)),
            1 => answer.failing(Fault::Finish(at)),
            2 => answer.failing(Fault::Stall(at)),
            // The client has hung up by then.
            3 => answer.after(std::time::Duration::from_millis(1_800)),
            _ => answer,
        }
    }

    /// What it says: the reply, how many bytes of it a conversation keeps, and its words.
    fn reply(&mut self, path: &str, off: bool) -> (MessagesReply, u64, String) {
        let said = format!("word {} of {path}", self.chance.below(1_000_000));
        let plain = MessagesReply::new().text(&said);
        let move_ = self.chance.below(20);
        match (off, move_) {
            // Nothing, or half of something.
            (_, 0) => (MessagesReply::new(), 1, String::new()),
            (_, 1) => (plain.stop("max_tokens"), 64, said),
            (_, 2) if !off => (plain.stop("refusal"), 64, said),
            // It is told that there are no tools.
            (true, 3) => (plain.tool("late", "Read", &json!({ "file_path": "a" })), 128, said),
            (true, _) | (false, 2..=4) => (plain, 64, said),
            (false, 5..=8) => {
                let id = format!("r{}", self.chance.next());
                (plain.tool(&id, "Read", &json!({ "file_path": "none.txt" })), 256, said)
            }
            (false, _) => {
                let mut reply = plain;
                let count = 1 + self.chance.below(4);
                for _ in 0..count {
                    let (id, input) = self.start_of(path);
                    reply = reply.tool(&id, "Agent", &input);
                }
                (reply, 64 + count * 384, said)
            }
        }
    }

    /// A call that starts an agent.
    fn start_of(&mut self, path: &str) -> (String, Value) {
        let id = format!("c{}", self.chance.next());
        let node = self.nodes.entry(path.to_owned()).or_default();
        node.children += 1;
        let child = format!("{path}.{}", node.children);
        let kind = match self.chance.below(10) {
            0..=1 => "fork".to_owned(),
            2 => "nobody".to_owned(),
            _ => self.kinds[self.chance.below(self.kinds.len() as u64) as usize].name.clone(),
        };
        let mut input = json!({
            "description": "part", "prompt": format!("Do it. [[{child}:{kind}]]"), "subagent_type": kind,
        });
        if self.chance.one_in(3) {
            input["run_in_background"] = json!(self.chance.one_in(2));
        }
        self.calls.insert(id.clone(), child);
        (id, input)
    }

    /// Read fresh, read from the cache, written to it.
    fn split(&mut self, input: u64) -> [u64; 3] {
        let written = if self.chance.one_in(2) { input } else { self.chance.below(input + 1) };
        let read = self.chance.below(input - written + 1);
        [input - written - read, read, written]
    }

    /// What a provider takes beyond what it may is taken from everybody above, too.
    fn overbilled(&mut self, path: &str) {
        let above = self.nodes[path].above.clone();
        for path in above.iter().map(String::as_str).chain([path]) {
            if let Some(node) = self.nodes.get_mut(path) {
                node.overbilled = true;
            }
        }
    }

    fn bill(&mut self, path: &str, tokens: u64, nanodollars: u64) {
        let mut payers = self.nodes[path].above.clone();
        payers.push(path.to_owned());
        for payer in payers {
            let Some(node) = self.nodes.get_mut(&payer) else { continue };
            node.tokens += tokens;
            node.nanodollars += nanodollars;
            if node.limits.tokens.is_some_and(|limit| node.tokens > limit)
                || node.limits.microdollars.is_some_and(|limit| node.nanodollars > limit * 1_000)
            {
                self.wrong.push(format!(
                    "{payer} has spent {} tokens, {} n$ by {path}",
                    node.tokens, node.nanodollars
                ));
            }
        }
    }
}

/// Nanodollars by the published prices: a dollar for a million tokens is a thousand for one.
fn cost(model: &str, [fresh, read, written]: [u64; 3], output: u64) -> u64 {
    let (input, answer) = match model {
        model if model.contains("haiku") => (1_000, 5_000),
        model if model.contains("opus") => (5_000, 25_000),
        _ => (3_000, 15_000),
    };
    fresh * input + read * input / 10 + written * input * 5 / 4 + output * answer
}

/// The bytes of everything a value says: no text has more tokens.
fn bytes_of(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64,
        Value::Array(items) => items.iter().map(bytes_of).sum(),
        Value::Object(fields) => {
            let told =
                fields.iter().filter(|(name, _)| !["type", "role", "cache_control"].contains(&name.as_str()));
            told.map(|(_, value)| bytes_of(value)).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

fn tools(tools: &Value) -> u64 {
    let bytes = |tool: &Value| {
        let text = |key: &str| tool[key].as_str().map_or(0, str::len);
        text("name") + text("description") + tool["input_schema"].to_string().len()
    };
    list(tools).iter().map(|tool| bytes(tool) as u64).sum()
}
