//! Counts window reductions for ECN marks from the taps, because the kernel does not count them.
//!
//! A sender that reduces its window sets CWR on its next new segment, for a loss as well as for a
//! mark. Sources: RFC 3168 section 6.1.2; Linux 6.1, `tcp_init_cwnd_reduction` and `tcp_ecn_send`.
//! After a mark, each acknowledgement of the receiver has ECE until the receiver gets the segment
//! with CWR. A reduction therefore counts as made for a mark if the last acknowledgement that
//! reached the sender has ECE. A single reduction for both a loss and a mark in one round trip also
//! counts.

use std::collections::BTreeMap;

use super::tap::Record;

// These are flags of a TCP header (RFC 9293 section 3.1).
const SYN: u8 = 0x02;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;

/// The number of reductions at the two ends of each connection, by application and port.
pub(crate) type Reductions = BTreeMap<(u32, u16), [u64; 2]>;

/// Counts reductions at home and on the internet in `records`, which are ordered by time.
pub(crate) fn reductions(records: &[Record]) -> Reductions {
    let mut heard: BTreeMap<(u32, u16), [bool; 2]> = BTreeMap::new();
    let mut all = Reductions::new();
    for record in records.iter().filter(|record| record.flags & SYN == 0) {
        let receiver = record.direction.receiver();
        if !record.sent {
            let told = record.flags & ECE != 0;
            heard.entry(record.conn()).or_default()[receiver.index()] = told;
        } else if record.flags & CWR != 0 {
            let sender = receiver.peer().index();
            if heard.get(&record.conn()).is_some_and(|told| told[sender]) {
                all.entry(record.conn()).or_default()[sender] += 1;
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::tap::tests::record_at;
    use super::*;
    use aqmlab_core::{Direction, Instant};

    const ACK: u8 = 0x10;

    #[test]
    fn a_reduction_for_a_mark_follows_an_echo_and_one_for_a_loss_does_not() {
        let one = |sent, direction, flags| Record {
            sent,
            direction,
            flags,
            port: 10_000,
            ..record_at(Instant::ZERO, 1)
        };
        let (up, down) = (Direction::Up, Direction::Down);
        let heard = |flags| one(false, down, flags);
        let said = |flags| one(true, up, flags);
        let records = [
            // A SYN that requests ECN has both flags.
            said(SYN | ECE | CWR),
            heard(ACK),
            said(ACK | CWR),
            heard(ACK | ECE),
            said(ACK | CWR),
            heard(ACK),
        ];
        assert_eq!(reductions(&records), [((0, 10_000), [1, 0])].into());
    }
}
