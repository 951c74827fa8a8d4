//! The sizes of the messages of a TLS handshake over TCP. They are typical values, not taken from a
//! source.

/// The size of the client's first TLS message over TCP in bytes.
pub(crate) const HELLO: u64 = 517;
/// The size of the server's first TLS messages over TCP in bytes, from its hello on.
pub(crate) const CERTIFICATES: u64 = 3_500;
/// The size in bytes of the client's TLS messages in each further round trip of the handshake,
/// which TLS 1.3 does not have.
pub(crate) const FINISH: u64 = 130;
/// The size in bytes of the server's TLS messages in each further round trip of the handshake,
/// which TLS 1.3 does not have.
pub(crate) const FINISHED: u64 = 60;
