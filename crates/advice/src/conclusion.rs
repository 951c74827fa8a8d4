//! The conclusion of the advice, from the verdicts of the cases that were run: the sufficient
//! tiers, and the gains and the costs of the better gateway.
//!
//! `choice.rs` chooses the better gateway. `headline.rs` decides whether the gateway, the tier or
//! both are the cause of a bad service.

use aqmlab_verdict::{Report, Service, Word};

use crate::choice;
use crate::evidence::{Candidate, Case, Evidence, is_transfer, is_worse_than, round_trip_limit};
use crate::facts::{ByMedian, Conclusion, Cost, Gain, GatewayResult, Setback, Spoiled, TierCount};
use crate::words;

/// The maximum number of applications that a sentence names.
const MOST_NAMED: usize = 4;
/// The maximum number of sentences on each subject: applications that are not served, gains and
/// costs.
const MOST_SENTENCES: usize = 3;

/// Returns the conclusion from the runs in `known`. A gateway without a case has no sufficient
/// tier.
pub(crate) fn of(known: &Evidence) -> Conclusion {
    let gateways: Vec<_> = known.gateways.iter().map(|one| result(known, one)).collect();
    let better = choice::better(known, &gateways);
    let tier = better.as_ref().map(|better| better.tier.clone());
    let compared_at = known.today_tier.clone().or(tier);
    let compared_at = compared_at.or_else(|| gateways.first()?.served.clone());
    let compared_at = compared_at.or_else(|| known.tiers.last().cloned()).unwrap_or_default();
    let now = known.gateways.first().and_then(|today| today.at(&compared_at));
    let replacing = better.as_ref().filter(|better| !better.is_for_slower_tier);
    let then = replacing.and_then(|better| known.gateway(&better.name)?.at(&compared_at));
    let pair = now.zip(then);
    let cases = known.gateways.iter().flat_map(|gateway| &gateway.cases);
    let fastest = cases.max_by_key(|case| known.order(&case.tier));
    Conclusion {
        seeds: known.seeds(),
        fastest: fastest.map(|case| case.tier.clone()).unwrap_or_default(),
        spoiled: now.map(|now| spoiled(known, now)).unwrap_or_default(),
        better,
        gains: pair.map(|(now, then)| gains(known, now, then)).unwrap_or_default(),
        costs: pair.map(|(now, then)| costs(known, now, then)).unwrap_or_default(),
        gateways,
        compared_at,
    }
}

/// Returns the descriptions of some applications of a case. A description states how many of the
/// applications with the same description are meant. If there are more than [`MOST_NAMED`], the
/// last text states the number of descriptions that are left out.
pub(crate) fn named<'a>(
    known: &Evidence,
    case: &Case,
    apps: impl Iterator<Item = &'a Report>,
) -> Vec<String> {
    let mut names = Vec::new();
    for group in grouped(known, apps) {
        let name = described(known, case, &group);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.len() > MOST_NAMED {
        let others = names.split_off(MOST_NAMED - 1).len();
        names.push(format!("{others} others"));
    }
    names
}

/// Returns applications in groups that have the same description and the same kind.
fn grouped<'a>(known: &Evidence, apps: impl Iterator<Item = &'a Report>) -> Vec<Vec<&'a Report>> {
    let mut groups: Vec<Vec<&Report>> = Vec::new();
    for one in apps {
        match groups.iter_mut().find(|group| known.are_copies(group[0], one)) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

/// Returns the description of a group of [`grouped`], whose applications belong to a case.
fn described(known: &Evidence, case: &Case, group: &[&Report]) -> String {
    let total = case.verdicts.iter().filter(|one| known.are_copies(one, group[0])).count();
    words::copies(&known.words(&group[0].app), group.len(), total)
}

fn result(known: &Evidence, gateway: &Candidate) -> GatewayResult {
    let cases = &gateway.cases;
    let first = cases.iter().position(Case::serves);
    let failed = match first {
        Some(at) => at.checked_sub(1).map(|below| &cases[below]),
        None => cases.last(),
    };
    let well = cases.iter().find(|case| case.service().is_well());
    let exceptions =
        cases.iter().skip(first.unwrap_or(cases.len())).filter(|case| case.service().bad > 0);
    let tier = |case: &Case| case.tier.clone();
    let tolerable = |at: usize| named(known, &cases[at], cases[at].tolerable());
    GatewayResult {
        name: gateway.name.clone(),
        title: gateway.title.clone(),
        served: first.map(|at| tier(&cases[at])),
        well: well.map(tier),
        tolerable: first.map(tolerable).unwrap_or_default(),
        failed: failed.filter(|_| first.is_some()).map(tier),
        failing: failed.map(|case| named(known, case, case.bad())).unwrap_or_default(),
        by_median: failed.map(|case| by_median(known, cases, case, first)).unwrap_or_default(),
        seeds_served: first.map_or(0, |at| cases[at].seeds_served(known.seeds())),
        exceptions: exceptions.map(tier).collect(),
        setbacks: cases.windows(2).filter_map(|pair| setback(known, pair)).collect(),
        tiers: cases.iter().map(|case| counted(known, case)).collect(),
    }
}

/// Returns the faster of two cases as a setback, if more applications are bad in it than in the
/// slower case, or if equally many are bad and more are not good. Returns `None` otherwise, and if
/// no application was judged in both cases.
fn setback(known: &Evidence, pair: &[Case]) -> Option<Setback> {
    let [slower, faster] = pair else { return None };
    let rank = |case: &Case| (case.service().bad, case.service().not_good());
    let is_worse = |verdict: &&Report| {
        slower.verdict(&verdict.app).is_some_and(|other| is_worse_than(verdict, other))
    };
    let apps = named(known, faster, faster.verdicts.iter().filter(is_worse));
    (rank(faster) > rank(slower) && !apps.is_empty()).then(|| Setback {
        tier: faster.tier.clone(),
        slower: slower.tier.clone(),
        apps,
    })
}

fn counted(known: &Evidence, case: &Case) -> TierCount {
    let service = case.service();
    let Service { judged, bad, good } = service;
    TierCount {
        tier: case.tier.clone(),
        judged,
        served: judged - bad,
        good,
        word: service.word(),
        seeds_served: case.seeds_served(known.seeds()),
    }
}

/// Returns the tiers that would suffice by the median of the round-trip times for the applications
/// that are bad in the case `failed` and miss only the need for short round trips there. From such
/// a tier on, the median of an application's round-trip times is within the limit. Only tiers
/// slower than the case with the index `served` count, or all tiers if `served` is `None`.
fn by_median(
    known: &Evidence,
    cases: &[Case],
    failed: &Case,
    served: Option<usize>,
) -> Vec<ByMedian> {
    let mut found: Vec<(usize, Vec<&Report>)> = Vec::new();
    for verdict in failed.bad() {
        let Some(limit_ms) = round_trip_limit(verdict) else { continue };
        let first = first_by_median(cases, &verdict.app, limit_ms);
        let Some(first) = first.filter(|&at| served.is_none_or(|served| at < served)) else {
            continue;
        };
        match found.iter_mut().find(|(at, _)| *at == first) {
            Some((_, apps)) => apps.push(verdict),
            None => found.push((first, vec![verdict])),
        }
    }
    let told = |(at, apps): (usize, Vec<&Report>)| ByMedian {
        apps: named(known, failed, apps.into_iter()),
        tier: cases[at].tier.clone(),
    };
    found.into_iter().map(told).collect()
}

/// Returns the index of the slowest case such that the median round-trip times of this case and of
/// all faster cases are within the limit. Returns `None` if the fastest case exceeds the limit or
/// has no median.
fn first_by_median(cases: &[Case], app: &str, limit_ms: f64) -> Option<usize> {
    let is_short = |case: &Case| {
        let median_ms = case.verdict(app).and_then(|verdict| verdict.medians.rtt_p50_ms);
        median_ms.is_some_and(|ms| ms <= limit_ms)
    };
    let short = cases.iter().rev().take_while(|case| is_short(case)).count();
    (short > 0).then(|| cases.len() - short)
}

fn spoiled(known: &Evidence, now: &Case) -> Vec<Spoiled> {
    let told = |group: Vec<&Report>| Spoiled {
        app: described(known, now, &group),
        felt: group[0].felt.clone(),
        because: match group[..] {
            [only] => only.because.clone(),
            _ => format!("in the first of them, {}", group[0].because),
        },
    };
    few(grouped(known, now.bad()).into_iter().map(told), |one| &one.app)
}

/// Returns up to [`MOST_SENTENCES`] interactive applications that get a better verdict and have
/// shorter round trips. The applications that are bad today come first. Among equal verdicts, the
/// application whose round-trip times shrink by the largest factor comes first.
fn gains(known: &Evidence, now: &Case, then: &Case) -> Vec<Gain> {
    let gain = |verdict: &Report| {
        let other = then.verdict(&verdict.app)?;
        let (today_ms, better_ms) = (verdict.medians.rtt_p95_ms?, other.medians.rtt_p95_ms?);
        let is_shorter = 0.0 < better_ms && better_ms < today_ms;
        (is_shorter && is_worse_than(verdict, other)).then(|| {
            let app = described(known, now, &[verdict]);
            (verdict.word, Gain { app, today_ms, better_ms })
        })
    };
    let interactive = now.verdicts.iter().filter(|one| !is_transfer(one));
    let mut found: Vec<(Word, Gain)> = interactive.filter_map(gain).collect();
    let times = |one: &Gain| one.today_ms / one.better_ms;
    found.sort_by(|(word, one), (other_word, other)| {
        other_word.cmp(word).then(times(other).total_cmp(&times(one)))
    });
    few(found.into_iter().map(|(_, one)| one), |one| &one.app)
}

/// Returns the rates of up to [`MOST_SENTENCES`] transfers that were measured in both cases. The
/// transfer that keeps the smallest share of its rate comes first. Transfers with the same
/// description count as one transfer with their mean rate.
fn costs(known: &Evidence, now: &Case, then: &Case) -> Vec<Cost> {
    let mut found: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for verdict in now.verdicts.iter().filter(|one| is_transfer(one)) {
        let rate = |of: Option<&Report>| {
            of.and_then(|one| one.medians.throughput_mean_mbit).filter(|mbit| *mbit > 0.0)
        };
        let Some(rates) = rate(Some(verdict)).zip(rate(then.verdict(&verdict.app))) else {
            continue;
        };
        let app = known.words(&verdict.app);
        match found.iter_mut().find(|(words, _)| *words == app) {
            Some((_, all)) => all.push(rates),
            None => found.push((app, vec![rates])),
        }
    }
    let mean = |(app, all): (String, Vec<(f64, f64)>)| {
        let count = all.len() as f64;
        let (today, better): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        let of = |rates: Vec<f64>| rates.iter().sum::<f64>() / count;
        let app = words::each(&app, today.len());
        Cost { app, today_mbit: of(today), better_mbit: of(better) }
    };
    let mut costs: Vec<_> = found.into_iter().map(mean).collect();
    let kept = |one: &Cost| one.better_mbit / one.today_mbit;
    costs.sort_by(|one, other| kept(one).total_cmp(&kept(other)));
    costs.truncate(MOST_SENTENCES);
    costs
}

/// Returns the first [`MOST_SENTENCES`] items that concern different applications.
fn few<T>(all: impl Iterator<Item = T>, app: fn(&T) -> &String) -> Vec<T> {
    let mut kept: Vec<T> = Vec::new();
    for one in all {
        if kept.len() < MOST_SENTENCES && !kept.iter().any(|known| app(known) == app(&one)) {
            kept.push(one);
        }
    }
    kept
}
