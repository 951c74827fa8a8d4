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

#![allow(clippy::unused_self, reason = "each stack answers every call, with its state or without")]
#![allow(clippy::struct_excessive_bools, reason = "the state of a protocol is full of switches")]

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
mod timers;

pub use config::Config;
pub use connection::{Connection, Event};
pub use metrics::{Metrics, Stats};
pub use profile::{DelayedAckRule, Profile, RtoRule, Stack};
pub use segment::Segment;
