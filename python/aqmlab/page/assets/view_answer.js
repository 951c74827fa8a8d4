// The conclusion, and the number of applications served at each tier.

import { choices } from "./choices.js";
import { tiersOf } from "./home.js";
import { byId, el, refill, svg } from "./dom.js";
import { capital } from "./words.js";

const PATHS = {
  good: "M3 8.5 6.5 12 13 4.5",
  tolerable: "M3 9 Q5.5 5.5 8 8 T13 7",
  bad: "M4 4 12 12 M12 4 4 12",
  "no needs": "M4 8 H12",
  "no data": "M4 8 H12",
};

/** The mark and the word of a verdict. @param {string} verdict */
export function badge(verdict) {
  const mark = svg(
    "svg",
    { viewBox: "0 0 16 16", "aria-hidden": "true" },
    svg("path", { d: PATHS[verdict] ?? PATHS["no data"] }),
  );
  return el("span", { class: `badge ${verdict.replace(" ", "-")}` }, mark, verdict);
}

/**
 * @param {{kind: string, text: string}} headline
 * @param {{about: string, text: string}[]} sentences
 * @param {import("./answer.js").TierCount[][]} counts of today's gateway and of the better one
 * @param {import("./home.js").Home} home
 * @param {(home: import("./home.js").Home) => void} change
 */
export function showAnswer(headline, sentences, counts, home, change) {
  const shown = byId("headline");
  shown.className = headline.kind;
  if (shown.textContent !== headline.text) shown.textContent = headline.text;
  refill(
    byId("reasons"),
    sentences.map(({ about, text }) => el("p", { class: `about-${about}` }, text)),
  );
  const better = choices.gateways[home.better.kind].title;
  const rows = tiersOf(home).map((tier, place) => row(tier, place, counts, home, change));
  const head = el(
    "tr",
    {},
    ...["Tier, Mbit/s", capital(choices.gateways[home.today.kind].title), capital(better)].map(
      (text) => el("th", { scope: "col" }, text),
    ),
  );
  refill(
    byId("ladder"),
    el(
      "table",
      { class: "ladder" },
      el("caption", {}, "How many are served at each tier"),
      el("thead", {}, head),
      el("tbody", {}, rows),
    ),
  );
}

function row(tier, place, counts, home, change) {
  const isHere = tier === home.tier;
  const choose = el(
    "button",
    {
      type: "button",
      "data-key": `tier-${place}`,
      "aria-current": isHere && "true",
      click: () => change({ ...home, tier }),
    },
    tier.replace(" Mbit/s", ""),
  );
  return el(
    "tr",
    { class: isHere ? "here" : "" },
    el("th", { scope: "row" }, choose),
    counts.map((some) => cell(some.find((one) => one.tier === tier))),
  );
}

/** @param {import("./answer.js").TierCount | undefined} count */
function cell(count) {
  if (count === undefined) return el("td", { class: "open" }, "…");
  const { served, judged, word } = count;
  const isAll = served === judged;
  const all = isAll ? "all served" : `${served} of ${judged} served, at worst`;
  const bar = el("span", {
    class: `bar ${word}`,
    style: `--part: ${judged ? served / judged : 0}`,
    "aria-hidden": "true",
  });
  return el("td", {}, bar, el("span", { class: "told" }, all), " ", badge(word));
}
