//! The counters of CAKE, which the kernel nests by tin (`linux/pkt_sched.h`).
//!
//! The kernel does not show drops by overflow separately, so all drops except removed
//! acknowledgements count as drops of the control law.

use super::{Gauges, attributes, long, word};

// Attributes of `TCA_CAKE_STATS`.
const CAPACITY: u16 = 2;
const MEMORY_LIMIT: u16 = 3;
const MEMORY_USED: u16 = 4;
const TINS: u16 = 10;
// Attributes of `TCA_CAKE_TIN_STATS`.
const ACK_DROPS: u16 = 6;
const MARKS: u16 = 8;

/// Defines [`name`] from the statistics of a tin. Each has the kernel's attribute, and the part of
/// the gauge's name that follows the tin's name.
macro_rules! statistics {
    ($($number:literal: $name:literal),+ $(,)?) => {
        /// Returns the name of the gauge for an attribute of the tin that tc calls `tin`, if there
        /// is one.
        fn name(tin: &str, attribute: u16) -> Option<&'static str> {
            Some(match (tin, attribute) {
                $(
                    ("bulk", $number) => concat!("bulk_", $name),
                    ("best_effort", $number) => concat!("best_effort_", $name),
                    ("video", $number) => concat!("video_", $name),
                    ("voice", $number) => concat!("voice_", $name),
                    ("tin0", $number) => concat!("tin0_", $name),
                    ("tin1", $number) => concat!("tin1_", $name),
                    ("tin2", $number) => concat!("tin2_", $name),
                    ("tin3", $number) => concat!("tin3_", $name),
                    ("tin4", $number) => concat!("tin4_", $name),
                    ("tin5", $number) => concat!("tin5_", $name),
                    ("tin6", $number) => concat!("tin6_", $name),
                    ("tin7", $number) => concat!("tin7_", $name),
                )+
                _ => return None,
            })
        }
    };
}

statistics! {
    2: "sent_packets",
    3: "sent_bytes",
    4: "drops",
    6: "ack_drops",
    8: "ecn_mark",
    11: "backlog_bytes",
    12: "threshold_rate",
    13: "target_us",
    14: "interval_us",
    15: "way_indirect_hits",
    16: "way_misses",
    17: "way_collisions",
    18: "peak_delay_us",
    19: "avg_delay_us",
    20: "base_delay_us",
    21: "sparse_flows",
    22: "bulk_flows",
    23: "unresponsive_flows",
    24: "max_pkt_len",
    25: "flow_quantum",
}

/// Returns the number of removed acknowledgements, the number of marks, and the gauges.
pub(super) fn own(bytes: &[u8]) -> (u64, u64, Gauges) {
    let (mut filtered, mut marks, mut gauges) = (0, 0, Gauges::new());
    for (attribute, value) in attributes(bytes) {
        match attribute {
            CAPACITY => gauges.push(("capacity_estimate", number(value) as f64)),
            MEMORY_LIMIT => gauges.push(("memory_limit", number(value) as f64)),
            MEMORY_USED => gauges.push(("memory_used", number(value) as f64)),
            TINS => {
                let count = attributes(value).count();
                for (place, (_, tin)) in attributes(value).enumerate() {
                    let called = tins(count).get(place).copied().unwrap_or("");
                    for (attribute, value) in attributes(tin) {
                        filtered += if attribute == ACK_DROPS { number(value) } else { 0 };
                        marks += if attribute == MARKS { number(value) } else { 0 };
                        let name = name(called, attribute);
                        gauges.extend(name.map(|name| (name, number(value) as f64)));
                    }
                }
            }
            _ => {}
        }
    }
    (filtered, marks, gauges)
}

/// Returns tc's names of `count` tins, in the order in which the kernel reports the tins.
const fn tins(count: usize) -> &'static [&'static str] {
    match count {
        3 => &["bulk", "best_effort", "voice"],
        4 => &["bulk", "best_effort", "video", "voice"],
        _ => &["tin0", "tin1", "tin2", "tin3", "tin4", "tin5", "tin6", "tin7"],
    }
}

fn number(value: &[u8]) -> u64 {
    if value.len() >= 8 { long(value, 0) } else { word(value, 0).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(name: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
        bytes.extend(name.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn tins_are_read_in_the_order_of_tc() {
        let tin = |acks: u32, marks: u32| {
            [attribute(ACK_DROPS, &acks.to_ne_bytes()), attribute(MARKS, &marks.to_ne_bytes())]
                .concat()
        };
        let all: Vec<u8> = [(1, 2), (3, 4), (5, 6)]
            .into_iter()
            .zip(1..)
            .flat_map(|((acks, marks), place)| attribute(place, &tin(acks, marks)))
            .collect();
        let capacity = attribute(CAPACITY, &(1_u64 << 33).to_ne_bytes());
        let (filtered, marks, gauges) = own(&[capacity, attribute(TINS, &all)].concat());
        assert_eq!((filtered, marks), (9, 12));
        for want in [
            ("capacity_estimate", 8_589_934_592.0),
            ("bulk_ecn_mark", 2.0),
            ("best_effort_ack_drops", 3.0),
            ("voice_ecn_mark", 6.0),
        ] {
            assert!(gauges.contains(&want), "{want:?} is not in {gauges:?}");
        }
    }
}
