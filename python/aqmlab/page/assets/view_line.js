// The part of the page with the line, its speed and both routers.

import { choices } from "./choices.js";
import { byId, el, notify, refill } from "./dom.js";
import { SHARES, SPEEDS, carries, onOffer, ownTier, ratesOf, shapes, tiersOf } from "./home.js";
import { capital, listed } from "./words.js";

/**
 * @param {import("./home.js").Home} home
 * @param {(home: import("./home.js").Home) => void} change
 */
export function showLine(home, change) {
  refill(byId("tier-choice"), tier(home, change));
  const kinds = Object.entries(choices.lines).map(([key, { title }]) => [key, capital(title)]);
  refill(
    byId("line"),
    el(
      "div",
      { class: "fields" },
      select(
        "tiers",
        "Speeds on sale",
        Object.entries(choices.tiers).map(([key, { title }]) => [key, capital(title)]),
        home.tiers,
        (tiers) => change(onOffer({ ...home, tiers })),
      ),
      select("line-kind", "Kind of line", kinds, home.line, (line) =>
        change(onOffer({ ...home, line })),
      ),
      select("rtt", "Servers are", distances(home.rtt), String(home.rtt), (rtt) =>
        change({ ...home, rtt: +rtt }),
      ),
    ),
    el(
      "div",
      { class: "fields" },
      gateway("today", "Router today", home, change),
      gateway("better", "A better router", home, change),
    ),
    SIDES.some((side) => shapes(home[side], "down") || shapes(home[side], "up")) &&
      el("p", { class: "aside" }, ON_SHARES),
  );
}

const SIDES = /** @type {const} */ (["today", "better"]);
const ON_SHARES = `This page shapes to the shares that you set. It does not search for the best share. On the
  command line, aqmlab advise tries ${listed(choices.shares.map((share) => `${share} %`))} of the line.`;

const DISTANCES = [
  ["10", "in your city (10 ms)"],
  ["20", "in your country (20 ms)"],
  ["60", "on your continent (60 ms)"],
  ["150", "overseas (150 ms)"],
];

/** The list of distances, with the home's own round-trip time in ms. @param {number} rtt */
function distances(rtt) {
  if (DISTANCES.some(([ms]) => +ms === rtt)) return DISTANCES;
  const all = [...DISTANCES, [String(rtt), `${rtt} ms away`]];
  return all.sort(([one], [other]) => +one - +other);
}

function select(id, title, options, value, set) {
  const made = el(
    "select",
    { id, "data-key": id, change: ({ target }) => set(target.value) },
    options.map(([key, text]) => el("option", { value: key }, text)),
  );
  made.value = value;
  return el("p", { class: "field" }, el("label", { for: id }, title), made);
}

function tier(home, change) {
  const tiers = tiersOf(home);
  const place = tiers.indexOf(home.tier);
  const set = ({ target }) => change({ ...home, tier: tiers[+target.value] });
  const slider = el("input", {
    type: "range",
    id: "tier",
    min: 0,
    max: tiers.length - 1,
    step: 1,
    "data-key": "tier",
    "aria-valuetext": `${home.tier}, down and up`,
    input: set,
  });
  slider.value = String(place);
  const ticks = tiers.map((text) =>
    el("span", { class: text === home.tier ? "on" : "" }, text.replace(" Mbit/s", "")),
  );
  return el(
    "div",
    { class: "tier" },
    el("label", { for: "tier" }, "Speed ", el("strong", {}, home.tier), " down/up"),
    slider,
    el("div", { class: "ticks", "aria-hidden": "true" }, ticks),
    speed(home, change),
    isBounded(home) && el("p", { class: "aside" }, choices.lines[home.line].limit),
  );
}

/** Whether the list has a tier that the line cannot carry. */
function isBounded({ tiers, line }) {
  return choices.tiers[tiers].tiers.some((tier) => !carries(line, tier));
}

/** Two boxes for a speed that is not in the list. */
function speed(home, change) {
  const rates = ratesOf(home.tier);
  const set = (at, { target }) => {
    const [down, up] = rates.map((rate, place) => (place === at ? Number(target.value) : rate));
    const own = ownTier(down, up);
    if (own === null) {
      notify([`A speed is between ${SPEEDS[0]} and ${SPEEDS[1]} Mbit/s here. ${ON_SPEEDS}`]);
      target.value = String(rates[at]);
    } else if (!carries(home.line, own)) {
      notify([choices.lines[home.line].limit]);
      target.value = String(rates[at]);
    } else {
      notify([]);
      change({ ...home, own, tier: own });
    }
  };
  const box = (at, words) => {
    const id = `own-${words}`;
    const number = el("input", {
      type: "number",
      id,
      min: SPEEDS[0],
      max: SPEEDS[1],
      step: "any",
      "data-key": id,
      value: String(rates[at]),
      change: (event) => set(at, event),
    });
    return el("label", { for: id }, words, number);
  };
  const boxes = [box(0, "down"), box(1, "up")];
  return el("p", { class: "speed" }, "Or your own speed: ", boxes, " Mbit/s");
}

const ON_SPEEDS = "On the command line, aqmlab advise simulates faster lines.";

function gateway(side, title, home, change) {
  const now = home[side];
  const kinds = Object.entries(choices.gateways).map(([key, one]) => [key, capital(one.title)]);
  const set = (changed) => change({ ...home, [side]: { ...now, ...changed } });
  const share = (way, words) => {
    const id = `${side}-${way}`;
    const slider = el("input", {
      type: "range",
      id,
      min: SHARES[0],
      max: SHARES[1],
      step: 1,
      "data-key": id,
      "aria-valuetext": `${now[way]} % of the line, ${words}`,
      input: ({ target }) => set({ [way]: +target.value }),
    });
    slider.value = String(now[way]);
    return el(
      "p",
      { class: "field share" },
      el("label", { for: id }, `Shaped ${words} to `, el("strong", {}, `${now[way]} %`)),
      slider,
    );
  };
  return el(
    "fieldset",
    {},
    el("legend", {}, title),
    select(`${side}-kind`, "What manages the queue", kinds, now.kind, (kind) => set({ kind })),
    el(
      "div",
      { class: "shares" },
      shapes(now, "down") && share("down", "down"),
      shapes(now, "up") && share("up", "up"),
    ),
  );
}
