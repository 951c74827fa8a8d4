//! Queue disciplines: queues, schedulers, and the control laws that drop or mark packets.
//!
//! | Module    | Holds                                                                       |
//! |-----------|-----------------------------------------------------------------------------|
//! | [`queue`] | the FIFO that stores the packets of every discipline, and its backlog       |
//! | [`flows`] | a queue per flow and the round-robin scheduler that the `fq_*` kinds share  |
//! | [`aqm`]   | control laws, which judge packets and hold none                             |
//! | [`cake`]  | the parts of CAKE                                                           |
//! | [`kinds`] | the disciplines, one file each, and the list that registers them            |
//!
//! A port holds a [`Discipline`], which is a discipline of any kind.
//!
//! **Invariant:** no code in this crate depends on whether time is simulated or whether packets
//! carry real bytes.

pub mod aqm;
mod bounds;
pub mod cake;
mod discipline;
pub mod flows;
pub mod kinds;
pub mod queue;

use std::any::Any;

use aqmlab_core::{BitRate, Cx, Instant, Packet};

pub use discipline::Discipline;
pub use queue::{Backlog, PacketQueue};

use crate::aqm::timer::Timer;

/// The parent of a discipline: the link or shaper that dequeues its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    /// The rate of the link.
    pub rate: BitRate,
    /// Whether the parent never polls an empty discipline. Linux's HTB never does, because it lists
    /// the classes that have packets.
    pub never_polls_empty: bool,
}

/// A queue discipline.
///
/// # Contract
///
/// - *Conservation*: every packet offered is either returned by `dequeue`, dropped through
///   [`Cx::drop`] or [`Cx::signal`], or still counted by `backlog`.
/// - *Order*: packets of one connection and direction leave in the order of their arrival. A
///   discipline that classifies by the ECN field or the DSCP keeps this order only among packets
///   with equal fields. `cake` does not keep the order after a collision of flow hashes. If another
///   connection takes over the tag of a queue in which packets wait, later packets of the first
///   connection may go to another queue (`cake_hash` in Linux's `sch_cake.c`).
/// - *Progress*: if `backlog` is not zero, `dequeue` returns a packet, leaves the backlog zero, or
///   leaves `ready_at` later than `cx.now`. All disciplines except a shaper are work-conserving.
/// - *Time*: `cx.now` never decreases. A law with a timer (PIE) catches up on the updates that were
///   due since the last call. Each update uses the backlog at the time when it was due. No driver
///   needs to run the timer.
///
/// `tests/conformance.rs` tests every registered discipline against this contract.
pub trait Qdisc: Send + Any {
    /// Offers `packet`. The discipline keeps it or drops it, and may drop other packets.
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>);

    /// Removes and returns the next packet to send, if there is one. The discipline may drop other
    /// packets.
    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet>;

    /// Does what [`Self::enqueue`] and then [`Self::dequeue`] do. The port calls this only while
    /// its link is free and the discipline is empty. The packet then usually enters no queue.
    fn pass(&mut self, packet: Packet, cx: &mut Cx<'_>) -> Option<Packet> {
        self.enqueue(packet, cx);
        self.dequeue(cx)
    }

    /// Returns the number of queued packets and bytes.
    fn backlog(&self) -> Backlog;

    /// Returns whether the packets of one connection and direction leave in the order in which they
    /// arrived. The default is that the discipline may reorder them, as CAKE does when another
    /// connection takes the queue of a connection, and SFQ when it changes the key of its hash.
    fn keeps_order(&self) -> bool {
        false
    }

    /// Returns whether the discipline limits the rate itself. The port then asks for
    /// [`Self::ready_at`] before each packet.
    fn has_shaper(&self) -> bool {
        false
    }

    /// Returns the time before which `dequeue` returns no packet. A discipline with a shaper of its
    /// own returns the time of its next packet. Other disciplines are always ready.
    fn ready_at(&self) -> Instant {
        Instant::ZERO
    }

    /// Changes the rate of the discipline's own shaper, and keeps its queues. A discipline without
    /// a shaper ignores the call.
    fn change_rate(&mut self, rate: BitRate) {
        let _ = rate;
    }

    /// Returns the length of a packet of `ip_len` bytes with the overhead that `tc qdisc show`
    /// states for the discipline.
    fn stated_len(&self, ip_len: u32) -> u32 {
        ip_len
    }

    /// Attaches the discipline to its parent. The port calls this before the first packet.
    fn attach(&mut self, to: Parent) {
        let _ = to;
    }

    /// Passes the timer of each control law to `visit`. The port uses this function to put the
    /// timers into the state of timers that have long been running. A replay uses it to delay
    /// timers. A discipline without timers calls `visit` for none.
    fn visit_timers(&mut self, visit: &mut dyn FnMut(&mut Timer)) {
        let _ = visit;
    }

    /// Resets an empty discipline to its initial state. Dummynet destroys a discipline that its
    /// garbage collector finds idle, and later creates a new discipline. Linux's disciplines keep
    /// their state.
    fn reset(&mut self) {}

    /// Returns the gauges by name, such as drop probability, average queue length and active flows.
    fn gauges(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}
