//! How long packets wait in the disciplines: the time from the tap at their sender to a tap
//! between the two routers, which they pass when a discipline has let them go.
//!
//! Nothing but a router's forwarding lies between the sender and the discipline, so a packet that
//! does not wait is seen some tens of microseconds later.

use std::collections::{BTreeMap, VecDeque};

use aqmlab_core::{Direction, Duration, Instant};
use aqmlab_measure::Histogram;

use crate::tap::{Record, take};

/// What a discipline did to packets that left it.
#[derive(Default)]
pub(crate) struct Waits {
    /// Of packets that left within the interval.
    pub(crate) sojourns: Histogram,
    /// The sum of those.
    pub(crate) waited: Duration,
    /// Their IP bytes.
    pub(crate) bytes: u64,
    /// IP bytes of all that left.
    pub(crate) all_bytes: u64,
    /// What the link charged for all that left.
    pub(crate) charged: u64,
    /// The longest in each step of the trial.
    pub(crate) worst: Vec<Duration>,
}

/// The interval of the statistics and the width of a step.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) from: Instant,
    pub(crate) to: Instant,
    pub(crate) step_ns: u64,
}

/// Matches what senders' taps saw leave with what `passed` between the routers; by direction.
/// `charge` is what a direction's link charges for an IP packet of a length.
pub(crate) fn waits(
    records: &[Record],
    passed: &[Record],
    frame: Frame,
    charge: impl Fn(Direction, u32) -> u64,
) -> [Waits; 2] {
    let mut under_way: BTreeMap<u64, VecDeque<Instant>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.sent) {
        under_way.entry(record.key).or_default().push_back(record.at);
    }
    let mut all: [Waits; 2] = Default::default();
    for record in passed {
        let waits = &mut all[record.direction.index()];
        waits.all_bytes += u64::from(record.ip_len);
        waits.charged += charge(record.direction, record.ip_len);
        if let Some(since) = take(&mut under_way, record.key) {
            waits.note(record, record.at.since(since), frame);
        }
    }
    all
}

impl Waits {
    fn note(&mut self, record: &Record, sojourn: Duration, frame: Frame) {
        let step = (record.at.as_nanos() / frame.step_ns) as usize;
        if self.worst.len() <= step {
            self.worst.resize(step + 1, Duration::ZERO);
        }
        self.worst[step] = self.worst[step].max(sojourn);
        if frame.from <= record.at && record.at < frame.to {
            self.sojourns.record(sojourn);
            self.waited += sojourn;
            self.bytes += u64::from(record.ip_len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tap::tests::record_at;

    #[test]
    fn a_wait_is_from_the_sender_to_the_cable_behind_the_discipline() {
        let at = Instant::from_millis;
        let sent = [record_at(at(1), 7), record_at(at(2), 8), record_at(at(3), 9)];
        // The second is dropped, and the last leaves after the interval.
        let passed = [record_at(at(5), 7), record_at(at(12), 9)];
        let frame = Frame { from: at(0), to: at(10), step_ns: 4_000_000 };
        let [up, down] = waits(&sent, &passed, frame, |_, ip_len| u64::from(ip_len) + 14);
        assert_eq!(up.sojourns.count(), 1);
        assert_eq!(up.waited, Duration::from_millis(4));
        assert_eq!(up.worst, [0, 4, 0, 9].map(Duration::from_millis));
        assert_eq!((up.bytes, up.all_bytes, up.charged), (100, 200, 228));
        assert_eq!(down.sojourns.count(), 0);
    }
}
