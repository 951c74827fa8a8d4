// The runs of every tier with both gateways. The WebAssembly module draws the conclusion from them,
// as `aqmlab advise` does.

import { choices } from "./choices.js";
import { shapes, tiersOf } from "./home.js";

/**
 * @typedef {import("./simulator.js").Answer} Answer
 * @typedef {{today: (Answer | null)[], better: (Answer | null)[]}} Ladder One entry for each
 *   tier; `null` if the tier has not run.
 * @typedef {{tier: string, judged: number, served: number, word: string}} TierCount
 * @typedef {{
 *   conclusion: {gateways: {tiers: TierCount[]}[]},
 *   headline: {kind: string, text: string} | null,
 *   sentences: {about: string, text: string}[],
 * }} Advice
 */

/**
 * The runs in the form of the crate `advice`.
 * @param {Ladder} ladder
 * @param {import("./home.js").Home} home
 * @param {{name: string, who: string, title: string}[]} apps
 */
export function evidence(ladder, home, apps) {
  return {
    tiers: tiersOf(home),
    today_tier: home.tier,
    apps: apps.map(({ name, who, title }) => ({ name, ...owned(who, title) })),
    gateways: [gateway("today", ladder.today, home), gateway("better", ladder.better, home)],
  };
}

/** The owner and the title of an activity. If the owner describes the home ("me"), the owner is empty and
    the title begins with "my". */
function owned(who, title) {
  const isSpeaker = /^(me|i)$/i.test(who);
  return isSpeaker ? { who: "", title: `my ${title.replace(/^an? /, "")}` } : { who, title };
}

function gateway(side, answers, home) {
  const cases = tiersOf(home).map((tier, place) => ({ tier, verdicts: answers[place]?.verdicts }));
  return {
    name: side,
    title: choices.gateways[home[side].kind].title,
    is_at_home: shapes(home[side], "down") || shapes(home[side], "up"),
    cases: cases.filter(({ verdicts }) => verdicts !== undefined),
  };
}

/** Whether every tier has been run with both gateways. @param {Ladder} ladder */
export function isWhole({ today, better }) {
  return [...today, ...better].every((answer) => answer !== null);
}
