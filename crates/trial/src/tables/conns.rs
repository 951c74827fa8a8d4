//! Tables of connections and of the state of their senders.

use aqmlab_core::Side;

use super::View;
use super::columns::{Numbers, count, floats, ms, seconds};
use crate::findings::{ConnFindings, EndCounts, TcpEvents, TcpSample};
use crate::table::{Table, Words};

impl View<'_> {
    pub(super) fn conns(&self) -> Table {
        let mut names = Words::default();
        let mut numbers = Numbers::like(connection(&ConnFindings::default(), &Default::default()));
        for conn in &self.findings.conns {
            if let Some(ends) = &conn.tcp {
                names.push(self.name(conn.flow));
                numbers.row(connection(conn, ends));
            }
        }
        let mut columns = vec![("flow", names.column())];
        columns.extend(numbers.into_columns());
        Table::new(columns)
    }

    pub(super) fn tcp_series(&self) -> Table {
        let samples = self.findings.samples.as_ref().map_or(&[][..], |samples| &samples.tcp);
        let conns = &self.findings.conns;
        // Successive samples are of different connections, so the index of each word is kept.
        let (mut names, mut places) = (Words::default(), vec![None; conns.len()]);
        let mut name_of = |sample: &TcpSample| {
            let conn = sample.conn as usize;
            let name = || names.index(self.name(conns[conn].flow));
            *places[conn].get_or_insert_with(name)
        };
        let name_rows = samples.iter().map(&mut name_of).collect();
        let (mut sides, mut places) = (Words::default(), [None; 2]);
        let mut side_of = |sample: &TcpSample| {
            let side = || sides.index(if sample.side == Side::Home { "home" } else { "wan" });
            *places[sample.side.index()].get_or_insert_with(side)
        };
        let side_rows = samples.iter().map(&mut side_of).collect();
        Table::new(vec![
            ("flow", names.column_of(name_rows)),
            ("side", sides.column_of(side_rows)),
            ("conn", floats(samples, |sample| f64::from(conns[sample.conn as usize].number))),
            ("t_s", floats(samples, |sample| sample.at.as_secs_f64())),
            ("cwnd_bytes", floats(samples, |sample| sample.cwnd_bytes as f64)),
            ("ssthresh_bytes", floats(samples, |sample| count(sample.ssthresh_bytes))),
            ("srtt_ms", floats(samples, |sample| ms(sample.srtt))),
            ("in_flight_bytes", floats(samples, |sample| sample.in_flight_bytes as f64)),
        ])
    }
}

fn connection(conn: &ConnFindings, ends: &[EndCounts; 2]) -> [(&'static str, f64); 13] {
    let sum = |field: fn(&EndCounts) -> u64| ends.iter().map(field).sum::<u64>() as f64;
    // If a value is missing at one end, it is missing for the connection.
    let known = |field: fn(&TcpEvents) -> Option<u64>| {
        count(ends.iter().map(|end| field(&end.events)).sum::<Option<u64>>())
    };
    let [home, wan] = conn.read;
    [
        ("conn", f64::from(conn.number)),
        ("opened_s", conn.opened.as_secs_f64()),
        ("established_s", seconds(conn.established)),
        ("closed_s", seconds(conn.closed)),
        ("bytes_up", wan as f64),
        ("bytes_down", home as f64),
        ("segments_sent", sum(|end| end.segments_sent)),
        ("retransmissions", sum(|end| end.retransmissions)),
        ("rtos", known(|events| events.rtos)),
        ("tlps", known(|events| events.tlps)),
        ("fast_recoveries", known(|events| events.fast_recoveries)),
        ("spurious_undos", known(|events| events.spurious_undos)),
        ("ece_reductions", known(|events| events.ece_reductions)),
    ]
}
