// The conclusion: which tier and which gateway serve this household, from the trials that were run.

import { choices } from "./choices.js";
import { listed } from "./words.js";

/**
 * @typedef {{tier: string, served: number, judged: number, unserved: string[], isGood: boolean}} Count
 * @typedef {{today: (Count | null)[], better: (Count | null)[]}} Ladder One entry a tier; `null` has
 *   not been run.
 */

/** The titles of the verdicts, the best first, with those that are not one. */
export const VERDICTS = ["good", "tolerable", "bad", "no needs", "no data"];

/**
 * @param {string} tier
 * @param {import("./simulator.js").Answer} answer
 * @param {(app: string) => string} label
 * @returns {Count}
 */
export function count(tier, answer, label) {
  const judged = answer.verdicts.filter(({ verdict }) => VERDICTS.indexOf(verdict) < 3);
  const unserved = judged.filter(({ verdict }) => verdict === "bad").map(({ app }) => label(app));
  const served = judged.length - unserved.length;
  const isGood = judged.every(({ verdict }) => verdict === "good");
  return { tier, served, judged: judged.length, unserved, isGood };
}

/** @param {Count | null} one */
export function serves(one) {
  return one !== null && one.unserved.length === 0;
}

/**
 * The lowest tier that serves everyone, if it and every slower one have been run.
 * @param {(Count | null)[]} counts
 */
function lowest(counts) {
  const place = counts.findIndex(serves);
  const isSure = place >= 0 && counts.slice(0, place).every((one) => one !== null);
  return isSure ? counts[place] : null;
}

/**
 * The conclusion in a headline and in sentences.
 * @param {Ladder} ladder
 * @param {string} tier
 * @param {import("./home.js").Home} home
 * @returns {{kind: string, headline: string, sentences: string[]}}
 */
export function conclusion(ladder, tier, home) {
  const place = choices.tiers.indexOf(tier);
  const today = ladder.today[place];
  const better = ladder.better[place];
  if (today === null || better === null) {
    return { kind: "open", headline: "Simulating your home…", sentences: [] };
  }
  const title = choices.gateways[home.better.kind].title;
  const sentences = [...tiers(ladder, title, home)];
  if (serves(today) && (today.isGood || !better.isGood)) {
    return { kind: "fine", headline: `At ${tier}, everyone is served by what you have.`, sentences };
  }
  const suffering = today.isGood || serves(today) ? "some of it less than well" : suffers(today.unserved);
  if (serves(today)) {
    const headline = `At ${tier}, your gateway holds you back a little: everyone is served, ${suffering}.`;
    return { kind: "gateway", headline, sentences };
  }
  if (serves(better)) {
    const headline = `At ${tier}, it is your gateway, not your tier: ${suffering}.`;
    return { kind: "gateway", headline, sentences };
  }
  const isPart = better.unserved.length < today.unserved.length;
  const headline = isPart
    ? `At ${tier}, it is both: a better gateway helps, and ${suffers(better.unserved)} even so.`
    : `At ${tier}, it is your tier: ${suffers(better.unserved)} with either gateway.`;
  return { kind: "tier", headline, sentences };
}

/** @param {string[]} names */
function suffers(names) {
  return `${listed(names)} ${names.length === 1 ? "suffers" : "suffer"}`;
}

function* tiers(ladder, title, home) {
  const isDone = [...ladder.today, ...ladder.better].every((one) => one !== null);
  const ways = [["today’s gateway", ladder.today], [title, ladder.better]];
  for (const [name, counts] of ways) {
    const found = lowest(counts);
    const fastest = counts[counts.length - 1];
    if (found) yield `With ${name}, ${found.tier} is the slowest tier that serves everyone.`;
    else if (isDone && !counts.some(serves)) {
      yield `With ${name}, no tier of the list serves everyone: even at ${fastest.tier}, ${suffers(fastest.unserved)}.`;
    }
  }
  if (home.better.kind !== "fifo" && isDone) {
    yield "One evening was simulated for each tier, so a result near a limit may be chance.";
  }
}
