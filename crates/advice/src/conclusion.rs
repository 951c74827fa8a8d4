//! The conclusion of the advice, from the verdicts of the cases that were run: the sufficient
//! tiers, the better gateway, its gains and its costs.
//!
//! `headline.rs` decides whether the gateway, the tier or both are the cause of a bad service.

use aqmlab_verdict::{Report, Service, Word};

use crate::evidence::{Candidate, Case, Evidence, is_transfer, is_worse_than, round_trip_limit};
use crate::facts::{
    Better, ByMedian, Conclusion, Cost, Gain, GatewayResult, Setback, Spoiled, TierCount,
};

/// The maximum number of applications that a sentence names.
const MOST_NAMED: usize = 4;
/// The maximum number of sentences on each subject: applications that are not served, gains and
/// costs.
const MOST_SENTENCES: usize = 3;

/// Returns the conclusion from the runs in `known`. A gateway without a case has no sufficient
/// tier.
pub(crate) fn of(known: &Evidence) -> Conclusion {
    let gateways: Vec<_> = known.gateways.iter().map(|one| result(known, one)).collect();
    let better = better(known, &gateways);
    let served = better.as_ref().map(|(_, served)| served.clone());
    let compared_at = known.today_tier.clone().or(served);
    let compared_at = compared_at.or_else(|| known.tiers.last().cloned()).unwrap_or_default();
    let now = known.gateways.first().and_then(|today| today.at(&compared_at));
    let then = better.as_ref().and_then(|(at, _)| known.gateways[*at].at(&compared_at));
    let pair = now.zip(then);
    let cases = known.gateways.iter().flat_map(|gateway| &gateway.cases);
    let fastest = cases.max_by_key(|case| known.order(&case.tier));
    Conclusion {
        seeds: known.seeds(),
        fastest: fastest.map(|case| case.tier.clone()).unwrap_or_default(),
        spoiled: now.map(|now| spoiled(known, now)).unwrap_or_default(),
        better: better.map(|(at, served)| Better {
            name: gateways[at].name.clone(),
            tier: if then.is_some_and(Case::serves) { compared_at.clone() } else { served },
        }),
        gains: pair.map(|(now, then)| gains(known, now, then)).unwrap_or_default(),
        costs: pair.map(|(now, then)| costs(known, now, then)).unwrap_or_default(),
        gateways,
        compared_at,
    }
}

/// Returns the descriptions of applications, each once. If there are more than [`MOST_NAMED`], the
/// last text states the number of descriptions that are left out.
pub(crate) fn named<'a>(known: &Evidence, apps: impl Iterator<Item = &'a Report>) -> Vec<String> {
    let mut names = Vec::new();
    for name in apps.map(|verdict| known.words(&verdict.app)) {
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
    GatewayResult {
        name: gateway.name.clone(),
        title: gateway.title.clone(),
        served: first.map(|at| tier(&cases[at])),
        well: well.map(tier),
        failed: failed.filter(|_| first.is_some()).map(tier),
        failing: failed.map(|case| named(known, case.bad())).unwrap_or_default(),
        by_median: failed.map(|case| by_median(known, cases, case, first)).unwrap_or_default(),
        seeds_served: first.map_or(0, |at| cases[at].seeds_served(known.seeds())),
        exceptions: exceptions.map(tier).collect(),
        setbacks: cases.windows(2).filter_map(|pair| setback(known, pair)).collect(),
        tiers: cases.iter().map(counted).collect(),
    }
}

/// Returns the faster of two cases as a setback, if more applications are bad in it than in the
/// slower case, or if equally many are bad and more are not good. Returns `None` otherwise.
fn setback(known: &Evidence, pair: &[Case]) -> Option<Setback> {
    let [slower, faster] = pair else { return None };
    let rank = |case: &Case| (case.service().bad, case.service().not_good());
    let is_worse = |verdict: &&Report| {
        slower.verdict(&verdict.app).is_some_and(|other| is_worse_than(verdict, other))
    };
    (rank(faster) > rank(slower)).then(|| Setback {
        tier: faster.tier.clone(),
        slower: slower.tier.clone(),
        apps: named(known, faster.verdicts.iter().filter(is_worse)),
    })
}

fn counted(case: &Case) -> TierCount {
    let service = case.service();
    let Service { judged, bad, good } = service;
    TierCount { tier: case.tier.clone(), judged, served: judged - bad, good, word: service.word() }
}

/// Returns the position of the gateway that serves everyone at the slowest tier, and this tier. If
/// gateways have the same tier, the gateway that serves everyone in the most seeds comes first.
/// Further ties are decided by the fewest applications that are not good, then by whether a
/// household can set up the gateway, and then by the order of the list. Returns `None` if today's
/// gateway comes first, or if no gateway serves everyone.
fn better(known: &Evidence, results: &[GatewayResult]) -> Option<(usize, String)> {
    let rank = |at: usize| {
        let served = results[at].served.as_ref()?;
        let gateway = &known.gateways[at];
        let not_good = gateway.at(served).map_or(0, |case| case.service().not_good());
        let seeds_missed = known.seeds().saturating_sub(results[at].seeds_served);
        let is_elsewhere = at != 0 && !gateway.is_at_home;
        let order = (known.order(served), seeds_missed, not_good, is_elsewhere, at);
        Some((order, at, served))
    };
    let (_, at, served) = (0..results.len()).filter_map(rank).min()?;
    (at != 0).then(|| (at, served.clone()))
}

/// Returns the name of the gateway, other than today's, with the fewest bad applications at a tier.
/// Ties are decided by the fewest applications that are not good, and then by the order of the
/// list. A gateway without measurements at this tier comes last. Returns `None` if today's gateway
/// is the only one.
pub(crate) fn closest<'a>(known: &'a Evidence, tier: &str) -> Option<&'a String> {
    let rank = |gateway: &&Candidate| {
        let service = gateway.at(tier).map(Case::service);
        let service = service.filter(|service| service.judged > 0);
        service.map_or((true, 0, 0), |service| (false, service.bad, service.not_good()))
    };
    known.gateways.iter().skip(1).min_by_key(rank).map(|gateway| &gateway.name)
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
        apps: named(known, apps.into_iter()),
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
    let told = |verdict: &Report| Spoiled {
        app: known.words(&verdict.app),
        felt: verdict.felt.clone(),
        because: verdict.because.clone(),
    };
    few(now.bad().map(told), |one| &one.app)
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
            let app = known.words(&verdict.app);
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
