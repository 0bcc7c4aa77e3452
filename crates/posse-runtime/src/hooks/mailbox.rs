//! What handlers in the background have said, until somebody reads it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::HookMail;

/// Mail of one run. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Mailbox(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    waiting: Mutex<Vec<HookMail>>,
    arrived: Notify,
}

impl Mailbox {
    /// Where mail is put in.
    pub fn slot(&self) -> impl Fn(HookMail) + Send + Sync + use<> {
        let mailbox = self.clone();
        move |mail| {
            mailbox.lock().push(mail);
            mailbox.0.arrived.notify_one();
        }
    }

    /// Everything that waits, oldest first.
    pub fn take(&self) -> Vec<HookMail> {
        std::mem::take(&mut *self.lock())
    }

    /// Whether something waits that cannot wait.
    pub fn wakes(&self) -> bool {
        self.lock().iter().any(|mail| mail.wakes)
    }

    /// Waits for something that cannot wait.
    pub async fn woken(&self) {
        while !self.wakes() {
            self.0.arrived.notified().await;
        }
    }

    /// Waits for something that cannot wait: all that waits, as the model is told it.
    pub async fn urgent(&self) -> String {
        self.woken().await;
        let texts: Vec<String> = self.take().into_iter().map(|mail| mail.text).collect();
        format!("<system-reminder>\n{}\n</system-reminder>", texts.join("\n"))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<HookMail>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
