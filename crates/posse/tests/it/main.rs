//! The one end-to-end binary.
