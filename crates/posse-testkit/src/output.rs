//! What a program left behind.

/// Exit code and both streams, with paths normalised.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "an output nobody looks at proves nothing"]
pub struct Output {
    /// Exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Output {
    /// Standard output of a run that must have succeeded without a word on standard error.
    pub fn success(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        assert_eq!(self.stderr, "", "{self:?}");
        self.stdout
    }

    /// Standard output of a run that must have ended with this code.
    pub fn fails_with(self, code: i32) -> (String, String) {
        assert_eq!(self.code, Some(code), "{self:?}");
        (self.stdout, self.stderr)
    }
}
