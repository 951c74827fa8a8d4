//! Connections and the state of their TCPs.

use aqmlab_apps::Transport;
use aqmlab_core::{Instant, Side};

use super::{Numbers, View, ms};
use crate::table::{Table, Words};

impl View<'_> {
    pub(super) fn conns(&self) -> Table {
        let mut names = Words::default();
        let mut numbers = Numbers(Vec::new());
        for conn in &self.world.conns {
            if conn.transport != Transport::Tcp {
                continue;
            }
            names.push(self.name(conn.app as usize));
            let sum = |field: fn(&aqmlab_tcp::Stats) -> u64| {
                [Side::Home, Side::Wan]
                    .iter()
                    .filter_map(|side| conn.stats_of(*side))
                    .map(|stats| field(&stats))
                    .sum::<u64>() as f64
            };
            let secs = |at: Option<Instant>| at.map_or(f64::NAN, Instant::as_secs_f64);
            numbers.row([
                ("conn", f64::from(conn.id.0)),
                ("opened_s", conn.opened.as_secs_f64()),
                ("established_s", secs(conn.established)),
                ("closed_s", secs(conn.closed)),
                ("bytes_up", conn.read[Side::Wan.index()] as f64),
                ("bytes_down", conn.read[Side::Home.index()] as f64),
                ("segments_sent", sum(|stats| stats.segments_sent)),
                ("retransmissions", sum(|stats| stats.retransmitted_segments)),
                ("rtos", sum(|stats| stats.rtos)),
                ("tlps", sum(|stats| stats.tlps)),
                ("fast_recoveries", sum(|stats| stats.fast_recoveries)),
                ("spurious_undos", sum(|stats| stats.spurious_undos)),
                ("ece_reductions", sum(|stats| stats.ece_reductions)),
            ]);
        }
        let mut columns = vec![("flow", names.column())];
        columns.extend(numbers.into_columns());
        Table::new(columns)
    }

    pub(super) fn tcp_series(&self) -> Table {
        let (mut names, mut sides) = (Words::default(), Words::default());
        let mut numbers = Numbers(Vec::new());
        for sample in self.world.sampler.iter().flat_map(|sampler| &sampler.tcp) {
            let conn = &self.world.conns[sample.conn as usize];
            names.push(self.name(conn.app as usize));
            sides.push(if sample.side == Side::Home { "home" } else { "wan" });
            numbers.row([
                ("conn", f64::from(conn.id.0)),
                ("t_s", sample.at.as_secs_f64()),
                ("cwnd_bytes", sample.cwnd_bytes as f64),
                ("ssthresh_bytes", sample.ssthresh_bytes.map_or(f64::NAN, |bytes| bytes as f64)),
                ("srtt_ms", ms(sample.srtt)),
                ("in_flight_bytes", sample.in_flight_bytes as f64),
            ]);
        }
        let mut columns = vec![("flow", names.column()), ("side", sides.column())];
        columns.extend(numbers.into_columns());
        Table::new(columns)
    }
}
