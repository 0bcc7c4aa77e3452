//! The Agent Client Protocol, through its official crate. The only room that knows that crate: its majors follow each
//! other fast, and everything else here speaks `words`.
//!
//! The crate is used without features: it brings no runtime of its own then, and its lines are the two threads of
//! `wire`. Handlers only hand on what came, since nothing else is read while one of them works.

mod incoming;
mod outgoing;

use std::io;
use std::path::PathBuf;

use agent_client_protocol::v1::schema::{
    AgentCapabilities, AuthenticateRequest, CancelNotification, CloseSessionRequest, CloseSessionResponse,
    CreateElicitationRequest, Implementation, InitializeRequest, InitializeResponse, ListSessionsRequest,
    ListSessionsResponse, LoadSessionRequest, LoadSessionResponse, McpCapabilities, NewSessionRequest,
    NewSessionResponse, PromptCapabilities, PromptRequest, PromptResponse, RequestPermissionRequest,
    ResumeSessionRequest, ResumeSessionResponse, SessionAdditionalDirectoriesCapabilities,
    SessionCapabilities, SessionCloseCapabilities, SessionInfo, SessionListCapabilities, SessionNotification,
    SessionResumeCapabilities, SetSessionConfigOptionRequest, SetSessionConfigOptionResponse,
    SetSessionModeRequest, SetSessionModeResponse,
};
use agent_client_protocol::{
    Agent, Client, Error, JsonRpcResponse, Lines, on_receive_notification, on_receive_request, schema, v1,
};
use futures_util::future::BoxFuture;
use futures_util::{Sink, Stream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::words::{
    Abilities, Choosing, Chosen, Filled, Form, Listed, ListedPage, Opened, Opening, Piece, Refusal,
    RefusalKind, Setting, Stop, Update,
};

/// What an editor says.
pub(super) enum Incoming {
    /// What it can do.
    Hello(Abilities),
    /// A new session.
    New(Opening, Reply<Opened>),
    /// An old session, with everything that was said in it.
    Load(String, Opening, Reply<Opened>),
    /// An old session; what was said is known.
    Resume(String, Opening, Reply<Opened>),
    /// Which conversations there are: in a folder or in all, and from where on.
    List(Option<PathBuf>, Option<String>, Reply<ListedPage>),
    /// A session is over.
    Close(String, Reply<()>),
    /// A session's turn.
    Prompt(String, Prompt),
    /// Approve actions like this.
    SetMode(String, String, Reply<()>),
    /// Choose this for that setting.
    Set(String, String, String, Reply<Vec<Setting>>),
    /// A session's turn is not wanted any more.
    Cancel(String),
}

/// Something a person says.
pub(super) struct Prompt {
    /// What.
    pub(super) pieces: Vec<Piece>,
    /// Ends when the editor takes the request itself back.
    pub(super) withdrawn: BoxFuture<'static, ()>,
    /// How the turn ended.
    pub(super) reply: Reply<Stop>,
}

/// The way back. Dropping it answers that something went wrong.
pub(super) struct Reply<T>(Box<dyn FnOnce(Result<T, Refusal>) + Send>);

impl<T> Reply<T> {
    /// Answers; if nobody is there any more, nobody hears it.
    pub(super) fn send(self, answer: Result<T, Refusal>) {
        (self.0)(answer);
    }
}

fn reply<T, R: JsonRpcResponse>(
    responder: v1::Responder<R>,
    write: impl FnOnce(T) -> R + Send + 'static,
) -> Reply<T> {
    Reply(Box::new(move |answer| {
        // An editor that is gone is noticed elsewhere.
        let _ = responder.respond_with_result(answer.map(write).map_err(refused));
    }))
}

fn refused(refusal: Refusal) -> Error {
    let Refusal { kind, why } = refusal;
    let mut error = match kind {
        RefusalKind::Params => Error::invalid_params(),
        RefusalKind::NoSession => Error::from(agent_client_protocol::ErrorCode::from(-32002)),
        RefusalKind::Busy => Error::invalid_request(),
        RefusalKind::Auth => Error::auth_required(),
        RefusalKind::Failed => Error::internal_error(),
    };
    error.message = why;
    error
}

/// The editor at the other end. Copies are the same editor.
#[derive(Clone)]
pub(super) struct Editor(v1::ConnectionTo<Client>);

impl Editor {
    /// Tells it something about a session.
    pub(super) fn tell(&self, session: &str, update: Update) {
        let update = outgoing::update(update);
        // An editor that is gone is noticed elsewhere.
        let _ = self.0.send_notification(SessionNotification::new(session.to_owned(), update));
    }

    /// Has a person choose. Dropping the future takes the question back.
    pub(super) async fn choose(&self, session: &str, ask: Choosing) -> Chosen {
        let Choosing { call, options } = ask;
        let options = options.into_iter().map(outgoing::option).collect();
        let request =
            RequestPermissionRequest::new(session.to_owned(), outgoing::changed_call(call), options);
        match self.0.send_request(request).block_task().await {
            Ok(response) => incoming::chosen(response),
            Err(error) => unanswered(&error, Chosen::Cancelled, Chosen::Nobody),
        }
    }

    /// Has a person fill a form. Dropping the future takes it back.
    pub(super) async fn fill(&self, session: &str, form: Form) -> Filled {
        let request: CreateElicitationRequest = outgoing::form(session, form);
        match self.0.send_request(request).block_task().await {
            Ok(response) => incoming::filled(response),
            Err(error) => unanswered(&error, Filled::Cancelled, Filled::Nobody),
        }
    }

    /// Waits until it says nothing more.
    pub(super) async fn gone(&self) {
        self.0.incoming_closed().await;
    }
}

/// A question that was not answered: whoever asked took it back, or nobody can be asked.
fn unanswered<T>(error: &Error, cancelled: T, nobody: T) -> T {
    if error.code == Error::request_cancelled().code { cancelled } else { nobody }
}

/// Speaks the protocol over these lines until `work` is done.
pub(super) async fn serve<R>(
    outgoing: impl Sink<String, Error = io::Error> + Send + 'static,
    incoming: impl Stream<Item = io::Result<String>> + Send + 'static,
    work: impl AsyncFnOnce(Editor, UnboundedReceiver<Incoming>) -> R,
) -> Result<R, String> {
    let (sender, inbox) = unbounded_channel();
    let door = Door(sender);
    // One each, because each handler owns what it uses.
    let [hello, new, load, resume, list, close] = std::array::from_fn(|_| door.clone());
    let [prompt, mode, set, cancel] = std::array::from_fn(|_| door.clone());
    drop(door);
    let agent = Agent
        .v1()
        .name("posse")
        .on_receive_request(
            async move |request, responder, _cx| hello.initialize(&request, responder),
            on_receive_request!(),
        )
        .on_receive_request(
            async move |_: AuthenticateRequest, responder, _cx| {
                responder.respond_with_error(refused(Refusal::new(RefusalKind::Params, NO_LOGIN)))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request, responder, _cx| new.open(request, responder),
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request, responder, _cx| load.load(request, responder),
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request, responder, _cx| resume.resume(request, responder),
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request, responder, _cx| list.list(request, responder),
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request, responder, _cx| close.close(&request, responder),
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request, responder, _cx| prompt.prompt(request, responder),
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request, responder, _cx| mode.set_mode(&request, responder),
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request, responder, _cx| set.set(&request, responder),
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |note: CancelNotification, _cx| {
                cancel.hand_on(Incoming::Cancel(note.session_id.to_string()))
            },
            on_receive_notification!(),
        );
    let lines = Lines::new(outgoing, incoming);
    let served = agent.connect_with(lines, async move |cx| Ok(work(Editor(cx), inbox).await));
    served.await.map_err(|error| error.to_string())
}

const NO_LOGIN: &str = "there is nothing to log in to here: posse takes its key from ANTHROPIC_API_KEY or from apiKeyHelper in settings";

/// Hands on what came.
#[derive(Clone)]
struct Door(UnboundedSender<Incoming>);

/// What handlers answer.
type Handled = Result<(), Error>;

impl Door {
    fn hand_on(&self, incoming: Incoming) -> Handled {
        // Whoever has left takes nothing any more, and everything ends anyway.
        let _ = self.0.send(incoming);
        Ok(())
    }

    fn initialize(
        &self,
        request: &InitializeRequest,
        responder: v1::Responder<InitializeResponse>,
    ) -> Handled {
        self.hand_on(Incoming::Hello(incoming::abilities(&request.client_capabilities)))?;
        let sessions = SessionCapabilities::new()
            .list(SessionListCapabilities::new())
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new())
            .additional_directories(SessionAdditionalDirectoriesCapabilities::new());
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
            .mcp_capabilities(McpCapabilities::new().http(true).sse(true))
            .session_capabilities(sessions);
        // There is one version; an editor that wants another one is told of this.
        responder.respond(
            InitializeResponse::new(schema::ProtocolVersion::V1).agent_capabilities(capabilities).agent_info(
                Implementation::new("posse", env!("CARGO_PKG_VERSION")).title("posse".to_owned()),
            ),
        )
    }

    fn open(&self, request: NewSessionRequest, responder: v1::Responder<NewSessionResponse>) -> Handled {
        let opening = incoming::opening(request.cwd, request.additional_directories, &request.mcp_servers);
        let answer = reply(responder, |opened: Opened| {
            let (modes, options) = (outgoing::modes(&opened.modes), outgoing::settings(opened.settings));
            NewSessionResponse::new(opened.id).modes(modes).config_options(options)
        });
        self.hand_on(Incoming::New(opening, answer))
    }

    fn load(&self, request: LoadSessionRequest, responder: v1::Responder<LoadSessionResponse>) -> Handled {
        let opening = incoming::opening(request.cwd, request.additional_directories, &request.mcp_servers);
        let answer = reply(responder, |opened: Opened| {
            let (modes, options) = (outgoing::modes(&opened.modes), outgoing::settings(opened.settings));
            LoadSessionResponse::new().modes(modes).config_options(options)
        });
        self.hand_on(Incoming::Load(request.session_id.to_string(), opening, answer))
    }

    fn resume(
        &self,
        request: ResumeSessionRequest,
        responder: v1::Responder<ResumeSessionResponse>,
    ) -> Handled {
        let opening = incoming::opening(request.cwd, request.additional_directories, &request.mcp_servers);
        let answer = reply(responder, |opened: Opened| {
            let (modes, options) = (outgoing::modes(&opened.modes), outgoing::settings(opened.settings));
            ResumeSessionResponse::new().modes(modes).config_options(options)
        });
        self.hand_on(Incoming::Resume(request.session_id.to_string(), opening, answer))
    }

    fn list(&self, request: ListSessionsRequest, responder: v1::Responder<ListSessionsResponse>) -> Handled {
        let answer = reply(responder, |page: ListedPage| {
            let listed =
                |one: Listed| SessionInfo::new(one.id, one.cwd).title(one.title).updated_at(one.updated);
            ListSessionsResponse::new(page.sessions.into_iter().map(listed).collect()).next_cursor(page.next)
        });
        self.hand_on(Incoming::List(request.cwd, request.cursor, answer))
    }

    fn close(
        &self,
        request: &CloseSessionRequest,
        responder: v1::Responder<CloseSessionResponse>,
    ) -> Handled {
        let answer = reply(responder, |()| CloseSessionResponse::new());
        self.hand_on(Incoming::Close(request.session_id.to_string(), answer))
    }

    fn prompt(&self, request: PromptRequest, responder: v1::Responder<PromptResponse>) -> Handled {
        let cancellation = responder.cancellation();
        let prompt = Prompt {
            pieces: request.prompt.into_iter().map(incoming::piece).collect(),
            withdrawn: Box::pin(async move { cancellation.cancelled().await }),
            reply: reply(responder, |stop| PromptResponse::new(outgoing::stop(stop))),
        };
        self.hand_on(Incoming::Prompt(request.session_id.to_string(), prompt))
    }

    fn set_mode(
        &self,
        request: &SetSessionModeRequest,
        responder: v1::Responder<SetSessionModeResponse>,
    ) -> Handled {
        let answer = reply(responder, |()| SetSessionModeResponse::new());
        self.hand_on(Incoming::SetMode(request.session_id.to_string(), request.mode_id.to_string(), answer))
    }

    fn set(
        &self,
        request: &SetSessionConfigOptionRequest,
        responder: v1::Responder<SetSessionConfigOptionResponse>,
    ) -> Handled {
        let answer = reply(responder, |all| SetSessionConfigOptionResponse::new(outgoing::settings(all)));
        let (session, setting) = (request.session_id.to_string(), request.config_id.to_string());
        match incoming::value(&request.value) {
            Some(value) => self.hand_on(Incoming::Set(session, setting, value, answer)),
            None => {
                answer.send(Err(Refusal::new(RefusalKind::Params, "there are only settings to choose from")));
                Ok(())
            }
        }
    }
}
