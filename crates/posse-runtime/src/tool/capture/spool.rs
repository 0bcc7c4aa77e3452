//! A file that output goes to while it comes.

use std::path::{Path, PathBuf};

use tokio::fs::File;
use tokio::io::AsyncWriteExt;

/// More than anybody reads, less than a disk notices.
pub(crate) const LARGEST: u64 = 64 * 1024 * 1024;

/// A file that grows until it is full. What goes wrong with it is told to whoever would read it, and costs nothing
/// else: the program whose output it is goes on.
#[derive(Debug)]
pub(crate) struct Spool {
    path: PathBuf,
    file: Option<File>,
    written: u64,
    largest: u64,
    /// Why it does not hold everything.
    missing: Option<String>,
}

impl Spool {
    /// The file is created when there is something to write.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, file: None, written: 0, largest: LARGEST, missing: None }
    }

    /// With another size; tests do not write 64 MB.
    #[cfg(test)]
    pub(crate) fn with_largest(mut self, largest: u64) -> Self {
        self.largest = largest;
        self
    }

    /// Creates the file, with the folders above it, for this user alone.
    pub(crate) async fn open(&mut self) -> std::io::Result<()> {
        if self.file.is_none() {
            if let Some(folder) = self.path.parent() {
                tokio::fs::create_dir_all(folder).await?;
            }
            let mut options = File::options();
            options.create(true).append(true);
            #[cfg(unix)]
            options.mode(0o600);
            self.file = Some(options.open(&self.path).await?);
        }
        Ok(())
    }

    /// Adds bytes, if there is room.
    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        if self.missing.is_some() {
            return;
        }
        let room = usize::try_from(self.largest - self.written).unwrap_or(usize::MAX);
        let fits = &bytes[..room.min(bytes.len())];
        let mut result = self.put(fits).await;
        if result.is_ok() && fits.len() < bytes.len() {
            let full = format!("it ends after {} bytes", self.largest);
            result = self.put(format!("\n[{full}; what follows was not kept]\n").as_bytes()).await;
            self.missing = Some(full);
        }
        match result {
            Ok(()) => self.written += fits.len() as u64,
            Err(error) => self.missing = Some(error.to_string()),
        }
    }

    async fn put(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.open().await?;
        match &mut self.file {
            Some(file) => file.write_all(bytes).await,
            None => Ok(()),
        }
    }

    /// Waits until what was written can be read.
    pub(crate) async fn flush(&mut self) {
        if let Some(file) = &mut self.file
            && let Err(error) = file.flush().await
        {
            self.missing.get_or_insert(error.to_string());
        }
    }

    /// The file, if it holds everything.
    pub(crate) fn complete(&self) -> Option<&Path> {
        (self.file.is_some() && self.missing.is_none()).then_some(&self.path)
    }

    /// Where to find what was written, in words.
    pub(crate) fn whereabouts(&self) -> String {
        let path = self.path.display();
        match (&self.missing, self.written) {
            (None, _) => format!("the whole output is in {path}"),
            (Some(why), 1..) => format!("{path} has more of it ({why})"),
            (Some(why), 0) => format!("it could not be kept in {path}: {why}"),
        }
    }
}
