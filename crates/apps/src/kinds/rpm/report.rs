//! The metrics of one direction.

use aqmlab_core::{Direction, Instant};

use super::history::History;
use crate::quantiles::Summary;

/// The names of the metrics of one direction.
pub(crate) struct Names {
    pub(crate) responsiveness: &'static str,
    foreign: &'static str,
    loaded: &'static str,
    tcp_foreign: &'static str,
    tls_foreign: &'static str,
    http_foreign: &'static str,
    http_loaded: &'static str,
    pub(crate) goodput: &'static str,
    probes: [&'static str; 2],
    pub(crate) loads: &'static str,
    pub(crate) goodput_confidence: &'static str,
    pub(crate) responsiveness_confidence: &'static str,
}

const NAMES: [Names; 2] = [
    Names {
        responsiveness: "responsiveness_up_rpm",
        foreign: "foreign_up_rpm",
        loaded: "loaded_up_rpm",
        tcp_foreign: "tcp_foreign_up_ms",
        tls_foreign: "tls_foreign_up_ms",
        http_foreign: "http_foreign_up_ms",
        http_loaded: "http_loaded_up_ms",
        goodput: "goodput_up_mbit",
        probes: ["foreign_probes_up_count", "self_probes_up_count"],
        loads: "load_connections_up_count",
        goodput_confidence: "goodput_confidence_up",
        responsiveness_confidence: "responsiveness_confidence_up",
    },
    Names {
        responsiveness: "responsiveness_down_rpm",
        foreign: "foreign_down_rpm",
        loaded: "loaded_down_rpm",
        tcp_foreign: "tcp_foreign_down_ms",
        tls_foreign: "tls_foreign_down_ms",
        http_foreign: "http_foreign_down_ms",
        http_loaded: "http_loaded_down_ms",
        goodput: "goodput_down_mbit",
        probes: ["foreign_probes_down_count", "self_probes_down_count"],
        loads: "load_connections_down_count",
        goodput_confidence: "goodput_confidence_down",
        responsiveness_confidence: "responsiveness_confidence_down",
    },
];

impl Names {
    /// Returns the names of the metrics of `direction`.
    pub(crate) const fn of(direction: Direction) -> &'static Self {
        &NAMES[direction.index()]
    }

    /// Adds the metrics of `history`, whose last interval ends at `end`, to `out`.
    pub(crate) fn report(&self, history: &History, trim: f64, end: Instant, out: &mut Summary) {
        let means = history.means(trim);
        let measures = [
            (self.responsiveness, means.responsiveness_rpm()),
            (self.foreign, means.foreign_rpm()),
            (self.loaded, means.loaded_rpm()),
            (self.tcp_foreign, means.tcp_foreign),
            (self.tls_foreign, means.tls_foreign),
            (self.http_foreign, means.http_foreign),
            (self.http_loaded, means.http_loaded),
            (self.goodput, history.read_bps(end).map(|bps| bps / 1e6)),
        ];
        out.extend(measures.into_iter().filter_map(|(name, value)| Some((name, value?))));
        let counts = history.probes().map(|count| count as f64);
        out.extend(self.probes.into_iter().zip(counts));
    }
}
