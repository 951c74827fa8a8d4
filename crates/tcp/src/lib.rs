//! TCP without I/O: segments and the time in, segments and wishes to be woken out.
//!
//! A [`Connection`] is one endpoint. Whoever drives it (the simulator, a test) hands it
//! segments and the time; it never reads a clock. After every call that changes it, the driver
//! drains [`Connection::poll_transmit`] and [`Connection::poll_event`] until they say `None`
//! and asks [`Connection::poll_timeout`] when to come back.
//!
//! What a host does beyond the RFCs is data: a [`Profile`]. Two senders are modelled, Linux's
//! (`linux`: scoreboard, RACK, TLP, PRR, F-RTO, undo) and FreeBSD 10's (`bsd`: RFC 6675's
//! ancestor with go-back-N after a timeout), and their receivers.
//!
//! **Invariant:** nothing here reads a clock, draws chance or allocates in steady state.

#![allow(clippy::struct_excessive_bools, reason = "the state of a protocol is full of switches")]

mod ack;
mod buffers;
mod burst;
pub mod cc;
mod clock;
mod close;
mod connection;
mod delack;
mod drs;
mod handshake;
mod header;
mod input;
mod metrics;
mod output;
mod profile;
mod rate;
mod reassembly;
mod receive;
mod room;
mod rtt;
mod rwin;
mod scoreboard;
mod send;
mod small_queue;
mod state;
mod timeout;
mod wakeup;

mod bsd;
mod linux;

pub use connection::{Config, Connection, Event, Segment};
pub use metrics::{Metrics, Stats};
pub use profile::{Profile, Stack};
