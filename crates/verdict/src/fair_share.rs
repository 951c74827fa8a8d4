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
//! interval in which the same applications are active. The demand of another application in a part
//! is its mean throughput. Another transfer is greedy, and beside fewer others it gets more than its
//! mean. Its demand is therefore at least the share of a greedy transfer in this part, multiplied by
//! the part of its own mean share that it reached.
//!
//! Rates count IP packets. The capacity of a link is the IP rate that it carries in full-sized
//! packets. The capacity of a radio is not known in advance, so the traffic that it carried counts
//! as its capacity. The capacity of a link whose rate varies is its mean while the transfer is
//! active. A shaper whose rate an application changes has no capacity of its own, so the fair share
//! is that of the other links. If there are none, its carried traffic counts as its capacity.

use std::cell::OnceCell;

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
    /// Whether the traffic is the data of an application that takes all that it can get.
    is_greedy: bool,
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

/// The traffic of a trial in one direction.
struct Direction<'a> {
    traffic: Vec<Traffic<'a>>,
    /// For each link, the fair shares of the applications, once they were needed.
    fair_mbit: Vec<OnceCell<Vec<f64>>>,
}

/// The traffic of a trial in each direction.
pub(crate) struct Traffics<'a> {
    trial: &'a Trial,
    by_direction: [Direction<'a>; 2],
}

impl<'a> Traffics<'a> {
    /// Returns the traffic in `flows`. `apps` contains the completion times of transfers, which
    /// tables without active intervals need.
    pub(crate) fn new(trial: &'a Trial, flows: &'a [FlowRow], apps: &[AppRow]) -> Self {
        let in_direction = |direction: &str| {
            let rows = flows.iter().filter(|row| row.direction == direction);
            Direction {
                traffic: rows.filter_map(|row| traffic(trial, row, apps)).collect(),
                fair_mbit: vec![OnceCell::new(); trial.links.len()],
            }
        };
        Self { trial, by_direction: ["up", "down"].map(in_direction) }
    }

    /// Returns the rate and the fair share of the application called `name`, on the link where its
    /// fair share is smallest. If both directions carry its data, the direction with the smaller
    /// percentage of its fair share counts. Returns `None` if no direction with its data was active
    /// on a link.
    pub(crate) fn of(&self, name: &str) -> Option<FairShare> {
        let mut worst: Option<FairShare> = None;
        for direction in &self.by_direction {
            let all = direction.traffic.iter().enumerate();
            let own = all.filter(|(_, one)| one.primary && one.app.name == name);
            for (at, flow) in own.filter(|(_, flow)| flow.stop_ns > flow.start_ns) {
                let links = self.trial.bounding(flow.links);
                let shares = links.into_iter().map(|link| self.on_link(link, at, direction));
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
        let direction = &self.by_direction[usize::from(direction == "down")];
        let is_own = |one: &Traffic| one.app.name == name && one.stop_ns > one.start_ns;
        let at = direction.traffic.iter().position(is_own)?;
        let links = self.trial.bounding(direction.traffic[at].links);
        links.into_iter().map(|link| self.on_link(link, at, direction).fair).reduce(f64::min)
    }

    /// Returns the rate and the fair share of the traffic number `at` on one of its links.
    fn on_link(&self, link: usize, at: usize, direction: &Direction) -> FairShare {
        let (all, flow) = (&direction.traffic, &direction.traffic[at]);
        let fair = direction.fair_mbit[link].get_or_init(|| self.fair_on(link, all));
        let on_link = all.iter().filter(|one| one.links.contains(&link));
        let carried: f64 = on_link.map(|one| one.during(flow)).sum();
        let is_adapted = self.trial.is_adapted(link);
        let times = (flow.start_ns, flow.stop_ns);
        let capacity = if is_adapted { None } else { self.stated_mbit(link, times) };
        FairShare {
            got: flow.mbit,
            fair: fair[at],
            unused: capacity.map_or(0.0, |capacity| (capacity - carried).max(0.0)),
        }
    }

    /// Returns the fair share of each application on a link in Mbit/s, or 0 for an application that
    /// was not active there.
    fn fair_on(&self, link: usize, all: &[Traffic]) -> Vec<f64> {
        let is_on = |one: &Traffic| one.links.contains(&link) && one.start_ns < one.stop_ns;
        let on: Vec<usize> = (0..all.len()).filter(|&at| is_on(&all[at])).collect();
        let is_adapted = self.trial.is_adapted(link);
        let parts: Vec<Part> = intervals(on.iter().map(|&at| &all[at]))
            .into_iter()
            .map(|times| {
                let active: Vec<&Traffic> =
                    on.iter().map(|&at| &all[at]).filter(|one| one.is_active_in(times)).collect();
                let carried = || active.iter().map(|one| one.mbit).sum();
                let stated = if is_adapted { None } else { self.stated_mbit(link, times) };
                let capacity_mbit = stated.unwrap_or_else(carried);
                Part { times, capacity_mbit, greedy_mbit: greedy_share(capacity_mbit, &active) }
            })
            .collect();
        // The active applications of a part are found again, because to keep them would take memory
        // for the square of the number of applications.
        let active = |part: &Part| {
            let times = part.times;
            on.iter().copied().filter(move |&at| all[at].is_active_in(times))
        };
        let mut shares = Means::new(all.len());
        for part in &parts {
            active(part).for_each(|at| shares.add(at, part.greedy_mbit, part.length()));
        }
        let mut fair = Means::new(all.len());
        for part in &parts {
            let demand = |at: usize| {
                let (one, share) = (&all[at], shares.mean(at));
                let reached = if one.mbit < share { one.mbit / share } else { 1.0 };
                let least = if one.is_greedy { part.greedy_mbit * reached } else { 0.0 };
                (one.mbit.max(least), at)
            };
            let mut demands: Vec<(f64, usize)> = active(part).map(demand).collect();
            demands.sort_by(|one, other| one.0.total_cmp(&other.0));
            for (at, share) in beside_others(part.capacity_mbit, &demands) {
                fair.add(at, share, part.length());
            }
        }
        (0..all.len()).map(|at| fair.mean(at)).collect()
    }

    /// Returns the mean capacity of a link in Mbit/s during an interval; `None` if the trial does
    /// not state it.
    fn stated_mbit(&self, link: usize, (from_ns, to_ns): (u64, u64)) -> Option<f64> {
        self.trial.links[link].capacity_mbit(from_ns, to_ns)
    }
}

/// An interval in which the same applications are active on a link.
struct Part {
    /// The start and the end in nanoseconds.
    times: (u64, u64),
    /// The capacity of the link.
    capacity_mbit: f64,
    /// The share that each greedy transfer would get; 0 without greedy transfers.
    greedy_mbit: f64,
}

impl Part {
    fn length(&self) -> f64 {
        (self.times.1 - self.times.0) as f64
    }
}

/// Returns the share of a link's `capacity` that each greedy transfer among the `active`
/// applications would get; 0 without greedy transfers.
fn greedy_share(capacity: f64, active: &[&Traffic]) -> f64 {
    let demand = |one: &&Traffic| if one.is_greedy { f64::INFINITY } else { one.mbit };
    let mut demands: Vec<f64> = active.iter().map(demand).collect();
    demands.sort_by(f64::total_cmp);
    match demands.pop() {
        Some(f64::INFINITY) => max_min_share(capacity, &demands),
        _ => 0.0,
    }
}

/// Means over time, by number.
struct Means {
    sums: Vec<(f64, f64)>,
}

impl Means {
    fn new(count: usize) -> Self {
        Self { sums: vec![(0.0, 0.0); count] }
    }

    fn add(&mut self, at: usize, value: f64, length: f64) {
        let (sum, total) = &mut self.sums[at];
        *sum += value * length;
        *total += length;
    }

    fn mean(&self, at: usize) -> f64 {
        let (sum, total) = self.sums[at];
        if total > 0.0 { sum / total } else { 0.0 }
    }
}

/// Returns the intervals between successive starts and ends of `traffic`.
fn intervals<'a>(traffic: impl Iterator<Item = &'a Traffic<'a>>) -> Vec<(u64, u64)> {
    let mut ends: Vec<u64> = traffic.flat_map(|one| [one.start_ns, one.stop_ns]).collect();
    ends.sort_unstable();
    ends.dedup();
    ends.windows(2).map(|next| (next[0], next[1])).collect()
}

/// Returns the max-min fair share of each flow if this flow were greedy. `demands` are sorted, and
/// each demand is followed by the number of its flow.
fn beside_others(capacity: f64, demands: &[(f64, usize)]) -> Vec<(usize, f64)> {
    let count = demands.len();
    // The sums of the first demands.
    let mut sums = vec![0.0; count + 1];
    for (at, (demand, _)) in demands.iter().enumerate() {
        sums[at + 1] = sums[at] + demand;
    }
    let share = |own: usize| {
        // The demand number `served` of the others, and what is left for it and the rest.
        let other = |served: usize| demands[served + usize::from(served >= own)].0;
        let left = |served: usize| {
            let taken = sums[served + usize::from(served > own)];
            capacity - if served > own { taken - demands[own].0 } else { taken }
        };
        let equal = |served: usize| left(served) / (count - served) as f64;
        // Once a demand is at least an equal part, so is every larger one.
        let mut served = 0..count - 1;
        while !served.is_empty() {
            let middle = served.start + served.len() / 2;
            if other(middle) >= equal(middle) {
                served.end = middle;
            } else {
                served.start = middle + 1;
            }
        }
        equal(served.start)
    };
    (0..count).map(|own| (demands[own].1, share(own))).collect()
}

/// Returns the max-min fair share of `capacity` for a greedy flow beside other flows with the
/// sorted `demands`.
fn max_min_share(mut capacity: f64, demands: &[f64]) -> f64 {
    for (served, demand) in demands.iter().enumerate() {
        let equal = capacity / (demands.len() + 1 - served) as f64;
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
    let is_greedy = row.primary && app.is_transfer();
    let traffic = Traffic { app, primary: row.primary, is_greedy, links, mbit, start_ns, stop_ns };
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
    use aqmlab_core::Rng;

    use super::{beside_others, max_min_share};

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

    #[test]
    fn the_share_beside_all_others_is_the_max_min_share() {
        let mut rng = Rng::stream(1, "shares");
        for _ in 0..2_000 {
            let count = 1 + rng.below(6) as usize;
            let mut demands: Vec<(f64, usize)> =
                (0..count).map(|at| (rng.below(8) as f64, at)).collect();
            demands.sort_by(|one, other| one.0.total_cmp(&other.0));
            for (own, (at, share)) in beside_others(10.0, &demands).into_iter().enumerate() {
                assert_eq!(at, demands[own].1);
                let others: Vec<f64> =
                    demands.iter().filter(|one| one.1 != at).map(|one| one.0).collect();
                let want = max_min_share(10.0, &others);
                assert!((share - want).abs() < 1e-9, "{demands:?}, {at}: {share} {want}");
            }
        }
    }
}
