//! Queue disciplines: who waits, who goes next, who is told to slow down.
//!
//! | Module    | Holds                                                              |
//! |-----------|--------------------------------------------------------------------|
//! | [`queue`] | the FIFO every discipline stores packets in, and its backlog       |
//! | [`flows`] | a queue per flow and the rounds that serve them, shared by `fq_*`  |
//! | [`aqm`]   | control laws, which decide about one queue and own no packets      |
//! | [`kinds`] | the disciplines, one file each, and the list that registers them   |
//!
//! **Invariant:** nothing in this crate knows whether time is simulated, or whether a packet
//! has bytes.

pub mod aqm;
mod bounds;
pub mod flows;
pub mod kinds;
pub mod queue;

use aqmlab_core::{Cx, Packet};

pub use queue::{Backlog, PacketQueue};

/// A queue discipline.
///
/// # Contract
///
/// - *Conservation*: every packet offered is, in the end, returned by `dequeue`, dropped
///   through [`Cx::drop`] or [`Cx::signal`], or still counted by `backlog`.
/// - *Order*: packets of one connection and direction leave in the order in which they came.
/// - *Progress*: if `backlog` is not zero, `dequeue` returns a packet or leaves the backlog
///   zero. Every discipline here is work-conserving; the rate belongs to the port.
/// - *Time*: `cx.now` never runs back. A law with a timer (PIE) catches up on the updates that
///   fell due since the last call, each with the state that held at its time, so that nobody
///   has to wake it.
///
/// `tests/conformance.rs` holds every registered discipline to this contract.
pub trait Qdisc: Send {
    /// Offers `packet`. The discipline keeps it or drops it, or drops another to make room.
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>);

    /// Takes the next packet to send, if there is one.
    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet>;

    /// What is waiting.
    fn backlog(&self) -> Backlog;

    /// Tells the discipline the rate of the link it feeds; for those that estimate from it
    /// (RED's idle time). Others ignore it.
    fn link_rate(&mut self, rate: aqmlab_core::BitRate) {
        let _ = rate;
    }

    /// Tells the discipline that it is never asked for a packet in vain, as it is below Linux's
    /// HTB, for those that learn from it that they are idle (RED). Others ignore it.
    fn never_asked_in_vain(&mut self) {}

    /// Puts a new discipline into the state of one that has long been in service and idle: its
    /// timers run, at a point of their period that `phase` chooses, as a share of 2⁶⁴. Those
    /// without timers ignore it.
    fn settle(&mut self, phase: u64) {
        let _ = phase;
    }

    /// Makes the timer of a law late by a tick each time that it is due at one of `dues`, for
    /// doing again what a kernel did whose timer was late. Others ignore it.
    fn late_at(&mut self, dues: &'static [aqmlab_core::Instant]) {
        let _ = dues;
    }

    /// Makes an empty discipline a new one, as dummynet does with what it has found idle: those of
    /// dummynet forget all that they knew. Others ignore it.
    fn renew(&mut self) {}

    /// Numbers worth showing, by name: drop probability, average queue, active flows.
    fn gauges(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}
