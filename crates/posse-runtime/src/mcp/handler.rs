//! Our side of a connection: what a server may ask of us and tell us. It may ask a person, and for the folders of the
//! session; it may not use the model. What it logs is not kept.

// Folders and requests to the model leave the protocol one day; servers of today still ask for them.
#![allow(deprecated)]

use std::path::Path;
use std::sync::Arc;

use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ElicitationCapability, FormElicitationCapability, Implementation, ListRootsResult,
    ProgressNotificationParam, Root, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use rmcp::{ClientHandler, ErrorData};
use tokio::sync::{broadcast, mpsc};

use super::elicit::{self, Person};

/// Progress of any call on a connection; who waits for which is told by the token.
pub(super) type ProgressNote = Arc<ProgressNotificationParam>;

/// What answers a server.
#[derive(Clone)]
pub(super) struct Handler {
    pub(super) server: Box<str>,
    pub(super) person: Person,
    pub(super) roots: Arc<[Box<Path>]>,
    pub(super) progress: broadcast::Sender<ProgressNote>,
    /// Holds one place: a server that says a thousand times that its list changed has said it once.
    pub(super) changed: mpsc::Sender<()>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(rmcp::model::RootsCapabilities::default());
        capabilities.elicitation = Some(
            ElicitationCapability::new()
                .with_form(FormElicitationCapability::default())
                .with_url(UrlElicitationCapability::default()),
        );
        ClientConfig::new(capabilities, Implementation::new("posse", env!("CARGO_PKG_VERSION")))
    }

    async fn create_message(
        &self,
        _params: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        Err(ErrorData::invalid_request("servers may not use the model of this session", None))
    }

    async fn list_roots(&self, _context: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(roots(&self.roots))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        tokio::select! {
            answer = elicit::ask(&self.server, request, &self.person) => Ok(answer),
            // The server does not want to know any more.
            () = context.ct.cancelled() => Ok(ElicitResult::new(rmcp::model::ElicitationAction::Cancel)),
        }
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        // Nobody may be waiting; that is no error.
        let _ = self.progress.send(Arc::new(params));
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        let _ = self.changed.try_send(());
    }
}

/// The folders of the session, as the protocol writes them.
pub(super) fn roots(folders: &[Box<Path>]) -> ListRootsResult {
    let root = |path: &Path| url::Url::from_file_path(path).ok().map(|url| Root::new(url.to_string()));
    ListRootsResult::new(folders.iter().filter_map(|path| root(path)).collect())
}
