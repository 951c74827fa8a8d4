//! The choice of the better gateway.
//!
//! If the household has a tier, the better gateway serves the household better than today's gateway
//! at this tier. If no gateway does so and today's gateway serves everyone at this tier, the better
//! gateway only lets a slower tier suffice. If the household has no tier, or if no gateway serves
//! everyone at this tier, the better gateway lets the slowest tier suffice.

use std::cmp::Reverse;

use crate::evidence::{Candidate, Case, Evidence};
use crate::facts::{Better, GatewayResult};
use crate::words::is_doubtful;

/// The sort key of a case that serves everyone, best first: a case whose seeds mostly disagree
/// comes last, and then the number of good applications decides. The largest number stands for a
/// case in which everything is good.
type Standing = (bool, Reverse<usize>);

/// The sort key of a gateway that serves everyone at some tier, best first: the slowest sufficient
/// tier, the seeds in which somebody is not served there, the applications that are not good there,
/// whether it differs from today's gateway, the applications that are not good over all tiers,
/// whether only a provider can set up the gateway, and the gateway's place in the list.
type Rank = (usize, usize, usize, bool, usize, bool, usize);

/// Returns the recommended gateway. Returns `None` if today's gateway is enough, or if no gateway
/// serves everyone.
///
/// At the household's tier, a gateway is better than today's if it serves everyone and today's does
/// not. It is also better if both serve everyone and today's gateway does so in fewer than half of
/// the seeds, or makes fewer applications good.
pub(crate) fn better(known: &Evidence, results: &[GatewayResult]) -> Option<Better> {
    let today = known.gateways.first()?;
    let Some(case) = known.today_tier.as_ref().and_then(|tier| today.at(tier)) else {
        return of_slowest_tier(known, results);
    };
    let now = standing(known, case);
    let better = best_at(known, results, &case.tier, now);
    if better.is_some() || now.is_none() {
        return better.or_else(|| of_slowest_tier(known, results));
    }
    let better = of_slowest_tier(known, results)?;
    let slowest = results[0].served.as_ref().map(|served| known.order(served));
    let is_slower = slowest.is_none_or(|slowest| known.order(&better.tier) < slowest);
    is_slower.then_some(Better { is_for_slower_tier: true, ..better })
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

/// Returns the gateway that serves everyone at `tier` and has a better standing there than `now`,
/// the standing of today's gateway. If several gateways do, the best standing comes first. If
/// today's gateway does not serve everyone, only the agreement of the seeds counts here. Ties are
/// decided by [`rank`].
fn best_at(
    known: &Evidence,
    results: &[GatewayResult],
    tier: &str,
    now: Option<Standing>,
) -> Option<Better> {
    let order = |at: usize| {
        let standing = standing(known, known.gateways[at].at(tier)?)?;
        let (is_doubtful, good) = standing;
        let is_better = now.is_none_or(|now| standing < now);
        is_better.then_some(((is_doubtful, now.map(|_| good), rank(known, results, at)?), at))
    };
    let (_, at) = (1..results.len()).filter_map(order).min()?;
    Some(Better {
        name: results[at].name.clone(),
        tier: tier.to_owned(),
        is_for_slower_tier: false,
    })
}

/// Returns the gateway with the best [`rank`], set up for its slowest sufficient tier. If today's
/// gateway serves everyone at this tier, the gateway must be better there, as in [`best_at`].
/// Returns `None` if today's gateway has the best rank.
fn of_slowest_tier(known: &Evidence, results: &[GatewayResult]) -> Option<Better> {
    let ranks = (0..results.len()).filter_map(|at| rank(known, results, at).zip(Some(at)));
    let (_, at) = ranks.min().filter(|(_, at)| *at != 0)?;
    let (name, tier) = (results[at].name.clone(), results[at].served.clone()?);
    match known.gateways[0].at(&tier).and_then(|case| standing(known, case)) {
        None => Some(Better { name, tier, is_for_slower_tier: false }),
        now => best_at(known, results, &tier, now),
    }
}

/// Returns the standing of a case; `None` if it does not serve everyone.
fn standing(known: &Evidence, case: &Case) -> Option<Standing> {
    let seeds = known.seeds();
    let is_doubtful = is_doubtful(seeds, case.seeds_served(seeds));
    let service = case.service();
    let good = if service.is_well() { usize::MAX } else { service.good };
    service.serves().then_some((is_doubtful, Reverse(good)))
}

/// Returns the rank of the gateway at a position; `None` if no tier suffices.
fn rank(known: &Evidence, results: &[GatewayResult], at: usize) -> Option<Rank> {
    let served = results[at].served.as_ref()?;
    let gateway = &known.gateways[at];
    let not_good = |tier: &String| gateway.at(tier).map_or(0, |case| case.service().not_good());
    let seeds_missed = known.seeds().saturating_sub(results[at].seeds_served);
    // A bisection may have run other tiers with another gateway.
    let is_common = |tier: &&String| known.gateways.iter().all(|one| one.at(tier).is_some());
    let in_all = known.tiers.iter().filter(is_common).map(not_good).sum();
    let is_elsewhere = !gateway.is_at_home;
    Some((known.order(served), seeds_missed, not_good(served), at != 0, in_all, is_elsewhere, at))
}
