//! The fair share of a transfer.
//!
//! Source: Philip et al. use the max-min fair share for services on the internet (2024, "Prudentia:
//! Findings of an Internet Fairness Watchdog", ACM SIGCOMM). An application that demands less than
//! an equal share gets its demand. The other applications share the remaining capacity. The demand
//! is not observable, so the throughput is used in its place. The transfer itself counts as greedy,
//! so its share is an equal part of the remaining capacity. Difference: all connections of an
//! application count as one, because a person at home did not open them.
//!
//! The share is the mean over the transfer's active interval. It is computed for each part of this
//! interval in which the same applications are active. An application has the same demand in all
//! parts. A greedy application alone on the link gets more than its share beside the transfer, so
//! its mean throughput must not be spread over the parts.
//!
//! Rates count IP packets. The capacity of a link is the IP rate that it carries in full-sized
//! packets. The capacity of a radio is not known in advance, so the traffic that it carried counts
//! as its capacity. The capacity of a link whose rate varies is its mean while the transfer is
//! active. A shaper whose rate an application changes has no capacity of its own, so the fair share
//! is that of the other links. If there are none, its carried traffic counts as its capacity.

use crate::rows::{AppRow, FlowRow};
use crate::trial::{App, Trial};

/// The rate of a transfer and its fair share, in Mbit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct FairShare {
    /// The rate of the transfer.
    pub(crate) got: f64,
    /// The fair share of the transfer.
    pub(crate) fair: f64,
    /// The capacity of the link that no application used.
    pub(crate) unused: f64,
}

impl FairShare {
    pub(crate) fn percent(self) -> f64 {
        if self.fair > 0.0 { 100.0 * self.got / self.fair } else { 0.0 }
    }
}

/// The traffic of one application in one direction, and its active interval.
struct Traffic<'a> {
    app: &'a App,
    primary: bool,
    links: &'a [usize],
    mbit: f64,
    start_ns: u64,
    stop_ns: u64,
}

impl Traffic<'_> {
    /// Returns the application's mean rate in Mbit/s during the active interval of `other`.
    fn during(&self, other: &Traffic) -> f64 {
        let both =
            self.stop_ns.min(other.stop_ns).saturating_sub(self.start_ns.max(other.start_ns));
        self.mbit * both as f64 / (other.stop_ns - other.start_ns) as f64
    }

    fn is_active_in(&self, (from_ns, to_ns): (u64, u64)) -> bool {
        self.start_ns < to_ns && from_ns < self.stop_ns
    }
}

/// The traffic of a trial in each direction.
pub(crate) struct Traffics<'a> {
    trial: &'a Trial,
    by_direction: [Vec<Traffic<'a>>; 2],
}

impl<'a> Traffics<'a> {
    /// Returns the traffic in `flows`. `apps` contains the completion times of transfers, which
    /// tables without active intervals need.
    pub(crate) fn new(trial: &'a Trial, flows: &'a [FlowRow], apps: &[AppRow]) -> Self {
        let in_direction = |direction: &str| {
            let rows = flows.iter().filter(|row| row.direction == direction);
            rows.filter_map(|row| traffic(trial, row, apps)).collect()
        };
        Self { trial, by_direction: ["up", "down"].map(in_direction) }
    }

    /// Returns the rate and the fair share of the application called `name`, on the link where its
    /// fair share is smallest. If both directions carry its data, the direction with the smaller
    /// percentage of its fair share counts. Returns `None` if no direction with its data was active
    /// on a link.
    pub(crate) fn of(&self, name: &str) -> Option<FairShare> {
        let mut worst: Option<FairShare> = None;
        for ran in &self.by_direction {
            let own = ran.iter().filter(|one| one.primary && one.app.name == name);
            for flow in own.filter(|flow| flow.stop_ns > flow.start_ns) {
                let links = self.trial.bounding(flow.links);
                let shares = links.into_iter().map(|link| self.on_link(link, flow, ran));
                let least = shares.min_by(|one, other| one.fair.total_cmp(&other.fair));
                worst = [worst, least]
                    .into_iter()
                    .flatten()
                    .min_by(|one, other| one.percent().total_cmp(&other.percent()));
            }
        }
        worst
    }

    /// Returns the fair share of the application called `name` in a direction, in Mbit/s; `None` if
    /// it was not active on a link in this direction.
    pub(crate) fn fair_mbit(&self, name: &str, direction: &str) -> Option<f64> {
        let ran = &self.by_direction[usize::from(direction == "down")];
        let is_own = |one: &&Traffic| one.app.name == name && one.stop_ns > one.start_ns;
        let flow = ran.iter().find(is_own)?;
        let links = self.trial.bounding(flow.links);
        let shares = links.into_iter().map(|link| self.on_link(link, flow, ran).fair);
        shares.reduce(f64::min)
    }

    fn on_link(&self, link: usize, flow: &Traffic, ran: &[Traffic]) -> FairShare {
        let others: Vec<&Traffic> = ran
            .iter()
            .filter(|one| !std::ptr::eq(*one, flow) && one.links.contains(&link))
            .collect();
        let carried = flow.mbit + others.iter().map(|one| one.during(flow)).sum::<f64>();
        let whole = (flow.start_ns, flow.stop_ns);
        let fair = parts(whole, &others).map(|part| {
            let demands: Vec<f64> =
                others.iter().filter(|one| one.is_active_in(part)).map(|one| one.mbit).collect();
            let moved = || flow.mbit + demands.iter().sum::<f64>();
            let capacity = self.capacity_mbit(link, part).unwrap_or_else(moved);
            max_min_share(capacity, &demands) * (part.1 - part.0) as f64
        });
        FairShare {
            got: flow.mbit,
            fair: fair.sum::<f64>() / (whole.1 - whole.0) as f64,
            unused: self.capacity_mbit(link, whole).map_or(0.0, |all| (all - carried).max(0.0)),
        }
    }

    /// Returns the mean capacity of a link in Mbit/s during an interval; `None` if it is not known.
    fn capacity_mbit(&self, link: usize, (from_ns, to_ns): (u64, u64)) -> Option<f64> {
        if self.trial.is_adapted(link) {
            return None;
        }
        self.trial.links[link].capacity_mbit(from_ns, to_ns)
    }
}

/// Returns the parts of an interval that the starts and the ends of `others` divide it into.
fn parts(whole: (u64, u64), others: &[&Traffic]) -> impl Iterator<Item = (u64, u64)> + use<> {
    let inside = |at: &u64| whole.0 < *at && *at < whole.1;
    let mut ends: Vec<u64> =
        others.iter().flat_map(|one| [one.start_ns, one.stop_ns]).filter(inside).collect();
    ends.extend([whole.0, whole.1]);
    ends.sort_unstable();
    ends.dedup();
    (1..ends.len()).map(move |next| (ends[next - 1], ends[next]))
}

/// Returns the max-min fair share of `capacity` for a greedy flow beside other flows with
/// `demands`.
fn max_min_share(mut capacity: f64, demands: &[f64]) -> f64 {
    let mut least_first = demands.to_vec();
    least_first.sort_by(f64::total_cmp);
    for (served, demand) in least_first.iter().enumerate() {
        let equal = capacity / (least_first.len() + 1 - served) as f64;
        if *demand >= equal {
            return equal;
        }
        capacity -= demand;
    }
    capacity
}

fn traffic<'a>(trial: &'a Trial, row: &'a FlowRow, apps: &[AppRow]) -> Option<Traffic<'a>> {
    let app = trial.apps.iter().find(|app| app.name == row.flow)?;
    let links = &app.route(&row.direction).links;
    let (start_ns, stop_ns) = active(row).unwrap_or_else(|| ran(trial, app, apps));
    let mbit = row.get("throughput_mean_mbit").unwrap_or(0.0);
    let traffic = Traffic { app, primary: row.primary, links, mbit, start_ns, stop_ns };
    (!links.is_empty()).then_some(traffic)
}

/// Returns the start and the end of a flow's active interval in nanoseconds. The flow's rate is
/// measured over this interval. Returns `None` if the row lacks the interval.
pub(crate) fn active(row: &FlowRow) -> Option<(u64, u64)> {
    let ns = |name| row.get(name).map(|seconds| (seconds * 1e9).round() as u64);
    ns("active_from_s").zip(ns("active_to_s"))
}

/// Returns the part of the measured interval in which an application ran, for tables without active
/// intervals. The start and the end are in nanoseconds.
fn ran(trial: &Trial, app: &App, apps: &[AppRow]) -> (u64, u64) {
    let took = apps.iter().find(|row| row.flow == app.name && row.metric == "completion_time_s");
    let took = took.map_or(u64::MAX, |row| (row.value * 1e9) as u64);
    let stop = trial.end_of(app).min(app.start_ns.saturating_add(took));
    let (from, to) = trial.interval();
    (app.start_ns.max(from), stop.min(to))
}

#[cfg(test)]
mod tests {
    use super::max_min_share;

    #[test]
    fn what_others_do_not_demand_is_left() {
        let cases: [(&[f64], f64); 6] = [
            (&[], 9.0),
            (&[1.0], 8.0),
            (&[8.0], 4.5),
            (&[1.0, 8.0], 4.0),
            (&[1.0, 1.0, 8.0], 3.5),
            (&[9.0, 9.0, 9.0], 2.25),
        ];
        for (demands, left) in cases {
            assert!((max_min_share(9.0, demands) - left).abs() < 1e-12, "{demands:?}");
        }
    }
}
