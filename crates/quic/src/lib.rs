//! QUIC without I/O. The inputs are datagrams and the time. The outputs are datagrams and timeouts.
//!
//! A [`Connection`] is one end. Its driver passes datagrams and the time to the connection. After
//! every call that changes the connection, the driver polls [`Connection::poll_transmit`] and
//! [`Connection::poll_event`] until they return `None`, and schedules
//! [`Connection::handle_timeout`] for [`Connection::poll_timeout`].
//!
//! | Module | Holds | RFC |
//! |---|---|---|
//! | `recovery`, `rtt` | lost packets, the probe timeout, persistent congestion | 9002 §5, §6 |
//! | `congestion`, `pacer` | the window, which a controller of `aqmlab_tcp` sets; pacing | 9002 §7 |
//! | `acks`, `ranges` | acknowledgements to send | 9000 §13.2 |
//! | `streams` | streams | 9000 §2 |
//! | `handshake` | TLS messages, keys, validation of the address | 9000 §7, §8; 9001 |
//! | `input`, `output`, `wire` | datagrams in and out, their lengths | 9000 §12 to §19 |
//!
//! Migration, key updates, version negotiation, Retry, stateless resets and the search for the
//! path's MTU are not modelled.

mod acks;
mod config;
mod congestion;
mod connection;
mod handshake;
mod input;
mod output;
mod pacer;
mod ranges;
mod recovery;
mod rtt;
mod streams;
mod wire;

pub use config::{Config, HEADERS, MIN_INITIAL};
pub use connection::{Connection, Event, Stats, Transmit};
pub use recovery::RecoveryStats;
