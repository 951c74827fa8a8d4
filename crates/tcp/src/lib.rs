//! TCP without I/O. The inputs are segments and the time; the outputs are segments and timeouts.
//!
//! A [`Connection`] is one endpoint. Its driver (the simulator, a test) passes segments and the
//! time to it. After every call that changes the connection, the driver polls
//! [`Connection::poll_transmit`] and [`Connection::poll_event`] until they return `None`, and
//! schedules [`Connection::handle_timeout`] for the time that [`Connection::poll_timeout`] returns.
//!
//! A [`Profile`] describes a host as data, and names its stack. There are two stacks: Linux's
//! (`linux`) and FreeBSD 10's (`freebsd`). A connection consists of a control block, which is the
//! same for both stacks (`tcb`), the state of its stack (`stack`), and the state of its handshake.
//! The table lists the main modules by subject:
//!
//! | Subject | Linux | FreeBSD | both |
//! |---|---|---|---|
//! | segments in | `linux/input`, `data_queue`, `ooo_queue` | `freebsd/input`, `reass` | `receive_sequence`, `receive_queue` |
//! | acknowledgements in | `linux/ack`, `rtx_queue`, `sack` | `freebsd/ack`, `dupack`, `sackholes` | `scoreboard`, `delivery_rate` |
//! | losses | `linux/rack`, `loss`, `recovery`, `reordering`, `prr` | `freebsd/dupack`, `recovery` | |
//! | spurious timeouts and reductions | `linux/undo`, `loss` (F-RTO) | `freebsd/ack`, `timer` | |
//! | ECN | `linux/ecn`, `recovery` | `freebsd/input`, `ack` | `ecn` |
//! | timers | `linux/rto`, `rtt`, `tlp`, `zero_window` | `freebsd/timer`, `rtt` | `timers`, `clock`, `rtt` |
//! | segments out | `linux/output`, `tso`, `tsq`, `retransmit` | `freebsd/output`, `plain_output` | `segment`, `pacer` |
//! | pacing | `linux/pacing_rate`, `linux/tsq` | `freebsd/output` | `pacer`; `cc` sets the rate |
//! | send buffer | `linux/sndbuf`, `sendmsg` | `freebsd/sockbuf` | `send_sequence`, `writer` |
//! | windows | `linux/cwnd`, `rcv_window`, `rcv_autotune` | `freebsd/rcvbuf` | `cc` |
//! | acknowledgements out | `linux/delack` | `freebsd/input` | `sack_report` |
//! | opening and closing | `linux/handshake` | `freebsd/handshake` | `handshake`, `close` |
//!
//! **Invariant:** a connection reads no clock and allocates nothing in steady state. It draws
//! random numbers only for BBR, from the controller's seed.

#![allow(clippy::unused_self, reason = "each stack answers every call, with its state or without")]
#![allow(clippy::struct_excessive_bools, reason = "the state of a protocol has many flags")]

pub mod cc;
mod common;
mod config;
mod connection;
mod freebsd;
mod linux;
mod metrics;
mod negotiated;
mod profile;
mod segment;
mod stack;
mod state;
mod tcb;
#[cfg(test)]
mod testing;
mod timers;

pub use common::delivery_rate::{DeliveryRate, PendingSample};
pub use common::scoreboard::Sent;
pub use config::Config;
pub use connection::{Connection, Event};
pub use linux::queued_memory;
pub use metrics::{Metrics, SenderState, Stats};
pub use profile::{DelayedAckRule, Profile, RtoRule, Stack};
pub use segment::Segment;
