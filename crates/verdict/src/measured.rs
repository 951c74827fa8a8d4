//! The values of one application in one trial.

use std::collections::BTreeMap;

use aqmlab_apps::needs::{Measure, Need};

use crate::fair_share::{self, FairShare, Traffics};
use crate::rows::{AppRow, FlowRow};
use crate::transfer::{Transfer, TransferTime};
use crate::trial::{App, Trial};

/// The active time below which an application may still wait for its first packet.
const PATIENCE_NS: u64 = 1_000_000_000;

/// The measurements of an application in a trial.
pub(crate) struct Measured<'a> {
    trial: &'a Trial,
    app: &'a App,
    flows: Vec<&'a FlowRow>,
    own: BTreeMap<&'a str, f64>,
    pub(crate) share: Option<FairShare>,
    pub(crate) time: Option<TransferTime>,
    judged_ms: Option<f64>,
}

impl<'a> Measured<'a> {
    /// Returns the measurements of `app`. Only a transfer has a share and a time.
    pub(crate) fn of(
        trial: &'a Trial,
        app: &'a App,
        (flows, apps): (&'a [FlowRow], &'a [AppRow]),
        traffics: Option<&Traffics>,
    ) -> Self {
        let own = apps.iter().filter(|row| row.flow == app.name && row.value.is_finite());
        let transfer = traffics.and_then(|_| Transfer::of(trial, app, flows, apps));
        let judged_ms = transfer.as_ref().and_then(Transfer::judged_ms);
        Self {
            trial,
            app,
            flows: flows.iter().filter(|row| row.flow == app.name).collect(),
            own: own.map(|row| (row.metric.as_str(), row.value)).collect(),
            // A transfer that has a time needs no share.
            share: traffics.filter(|_| judged_ms.is_none()).and_then(|all| all.of(&app.name)),
            time: transfer.as_ref().and_then(Transfer::time),
            judged_ms,
        }
    }

    /// Returns the value of a need; `None` if it was not measured.
    pub(crate) fn value(&self, need: &Need) -> Option<f64> {
        let worse = if need.more_is_better { f64::min } else { f64::max };
        match need.measure {
            Measure::Own(names) => names.iter().filter_map(|name| self.own(name)).reduce(worse),
            Measure::OneWayDelay => self.worst("owd_p95_ms", worse),
            Measure::RoundTrip => self.worst("rtt_p95_ms", worse),
            Measure::Loss => self.primary().filter_map(|row| self.loss_percent(row)).reduce(worse),
            Measure::Rate => self.worst("throughput_mean_mbit", worse),
            Measure::FairShare => self.share.map(FairShare::percent),
            Measure::TransferTime => self.judged_ms,
        }
    }

    /// Returns a measure of the application itself.
    pub(crate) fn own(&self, name: &str) -> Option<f64> {
        self.own.get(name).copied()
    }

    /// Returns whether any data arrived, in per cent: 0 or 100. Returns `None` if the application
    /// sent nothing, or was not active for long enough.
    pub(crate) fn arrived_percent(&self) -> Option<f64> {
        let arrived = |row: &&FlowRow| row.get("packets_received").is_some_and(|count| count > 0.0);
        if self.flows.iter().any(arrived) {
            return Some(100.0);
        }
        self.flows.iter().any(|row| self.is_dead(row)).then_some(0.0)
    }

    /// Returns the loss in a direction in per cent. If nothing arrived for longer than a first
    /// packet may take, the loss is 100 %. The table alone would not distinguish lost packets from
    /// packets in transit.
    fn loss_percent(&self, row: &FlowRow) -> Option<f64> {
        if self.is_dead(row) { Some(100.0) } else { row.get("loss_percent") }
    }

    /// Returns whether nothing arrived in a direction for longer than a first packet may take.
    fn is_dead(&self, row: &FlowRow) -> bool {
        let scheduled = (self.app.start_ns, self.trial.end_of(self.app));
        let (from, to) = fair_share::active(row).unwrap_or(scheduled);
        let enough = PATIENCE_NS.max(self.app.rtt_base_ns().saturating_mul(3));
        row.get("packets_sent").is_some_and(|count| count > 0.0)
            && row.get("packets_received").is_some_and(|count| count <= 0.0)
            && to.saturating_sub(from) >= enough
    }

    /// Returns the directions that carry data.
    fn primary(&self) -> impl Iterator<Item = &FlowRow> {
        self.flows.iter().copied().filter(|row| row.primary)
    }

    /// Returns the worst value among the directions that carry data.
    pub(crate) fn worst(&self, name: &str, worse: fn(f64, f64) -> f64) -> Option<f64> {
        self.primary().filter_map(|row| row.get(name)).reduce(worse)
    }
}
