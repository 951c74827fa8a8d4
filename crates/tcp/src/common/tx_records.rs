//! The state of the connection at the transmission of each outstanding segment, for controllers
//! that ask for it.
//!
//! Source: google/bbr v3 `net/ipv4/tcp_rate.c` (`tcp_rate_skb_sent`, `tcp_set_tx_in_flight`). The
//! records are beside the scoreboard, because few controllers need them.

use aqmlab_core::Ring;

/// The state at the last transmission of a segment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TxRecord {
    /// The sequence number after the segment's last byte or its FIN.
    end: u64,
    /// The number of segments in flight, including the segment.
    pub(crate) in_flight: u32,
    /// The number of segments marked as lost before the transmission.
    pub(crate) lost: u64,
    /// The number of segments delivered with a CE mark before the transmission.
    pub(crate) delivered_ce: u64,
}

/// The records of the outstanding segments, in sequence order.
#[derive(Debug, Default)]
pub(crate) struct TxRecords {
    /// Whether the controller asks for records.
    pub(crate) are_kept: bool,
    records: Ring<TxRecord>,
}

impl TxRecords {
    /// Records the transmission of a segment that ends at `end`. An earlier record of the segment
    /// is replaced.
    pub(crate) fn record(&mut self, end: u64, in_flight: u32, lost: u64, delivered_ce: u64) {
        let record = TxRecord { end, in_flight, lost, delivered_ce };
        match self.number_of(end) {
            Some(number) => *self.records.get_mut(number) = record,
            None => self.records.push(record),
        }
    }

    /// Returns the record of the segment that ends at `end`, if there is one.
    pub(crate) fn get(&self, end: u64) -> Option<&TxRecord> {
        self.number_of(end).map(|number| self.records.get(number))
    }

    /// Removes the records of acknowledged segments.
    pub(crate) fn forget_below(&mut self, una: u64) {
        while !self.records.is_empty() && self.records.get(self.records.first()).end <= una {
            self.records.skip(1);
        }
    }

    fn number_of(&self, end: u64) -> Option<usize> {
        let number = self.records.partition_point(|record| record.end < end);
        let is_found = self.records.holds(number) && self.records.get(number).end == end;
        is_found.then_some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_found_by_its_end_until_it_is_acknowledged() {
        let mut records = TxRecords::default();
        for number in 1..=10 {
            records.record(number * 100, number as u32, 0, 0);
        }
        assert_eq!(records.get(300).map(|record| record.in_flight), Some(3));
        assert!(records.get(350).is_none() && records.get(1_100).is_none());
        records.record(300, 9, 2, 1);
        let again = records.get(300).map(|record| (record.in_flight, record.lost));
        assert_eq!(again, Some((9, 2)));
        records.forget_below(300);
        assert!(records.get(300).is_none() && records.get(400).is_some());
    }
}
