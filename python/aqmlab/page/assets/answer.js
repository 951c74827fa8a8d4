// The conclusion: which tier and which gateway serve this household, from the trials that ran. The
// WebAssembly module makes the sentences, as for `aqmlab advise`, from the facts that this script
// collects.

import { choices } from "./choices.js";
import { tiersOf } from "./home.js";
import { listed } from "./words.js";

/**
 * @typedef {import("./simulator.js").Answer} Answer
 * @typedef {{tier: string, answer: Answer, served: number, judged: number, bad: string[], isGood: boolean}} Count
 * @typedef {{today: (Count | null)[], better: (Count | null)[]}} Ladder One entry a tier; `null` has
 *   not been run.
 * @typedef {(app: string) => string} Label
 */

/** The verdicts, worst first, and the words for applications that cannot be judged. */
export const VERDICTS = ["bad", "tolerable", "good", "no data", "no needs"];

/** The maximum number of applications in a sentence, and of sentences of one kind. */
const MOST_NAMED = 4;
const MOST_SENTENCES = 3;

/** 
 * The number of applications that a trial serves.
 * @param {string} tier
 * @param {Answer} answer
 * @returns {Count} */
export function count(tier, answer) {
  const judged = answer.verdicts.filter(({ verdict }) => VERDICTS.indexOf(verdict) < 3);
  const bad = judged.filter(({ verdict }) => verdict === "bad").map(({ app }) => app);
  const isGood = judged.every(({ verdict }) => verdict === "good");
  return { tier, answer, served: judged.length - bad.length, judged: judged.length, bad, isGood };
}

/** Whether no verdict is bad. @param {Count | null} one */
export function serves(one) {
  return one !== null && one.bad.length === 0;
}

/** 
 * The headline on the present tier.
 * @param {Ladder} ladder
 * @param {import("./home.js").Home} home
 * @param {Label} label
 * @returns {{kind: string, headline: string}} */
export function headline(ladder, home, label) {
  const place = tiersOf(home).indexOf(home.tier);
  const [today, better] = [ladder.today[place], ladder.better[place]];
  if (today === null || better === null) return { kind: "open", headline: "Simulating your home…" };
  const at = `At ${home.tier}`;
  const suffer = (one) => {
    const names = named(one.bad, label);
    return `${listed(names)} ${names.length === 1 ? "suffers" : "suffer"}`;
  };
  if (serves(today) && (today.isGood || !serves(better) || !better.isGood)) {
    return { kind: "fine", headline: `${at}, what you have serves everyone.` };
  }
  if (serves(today)) {
    return {
      kind: "gateway",
      headline: `${at}, what you have serves everyone, and a better gateway serves them well.`,
    };
  }
  if (serves(better))
    return {
      kind: "gateway",
      headline: `${at}, it is your gateway, not your tier: ${suffer(today)}.`,
    };
  if (better.bad.length < today.bad.length) {
    return {
      kind: "both",
      headline: `${at}, it is both: a better gateway helps, but ${suffer(better)} even so.`,
    };
  }
  return {
    kind: "tier",
    headline: `${at}, it is your tier: ${suffer(better)} with either gateway.`,
  };
}

/** Applications in plain words, each once. A number replaces some names if there are many. */
function named(apps, label) {
  const names = [...new Set(apps.map(label))];
  if (names.length <= MOST_NAMED) return names;
  return [...names.slice(0, MOST_NAMED - 1), `${names.length - MOST_NAMED + 1} others`];
}

/** 
 * The facts for the sentences, in the form of the crate `advice`, after every tier has run.
 * @param {Ladder} ladder
 * @param {import("./home.js").Home} home
 * @param {Label} label
 * @param {Set<string>} transfers the applications that are bulk transfers */
export function facts(ladder, home, label, transfers) {
  const all = [...ladder.today, ...ladder.better];
  if (all.some((one) => one === null)) return null;
  const seeds = seedsOf(all);
  const [today, better] = [
    way("today", ladder.today, home, label, seeds),
    way("better", ladder.better, home, label, seeds),
  ];
  const tiers = tiersOf(home);
  const rank = (served) => (served === null ? tiers.length : tiers.indexOf(served));
  const isBetter = rank(better.served) < rank(today.served);
  const place = tiers.indexOf(home.tier);
  const [now, then] = [ladder.today[place], ladder.better[place]];
  const verdict = (one, app) => one.answer.verdicts.find((known) => known.app === app);
  if (now === null || then === null) return null;
  const spoiled = unique(
    now.bad.map((app) => ({ app: label(app), because: verdict(now, app).because })),
  );
  return {
    seeds,
    fastest: tiers[tiers.length - 1],
    ways: [today, better],
    compared_at: home.tier,
    spoiled: spoiled.slice(0, MOST_SENTENCES),
    better: isBetter ? better.title : null,
    gains: gains(now, then, label, transfers),
    costs: costs(now, then, label, transfers),
  };
}

/** The number of evenings that were simulated for every tier. */
function seedsOf(all) {
  return Math.min(...all.map(({ answer }) => answer.served.length));
}

function way(side, counts, home, label, seeds) {
  const served = counts.findIndex(serves);
  const well = counts.find(({ isGood, bad }) => isGood && bad.length === 0);
  const failed = served < 0 ? counts[counts.length - 1] : (counts[served - 1] ?? null);
  const later = served < 0 ? [] : counts.slice(served).filter((one) => !serves(one));
  return {
    title: choices.gateways[home[side].kind].title,
    served: served < 0 ? null : counts[served].tier,
    well: well ? well.tier : null,
    failed: served > 0 ? failed.tier : null,
    failing: failed ? named(failed.bad, label) : [],
    by_median: [],
    seeds_served:
      served < 0 ? 0 : counts[served].answer.served.slice(0, seeds).filter(Boolean).length,
    exceptions: later.map(({ tier }) => tier),
  };
}

/** The interactive applications whose round trips shorten most. */
function gains(now, then, label, transfers) {
  const found = now.bad
    .filter((app) => !transfers.has(app))
    .map((app) => ({
      app: label(app),
      today_ms: worst(now.answer, app, "rtt_p95_ms"),
      better_ms: worst(then.answer, app, "rtt_p95_ms"),
    }));
  const known = found.filter(
    ({ today_ms: before, better_ms: after }) => before > after && after > 0,
  );
  known.sort((one, other) => other.today_ms / other.better_ms - one.today_ms / one.better_ms);
  return unique(known).slice(0, MOST_SENTENCES);
}

/** The transfers whose rate the better gateway lowers most. */
function costs(now, then, label, transfers) {
  const found = [...transfers].map((app) => ({
    app: label(app),
    today_mbit: worst(now.answer, app, "throughput_mean_mbit"),
    better_mbit: worst(then.answer, app, "throughput_mean_mbit"),
  }));
  const known = found.filter(
    ({ today_mbit: before, better_mbit: after }) => before > 0 && after > 0,
  );
  return unique(known).slice(0, MOST_SENTENCES);
}

/** The larger value of the two directions. */
export function worst({ tables }, app, column) {
  const { flow, [column]: values } = tables.flows;
  return flow.reduce(
    (most, one, row) => (one === app ? Math.max(most, values[row] ?? 0) : most),
    0,
  );
}

/** The first application of each name. */
function unique(some) {
  return some.filter(({ app }, at) => some.findIndex((one) => one.app === app) === at);
}
