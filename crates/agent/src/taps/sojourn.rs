//! The effect of the disciplines on packets: sojourn times, and the applications whose packets were
//! dropped or marked. The sources are the taps at the senders and a tap behind the disciplines,
//! between the two routers.
//!
//! Only the forwarding by a router lies between the sender and the discipline. A packet that does
//! not queue reaches the second tap a few tens of microseconds later.
//!
//! **Attribution of drops.** A packet that never arrives was dropped or is still in the queue.
//! Packets of one connection leave a discipline in order, so a packet was dropped if a later packet
//! of its connection arrived. Of the remaining missing packets, the earliest count as dropped,
//! until the total equals the kernel's count.

use std::collections::{BTreeMap, VecDeque};

use aqmlab_core::{Direction, Instant};
use aqmlab_trial::tables::{Frame, QueueReport};

use super::tap::{Record, take};

/// The ECN field of a marked packet, CE.
const MARKED: u8 = 3;

/// The effect of one direction's discipline on packets.
#[derive(Default)]
pub(crate) struct Sojourns {
    /// The sojourn times of the packets that left.
    pub(crate) report: QueueReport,
    /// The IP bytes of all packets that left.
    pub(crate) all_bytes: u64,
    /// The bytes that the link charged for all packets that left.
    pub(crate) charged: u64,
    /// The maximum backlog in packets, counting only packets that left.
    pub(crate) most: u64,
    /// The number of marked packets of each application.
    pub(crate) marks: Vec<u64>,
    /// The packets that never arrived, in the order of sending.
    missing: Vec<Missing>,
}

/// A packet that was sent and never arrived.
struct Missing {
    flow: u32,
    /// Whether a later packet of the packet's connection arrived.
    passed_by: bool,
}

/// Matches the packets that left the senders, which are ordered by time, with the packets in
/// `passed`, which crossed between the routers. Returns the effect of each direction's discipline.
/// `charge` returns the number of bytes that the link of a direction charges for an IP packet of a
/// given length.
pub(crate) fn sojourns(
    records: &[Record],
    passed: &[Record],
    frame: Frame,
    charge: impl Fn(Direction, u32) -> u64,
) -> [Sojourns; 2] {
    let mut under_way: BTreeMap<u64, VecDeque<&Record>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.sent) {
        under_way.entry(record.key).or_default().push_back(record);
    }
    let mut all: [Sojourns; 2] = Default::default();
    let mut last_sent = BTreeMap::new();
    let mut changes: [Vec<(Instant, i64)>; 2] = Default::default();
    for record in passed {
        let waits = &mut all[record.direction.index()];
        waits.all_bytes += u64::from(record.ip_len);
        waits.charged += charge(record.direction, record.ip_len);
        let Some(sent) = take(&mut under_way, record.key) else { continue };
        waits.report.note(&frame, record.at, record.at.since(sent.at), record.ip_len);
        changes[record.direction.index()].extend([(sent.at, 1), (record.at, -1)]);
        if record.ecn == MARKED && sent.ecn != MARKED {
            add(&mut waits.marks, record.flow);
        }
        let last = last_sent.entry((sent.conn(), sent.direction)).or_insert(sent.at);
        *last = sent.at.max(*last);
    }
    for (waits, changes) in all.iter_mut().zip(changes) {
        waits.most = most(changes);
    }
    let mut left: Vec<_> = under_way.into_values().flatten().collect();
    left.sort_by_key(|record| record.at);
    for record in left {
        let last = last_sent.get(&(record.conn(), record.direction)).copied();
        let passed_by = last.is_some_and(|last| record.at < last);
        let missing = Missing { flow: record.flow, passed_by };
        all[record.direction.index()].missing.push(missing);
    }
    all
}

/// Returns the highest cumulative sum of `changes`, ordered by time. At equal times, departures
/// come first.
fn most(mut changes: Vec<(Instant, i64)>) -> u64 {
    changes.sort_unstable();
    let sums = changes.iter().scan(0, |sum, (_, change)| {
        *sum += change;
        Some(*sum)
    });
    sums.max().and_then(|most| u64::try_from(most).ok()).unwrap_or(0)
}

impl Sojourns {
    /// Returns the number of dropped packets of each application. `total` is the number of packets
    /// that the discipline dropped.
    pub(crate) fn drops(&self, total: u64) -> Vec<u64> {
        let mut drops = Vec::new();
        let sure = self.missing.iter().filter(|missing| missing.passed_by);
        let more = total.saturating_sub(sure.clone().count() as u64) as usize;
        let unsure = self.missing.iter().filter(|missing| !missing.passed_by).take(more);
        sure.chain(unsure).for_each(|missing| add(&mut drops, missing.flow));
        drops
    }
}

fn add(counts: &mut Vec<u64>, flow: u32) {
    let flow = flow as usize;
    if counts.len() <= flow {
        counts.resize(flow + 1, 0);
    }
    counts[flow] += 1;
}

#[cfg(test)]
mod tests {
    use super::super::tap::tests::record_at;
    use super::*;
    use aqmlab_core::Duration;

    fn frame() -> Frame {
        let json = r#"{"seed": 1, "duration_ns": 16000000, "links": [], "apps": [],
            "measure": {"to_ns": 10000000, "step_ns": 4000000, "window_ns": 4000000}}"#;
        Frame::of(&aqmlab_trial::parse(json).expect("it is a trial"))
    }

    fn ms(at: u64, key: u64) -> Record {
        record_at(Instant::from_millis(at), key)
    }

    #[test]
    fn a_wait_is_from_the_sender_to_the_cable_behind_the_discipline() {
        let sent = [ms(1, 7), ms(2, 8), ms(3, 9)];
        // The second packet is dropped, and the last packet leaves after the interval.
        let passed = [ms(5, 7), ms(12, 9)];
        let [up, down] = sojourns(&sent, &passed, frame(), |_, ip_len| u64::from(ip_len) + 14);
        assert_eq!(up.report.sojourn.count(), 1);
        assert_eq!(up.report.sojourn.sum(), Duration::from_millis(4));
        assert_eq!(up.report.worst, [0, 4, 0, 9].map(Duration::from_millis));
        assert_eq!((up.report.bytes, up.all_bytes, up.charged), (100, 200, 228));
        assert_eq!(down.report.sojourn.count(), 0);
        assert_eq!(up.drops(1), [1]);
        // The dropped packet does not count; the other packets are queued together from 3 to 5 ms.
        assert_eq!((up.most, down.most), (2, 0));
    }

    #[test]
    fn a_packet_that_leaves_makes_room_for_one_that_comes_then() {
        let [up, _] = sojourns(&[ms(1, 1), ms(3, 2)], &[ms(3, 1), ms(4, 2)], frame(), |_, _| 0);
        assert_eq!(up.most, 1);
    }

    #[test]
    fn what_came_last_still_waits_unless_the_kernel_counts_it_as_dropped() {
        let other = |at, key| Record { flow: 1, ..ms(at, key) };
        let sent = [ms(1, 1), other(2, 2), ms(3, 3), other(4, 4), ms(5, 5)];
        let passed = [ms(6, 1), ms(7, 5)];
        let [up, _] = sojourns(&sent, &passed, frame(), |_, _| 0);
        // The third packet of the first application arrived before its second packet. Neither of
        // the two packets of the second application arrived.
        assert_eq!(up.drops(1), [1]);
        assert_eq!(up.drops(2), [1, 1]);
        assert_eq!(up.drops(9), [1, 2]);
    }

    #[test]
    fn an_acknowledgement_passes_no_packet_of_the_other_direction_by() {
        let down = Record { direction: Direction::Down, ..ms(1, 1) };
        let [_, waits] = sojourns(&[down, ms(2, 2)], &[ms(3, 2)], frame(), |_, _| 0);
        assert!(waits.drops(0).is_empty());
        assert_eq!(waits.drops(1), [1]);
    }

    #[test]
    fn a_mark_is_seen_before_and_after() {
        let with = |ecn, record| Record { ecn, ..record };
        let sent = [with(2, ms(1, 1)), with(3, ms(2, 2)), with(2, ms(3, 3))];
        let passed = [with(3, ms(4, 1)), with(3, ms(5, 2)), with(2, ms(6, 3))];
        let [up, _] = sojourns(&sent, &passed, frame(), |_, _| 0);
        assert_eq!(up.marks, [1]);
    }
}
