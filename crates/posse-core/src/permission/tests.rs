//! What the rules decide, in tables.
