//! The log of a port: what it counts, and the drops and marks of its discipline.

use aqmlab_core::{Digest, Duration, Event, Instant, Log, Packet, Reason};

/// The maximum number of dropped packets that a port keeps for
/// [`Port::reclaim`](crate::Port::reclaim).
pub(crate) const KEPT: usize = 64;

/// The log of a port: counters, some dropped packets and, if enabled, each drop and mark.
#[derive(Debug, Default)]
pub struct PortLog {
    /// Packets that arrived.
    pub offered: u64,
    /// Packets sent on the link.
    pub sent: u64,
    /// IP bytes of the packets sent.
    pub sent_bytes: u64,
    /// The sum of the transmission times of the packets sent.
    pub busy: Duration,
    /// The largest backlog in packets.
    pub backlog_max_packets: u64,
    /// Packets that wait in the discipline. Every packet offered is sent, dropped or waiting, so
    /// this count replaces a call of the discipline.
    pub(crate) waiting: u64,
    /// Packets dropped for any reason.
    pub dropped: u64,
    /// Packets dropped, by [`Reason::index`].
    pub drops: [u64; Reason::ALL.len()],
    /// Packets marked.
    pub marks: u64,
    /// Packets dropped, by flow.
    pub flow_drops: Vec<u64>,
    /// Packets marked, by flow.
    pub flow_marks: Vec<u64>,
    /// Each drop and mark with its time and the number of its packet, if enabled.
    pub events: Option<Vec<(Instant, u64, Event)>>,
    /// A digest of the drops and marks.
    pub digest: Digest,
    /// Up to [`KEPT`] packets that were dropped, until [`Port::reclaim`](crate::Port::reclaim)
    /// takes them.
    pub(crate) discarded: Vec<Packet>,
    /// Whether `discarded` has no limit.
    pub(crate) keeps_all: bool,
}

fn bump(counts: &mut Vec<u64>, flow: u32) {
    let index = flow as usize;
    if counts.len() <= index {
        counts.resize(index + 1, 0);
    }
    counts[index] += 1;
}

impl Log for PortLog {
    fn record(&mut self, now: Instant, packet: &Packet, event: Event) {
        match event {
            Event::Drop(reason) => {
                self.dropped += 1;
                // A packet that is lost on the air was already counted as sent.
                self.waiting -= u64::from(reason != Reason::Path);
                self.drops[reason.index()] += 1;
                bump(&mut self.flow_drops, packet.flow);
            }
            Event::Mark(_) => {
                self.marks += 1;
                bump(&mut self.flow_marks, packet.flow);
            }
        }
        self.digest.fold(now.as_nanos());
        self.digest.fold(packet.id << 1 | u64::from(matches!(event, Event::Mark(_))));
        if let Some(events) = &mut self.events {
            events.push((now, packet.id, event));
        }
    }

    fn discard(&mut self, packet: Packet) {
        if self.discarded.len() < KEPT || self.keeps_all {
            self.discarded.push(packet);
        }
    }
}
