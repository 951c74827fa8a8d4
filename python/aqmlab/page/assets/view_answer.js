// The conclusion, and the number of applications with each verdict at each speed.

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
  const isShort = ({ about }) => about !== "detail";
  refill(
    byId("reasons"),
    [...sentences.filter(isShort).map(said), details(sentences.filter((one) => !isShort(one)))],
  );
  const better = choices.gateways[home.better.kind].title;
  const rows = tiersOf(home).map((tier, place) => row(tier, place, counts, home, change));
  const head = el(
    "tr",
    {},
    ...["Speed, Mbit/s", capital(choices.gateways[home.today.kind].title), capital(better)].map(
      (text) => el("th", { scope: "col" }, text),
    ),
  );
  refill(
    byId("ladder"),
    el(
      "table",
      { class: "ladder" },
      el("caption", {}, "How everyone fares at each speed"),
      el("thead", {}, head),
      el("tbody", {}, rows),
    ),
  );
}

function said({ about, text }) {
  return el("p", { class: `about-${about}` }, text);
}

/** Whether the visitor has opened the details. */
let isOpen = false;

function details(sentences) {
  if (sentences.length === 0) return false;
  const made = el(
    "details",
    { open: isOpen, toggle: () => (isOpen = made.open) },
    el("summary", { "data-key": "details" }, "In detail"),
    sentences.map(said),
  );
  return made;
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
  const { good, served, judged, word } = count;
  const parts = [
    [good, "good"],
    [served - good, "tolerable"],
    [judged - served, "bad"],
  ];
  const counts = parts.filter(([number]) => +number > 0).map((part) => part.join("\u00a0"));
  const all = judged ? `all ${judged} good` : "not measured";
  const told = good === judged ? all : counts.join(", ");
  const share = (number) => (judged ? number / judged : 0);
  const bar = el("span", {
    class: `bar ${word.replace(" ", "-")}`,
    style: `--share-good: ${share(good)}; --share-served: ${share(served)}`,
    "aria-hidden": "true",
  });
  return el("td", {}, bar, el("span", { class: "told" }, told));
}
