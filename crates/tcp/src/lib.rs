//! TCP without I/O.

pub mod cc;
