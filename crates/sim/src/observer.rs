//! Observers of a run. The world is compiled once for each kind of observer, so measurement costs
//! nothing in a run without it.

use aqmlab_core::{Instant, Packet};
use aqmlab_node::Departure;

/// Observes the packets at the taps and at the links, and the ends of applications.
pub(crate) trait Observer {
    /// Records a packet that passes the tap at its sender.
    fn sent(&mut self, packet: &Packet, now: Instant);
    /// Records a packet that passes the tap at its receiver.
    fn received(&mut self, packet: &Packet, now: Instant);
    /// Records a packet that leaves the queue of a link.
    fn departed(&mut self, link: usize, packet: &Packet, departure: Departure);
    /// Records a packet that the path loses: by random loss, or because a radio gives the packet
    /// up.
    fn lost(&mut self, packet: &Packet, now: Instant);
    /// Records that an application has ended, by itself or at its stop time.
    fn ended(&mut self, flow: u32, now: Instant);
}

/// An observer that records nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NoObserver;

impl Observer for NoObserver {
    #[inline]
    fn sent(&mut self, _packet: &Packet, _now: Instant) {}
    #[inline]
    fn received(&mut self, _packet: &Packet, _now: Instant) {}
    #[inline]
    fn departed(&mut self, _link: usize, _packet: &Packet, _departure: Departure) {}
    #[inline]
    fn lost(&mut self, _packet: &Packet, _now: Instant) {}
    #[inline]
    fn ended(&mut self, _flow: u32, _now: Instant) {}
}
