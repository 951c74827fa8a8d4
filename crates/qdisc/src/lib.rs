//! Queue disciplines: queues, schedulers, and the control laws that drop or mark packets.
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

use aqmlab_core::{BitRate, Cx, Packet};

pub use queue::{Backlog, PacketQueue};

use crate::aqm::timer::Timer;

/// The parent of a discipline: the link or the shaper that takes its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    /// The rate of the link.
    pub rate: BitRate,
    /// Whether the parent never polls an empty discipline. Linux's HTB does not: it keeps lists of
    /// the classes that have packets.
    pub never_polls_empty: bool,
}

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
///   fell due since the last call, each with the state that held at its time, so that no
///   driver has to wake it.
///
/// `tests/conformance.rs` holds every registered discipline to this contract.
pub trait Qdisc: Send {
    /// Offers `packet`. The discipline keeps it or drops it, or drops another to make room.
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>);

    /// Takes the next packet to send, if there is one.
    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet>;

    /// The packets and bytes that wait.
    fn backlog(&self) -> Backlog;

    /// Attaches the discipline to its parent. The port calls this before the first packet.
    fn attach(&mut self, to: Parent) {
        let _ = to;
    }

    /// Passes the timer of each control law to `visit`. The port starts the timers of a discipline
    /// that has long been in service, and a replay makes them late. A discipline without such a
    /// law has none.
    fn visit_timers(&mut self, visit: &mut dyn FnMut(&mut Timer)) {
        let _ = visit;
    }

    /// Resets an empty discipline to the state of a new one. Dummynet destroys a discipline that
    /// its garbage collector finds idle and creates another; disciplines of Linux keep their state.
    fn reset(&mut self) {}

    /// Numbers worth showing, by name: drop probability, average queue, active flows.
    fn gauges(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}
