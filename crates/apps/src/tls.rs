//! The sizes of the messages of a TLS handshake over TCP. They are typical values, not taken from a
//! source.

/// The size of the client's first TLS message in bytes.
pub(crate) const HELLO: u64 = 517;
/// The size of the server's first TLS message in bytes.
pub(crate) const CERTIFICATES: u64 = 3_500;
/// The size of a further TLS message of the client in bytes.
pub(crate) const FINISH: u64 = 130;
/// The size of a further TLS message of the server in bytes.
pub(crate) const FINISHED: u64 = 60;
