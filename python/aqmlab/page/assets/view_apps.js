// Each application: its verdict with each gateway, the effect on a user, and its charts.

import { chart, series } from "./charts.js";
import { byId, el, refill } from "./dom.js";
import { badge } from "./view_answer.js";
import { choices } from "./choices.js";
import { capital, rate, time } from "./words.js";

/** The applications whose charts are open. @type {Set<string>} */
const opened = new Set();

/**
 * @param {{name: string, who: string, title: string, part: string}[]} apps
 * @param {import("./simulator.js").Answer} today
 * @param {import("./simulator.js").Answer} better
 * @param {string} title of the better gateway
 */
export function showApps(apps, today, better, title) {
  const rank = ({ name }) => choices.verdicts.indexOf(verdictOn(today, name).word);
  const sorted = [...apps].sort((one, other) => rank(one) - rank(other));
  const rows = sorted.map(({ name, who, title: what, part }) =>
    el(
      "li",
      { class: "app" },
      el("h3", {}, capital(part ? `${what}, ${part}` : what), who && el("span", { class: "who-does" }, ` · ${who}`)),
      side("Today", today, name, "today"),
      side(capital(title), better, name, "better"),
      minute(name, today, better),
    ),
  );
  refill(byId("apps-list"), el("ul", { class: "apps" }, rows));
}

/** @returns {import("./simulator.js").Verdict} */
function verdictOn(answer, name) {
  const known = answer.verdicts.find(({ app }) => app === name);
  const none = { rtt_p50_ms: null, rtt_p95_ms: null, throughput_mean_mbit: null };
  return known ?? { app: name, word: "no data", because: "", felt: "", medians: none };
}

function side(heading, answer, name, style) {
  const { word, felt, medians } = verdictOn(answer, name);
  return el(
    "div",
    { class: `side ${style}` },
    el("p", { class: "condition" }, heading),
    el("p", {}, badge(word), felt && el("span", { class: "felt" }, ` ${felt}`)),
    el("p", { class: "because" }, shortly(medians, ratesOf(answer, name))),
  );
}

/** The rates and the 95th percentile of round-trip times in words; empty without a rate. */
function shortly({ throughput_mean_mbit: mbit, rtt_p95_ms: ms }, rates) {
  if (!mbit) return "";
  const said = rates.size > 1 ? eachWay(rate(rates.get("up")), rate(rates.get("down"))) : rate(mbit);
  return ms === null ? said : `${said}, 95 % of round trips within ${time(ms)}`;
}

function eachWay(up, down) {
  return up === down ? `${up} each way` : `${up} up, ${down} down`;
}

/**
 * The rate of each direction in which an application has its data. The verdict states only the
 * lower rate, and its direction may differ between the gateways.
 * @returns {Map<string, number>} of the first evening, as in the charts
 */
function ratesOf({ tables }, name) {
  const { flow, direction, primary, throughput_mean_mbit: mbit } = tables.flows;
  const rates = new Map();
  for (const [row, one] of flow.entries()) {
    const way = direction[row];
    if (one === name && primary[row]) rates.set(way, (rates.get(way) ?? 0) + mbit[row]);
  }
  return rates;
}

/** The numbers that decide both verdicts. */
function reasons(name, today, better) {
  const because = (answer) => verdictOn(answer, name).because;
  return el("p", { class: "because" }, `Today: ${because(today)}. Better: ${because(better)}.`);
}

function minute(name, today, better) {
  const place = el("div", { class: "charts" });
  const draw = () => {
    if (place.childElementCount > 0) return;
    const busy = busier(today, name);
    const rates = (answer, way) =>
      series(answer.tables.windows, { flow: name, direction: way }, "throughput_mbit");
    const delays = (answer) =>
      series(
        answer.tables.rtt,
        { flow: name, direction: answered(answer, name, busy) },
        "rtt_p50_ms",
      );
    const ways = ratesOf(today, name).size > 1 ? ["up", "down"] : [busy];
    for (const way of ways) {
      const words = way === "down" ? "to the home" : "to the internet";
      chart(place, `Rate ${words}`, rates(today, way), rates(better, way), rate);
    }
    chart(place, "Round-trip time", delays(today), delays(better), time);
  };
  const details = el(
    "details",
    {
      class: "minute",
      toggle: () => {
        if (details.open) {
          opened.add(name);
          draw();
        } else opened.delete(name);
      },
    },
    el("summary", { "data-key": `minute-${name}` }, "The numbers and the minute"),
    reasons(name, today, better),
    legend(),
    place,
  );
  if (opened.has(name)) details.open = true;
  return details;
}

/** The colours of both routers in charts. */
export function legend() {
  return el(
    "p",
    { class: "legend" },
    el("span", { class: "key today" }, "today"),
    el("span", { class: "key better" }, "better router"),
  );
}

/** The direction in which an application received more data. */
function busier({ tables }, name) {
  const { flow, direction, bytes_received: bytes } = tables.flows;
  const of = (way) =>
    flow.reduce(
      (sum, one, row) => sum + (one === name && direction[row] === way ? bytes[row] : 0),
      0,
    );
  return of("up") > of("down") ? "up" : "down";
}

/** The direction `way` if the application has round trips in it, and otherwise the other direction. */
function answered({ tables }, name, way) {
  const { flow, direction } = tables.rtt;
  const has = flow.some((one, row) => one === name && direction[row] === way);
  return has ? way : way === "up" ? "down" : "up";
}
