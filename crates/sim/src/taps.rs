//! The observer that measures: a tap at each end, and one look into each queue.

use aqmlab_core::{Duration, Instant, Packet, Reason};
use aqmlab_measure::{Histogram, Meter, Records, Settings};
use aqmlab_node::Departure;

use crate::grain::Grain;
use crate::observer::Observer;
use crate::spec::Spec;

/// What a link's queue did to the packets that it sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueueReport {
    /// How long packets waited, of those that left within the interval of the statistics.
    pub(crate) sojourn: Histogram,
    /// The longest wait in each step of the time series.
    pub(crate) worst: Vec<Duration>,
    /// Wait times summed over packets: by Little's law, backlog summed over time.
    pub(crate) waited: Duration,
    /// Packets and IP bytes that left within the interval.
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

/// Measures a run.
pub(crate) struct Taps {
    pub(crate) meter: Meter,
    pub(crate) queues: Vec<QueueReport>,
    /// Every packet, if they are kept.
    pub(crate) records: Option<Records>,
    from: Instant,
    to: Instant,
    step: u64,
    series: bool,
}

impl Taps {
    /// Taps for a trial.
    pub(crate) fn new(spec: &Spec) -> Self {
        let (measure, grain) = (&spec.measure, Grain::of(spec));
        let end = Instant::from_nanos(spec.duration_ns);
        let to = measure.to_ns.map_or(end, Instant::from_nanos);
        let settings = Settings {
            from: Instant::from_nanos(measure.from_ns),
            to,
            window: grain.window,
            step: grain.step,
            end,
            // A flow may have several connections, and a fair queue may let one of them pass
            // another; so a gap is a loss only once many later packets have come.
            reorders: true,
            series: measure.series.then_some(grain.series_step),
        };
        let from = settings.from;
        Self {
            meter: Meter::new(settings, spec.apps.len()),
            queues: vec![QueueReport::default(); spec.links.len()],
            records: measure.packets.then(Records::default),
            from,
            to,
            step: grain.series_step.as_nanos(),
            series: measure.series,
        }
    }
}

impl Observer for Taps {
    #[inline]
    fn sent(&mut self, packet: &Packet, now: Instant) {
        self.meter.sent(packet.flow, packet.direction, packet.id, packet.ip_len, now);
        if let Some(records) = &mut self.records {
            records.sent(packet, now);
        }
    }

    #[inline]
    fn received(&mut self, packet: &Packet, now: Instant) {
        self.meter.received(packet.flow, packet.direction, packet.id, packet.ip_len, now);
        if let Some(records) = &mut self.records {
            records.received(packet, now);
        }
    }

    #[inline]
    fn departed(&mut self, link: usize, packet: &Packet, departure: Departure) {
        let queue = &mut self.queues[link];
        let left = packet.enqueued + departure.sojourn;
        let step = (left.as_nanos() / self.step) as usize;
        if self.series {
            if queue.worst.len() <= step {
                queue.worst.resize(step + 1, Duration::ZERO);
            }
            queue.worst[step] = queue.worst[step].max(departure.sojourn);
        }
        if self.from <= left && left < self.to {
            queue.sojourn.record(departure.sojourn);
            queue.waited += departure.sojourn;
            queue.packets += 1;
            queue.bytes += u64::from(packet.ip_len);
        }
    }

    fn lost(&mut self, packet: &Packet, now: Instant) {
        if let Some(records) = &mut self.records {
            records.dropped(packet.id, Reason::Path, now);
        }
    }
}
