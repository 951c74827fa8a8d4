//! The values of one application in one trial.

use std::collections::BTreeMap;

use aqmlab_apps::kinds::needs_of;
use aqmlab_apps::needs::{Measure, Need};
use aqmlab_apps::requirements::Percentile;

use crate::fair_share::{self, FairShare, Traffics};
use crate::quality::Source;
use crate::requirement::Path;
use crate::rows::{AppRow, FlowRow};
use crate::transfer::{Transfer, TransferTime};
use crate::trial::{App, Trial};

/// The minimum active time in nanoseconds after which a direction counts as dead if nothing has
/// arrived. In a shorter time the first packet may still be in transit. Three base round-trip times
/// apply if they are longer.
const PATIENCE_NS: u64 = 1_000_000_000;

/// The measurements of an application in a trial.
pub(crate) struct Measured<'a> {
    trial: &'a Trial,
    app: &'a App,
    flows: Vec<&'a FlowRow>,
    own: BTreeMap<&'a str, f64>,
    traffics: &'a Traffics<'a>,
    pub(crate) share: Option<FairShare>,
    pub(crate) time: Option<TransferTime>,
    judged_ms: Option<f64>,
}

impl<'a> Measured<'a> {
    /// Returns the measurements of `app` from the rows of the trial's tables. Only a transfer can
    /// have a share or a time.
    pub(crate) fn of(
        trial: &'a Trial,
        app: &'a App,
        (flows, apps): (&'a [FlowRow], &'a [AppRow]),
        traffics: &'a Traffics<'a>,
    ) -> Self {
        let is_transfer = is_transfer(&app.app.kind);
        let of_transfer = Some(traffics).filter(|_| is_transfer);
        let own = apps.iter().filter(|row| row.flow == app.name && row.value.is_finite());
        let transfer = of_transfer.and_then(|_| Transfer::of(trial, app, flows, apps));
        let judged_ms = transfer.as_ref().and_then(Transfer::judged_ms);
        Self {
            trial,
            app,
            flows: flows.iter().filter(|row| row.flow == app.name).collect(),
            own: own.map(|row| (row.metric.as_str(), row.value)).collect(),
            traffics,
            // A transfer that has a time needs no share.
            share: of_transfer.filter(|_| judged_ms.is_none()).and_then(|all| all.of(&app.name)),
            time: transfer.as_ref().and_then(Transfer::time),
            judged_ms,
        }
    }

    /// Returns the measured value of the quantity that a need limits; `None` if it was not
    /// measured.
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

    /// Returns the application's own metric `name`, if it was recorded.
    pub(crate) fn own(&self, name: &str) -> Option<f64> {
        self.own.get(name).copied()
    }

    /// Returns 100 if any packet arrived. Returns 0 if none arrived, although packets were sent in
    /// a direction and a first packet had enough time to arrive. Otherwise returns `None`.
    pub(crate) fn arrived_percent(&self) -> Option<f64> {
        let arrived = |row: &&FlowRow| row.get("packets_received").is_some_and(|count| count > 0.0);
        if self.flows.iter().any(arrived) {
            return Some(100.0);
        }
        self.flows.iter().any(|row| self.is_dead(row)).then_some(0.0)
    }

    /// Returns the loss in a direction in per cent, if it is known. If [`Self::is_dead`] holds, the
    /// loss is 100 %. The table alone would not distinguish lost packets from packets in transit.
    fn loss_percent(&self, row: &FlowRow) -> Option<f64> {
        if self.is_dead(row) { Some(100.0) } else { row.get("loss_percent") }
    }

    /// Returns whether packets were sent in a direction and none arrived, although the direction
    /// was active for as long as a first packet may take.
    fn is_dead(&self, row: &FlowRow) -> bool {
        let scheduled = (self.app.start_ns, self.trial.end_of(self.app));
        let (from, to) = fair_share::active(row).unwrap_or(scheduled);
        let enough = PATIENCE_NS.max(self.app.rtt_base_ns().saturating_mul(3));
        row.get("packets_sent").is_some_and(|count| count > 0.0)
            && row.get("packets_received").is_some_and(|count| count <= 0.0)
            && to.saturating_sub(from) >= enough
    }

    /// Returns the rows of the directions that carry data.
    fn primary(&self) -> impl Iterator<Item = &FlowRow> {
        self.flows.iter().copied().filter(|row| row.primary)
    }

    /// Returns the rows that a requirement limits: for [`Path::Both`], the rows of the directions
    /// that carry data, and otherwise the row of the one direction.
    fn on(&self, path: Path) -> impl Iterator<Item = &FlowRow> {
        let rows = self.flows.iter().copied();
        rows.filter(move |row| path.has(&row.direction) && (path != Path::Both || row.primary))
    }

    /// Returns the worst value of the column `name` among the directions that carry data, if any of
    /// them has a value. `worse` returns the worse of two values.
    pub(crate) fn worst(&self, name: &str, worse: fn(f64, f64) -> f64) -> Option<f64> {
        self.primary().filter_map(|row| row.get(name)).reduce(worse)
    }
}

impl Source for Measured<'_> {
    fn latency_ms(&self, path: Path, percentile: Percentile) -> Option<f64> {
        let name = format!("{}_{}_ms", path.prefix(), percentile.name());
        self.on(path).filter_map(|row| row.get(&name)).reduce(f64::max)
    }

    fn loss_percent(&self, path: Path) -> Option<f64> {
        let arrived = |row: &FlowRow| Some(1.0 - self.loss_percent(row)? / 100.0);
        let arrived: Option<Vec<f64>> = self.on(path).map(arrived).collect();
        let both = arrived?.into_iter().reduce(|one, other| one * other)?;
        Some(100.0 * (1.0 - both))
    }

    fn rate_mbit(&self, path: Path) -> Option<f64> {
        let available = |row: &FlowRow| {
            let got = row.get("throughput_mean_mbit")?;
            let share = || self.traffics.fair_mbit(&self.app.name, &row.direction);
            if is_transfer(&self.app.app.kind) { Some(got) } else { Some(got.max(share()?)) }
        };
        let rates: Option<Vec<f64>> = self.on(path).map(available).collect();
        rates?.into_iter().reduce(f64::min)
    }
}

/// Returns whether applications of a kind are transfers, which are judged by their speed.
pub fn is_transfer(kind: &str) -> bool {
    needs_of(kind).is_some_and(|needs| needs.needs.iter().any(is_speed))
}

/// Returns whether a need limits the speed of a transfer: its fair share or its time.
pub(crate) fn is_speed(need: &Need) -> bool {
    matches!(need.measure, Measure::FairShare | Measure::TransferTime)
}
