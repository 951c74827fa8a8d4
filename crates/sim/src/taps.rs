//! The observer that measures, with a tap at each end and a report on each queue.

use aqmlab_core::hint::rare;
use aqmlab_core::{Instant, Packet, PacketFields, Reason};
use aqmlab_measure::{InOrder, Meter, Records, Sent};
use aqmlab_node::Departure;
use aqmlab_trial::Spec;
use aqmlab_trial::tables::{Frame, QueueReport, settings};

use crate::observer::Observer;

/// The observer of a run with measurement.
pub(crate) struct Taps {
    pub(crate) meter: Meter,
    pub(crate) queues: Vec<QueueReport>,
    /// Every packet, if packets are kept.
    pub(crate) records: Option<Box<Records>>,
    frame: Frame,
}

impl Taps {
    /// Returns the taps for a trial whose network does not reorder the packets of `in_order`.
    pub(crate) fn new(spec: &Spec, in_order: InOrder) -> Self {
        Self {
            meter: Meter::new(settings(spec, in_order), &spec.all_active()),
            queues: vec![QueueReport::default(); spec.links.len()],
            records: spec.measure.packets.then(Box::default),
            frame: Frame::of(spec),
        }
    }
}

impl Observer for Taps {
    #[expect(clippy::inline_always, reason = "every packet passes; a call costs 1 % of a run")]
    #[inline(always)]
    fn sent(&mut self, packet: &Packet, now: Instant) {
        let &PacketFields { flow, conn, direction, id, ip_len, .. } = &**packet;
        self.meter.sent(Sent { flow, conn, direction, id, ip_len }, now);
        if let Some(records) = &mut self.records {
            rare();
            records.sent(packet, now);
        }
    }

    #[inline]
    fn received(&mut self, packet: &Packet, now: Instant) {
        self.meter.received(packet.flow, packet.direction, packet.id, packet.ip_len, now);
        if let Some(records) = &mut self.records {
            rare();
            records.received(packet, now);
        }
    }

    #[expect(clippy::inline_always, reason = "every packet passes; a call costs 1 % of a run")]
    #[inline(always)]
    fn departed(&mut self, link: usize, packet: &Packet, departure: Departure) {
        let left = packet.enqueued + departure.sojourn;
        self.queues[link].note(&self.frame, left, departure.sojourn, packet.ip_len);
    }

    fn lost(&mut self, packet: &Packet, now: Instant) {
        if let Some(records) = &mut self.records {
            records.dropped(packet.id, Reason::Path, now);
        }
    }

    fn ended(&mut self, flow: u32, now: Instant) {
        self.meter.ended(flow, now);
    }
}
