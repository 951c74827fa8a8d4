// Converts a household to a scenario, as a value and as a TOML text that `aqmlab run` accepts.

import { choices } from "./choices.js";
import { ratesOf, shapes } from "./home.js";

/** @typedef {import("./home.js").Home} Home */
/** @typedef {import("./home.js").Shaping} Shaping */

/**
 * @typedef {{seconds: number, measuredFrom: number, seeds: number[]}} Span The length of trials, and
 *   their seeds. All activities start at once, as in `aqmlab advise`. Verdicts
 *   cover the time after `measuredFrom`. */

/** One evening, which lasts a minute. @type {Span} */
export const WHOLE = { seconds: 60, measuredFrom: 5, seeds: [1] };
/** Several evenings, because starts and sizes differ from one to the next. @type {Span} */
export const SURE = { ...WHOLE, seeds: [1, 2, 3] };

/** The approximate number of packets of a quick trial. Its simulation takes about 50 ms. */
const QUICK_PACKETS = 20_000;
const FULL_PACKET_BITS = 12_000;
const MOST_QUICK_S = 15;
/** The maximum number of packets per second of a home without a transfer. */
const IDLE_PACKETS_PER_S = 4_000;

/**
 * The span of a quick trial, which is shorter for a faster line.
 * @param {Home} home
 * @returns {Span} */
export function quick(home) {
  const bulk = applications(home).filter(({ app }) => app.kind === "bulk");
  const tier = ratesOf(home.tier);
  const rates = ["down", "up"].map((way, at) => {
    const isUsed = bulk.some(({ app }) => (app.direction ?? "down") === way);
    return isUsed ? tier[at] * 1e6 : 0;
  });
  const perSecond = IDLE_PACKETS_PER_S + (rates[0] + rates[1]) / FULL_PACKET_BITS;
  const seconds = Math.max(1, Math.min(MOST_QUICK_S, QUICK_PACKETS / perSecond));
  return { seconds: 1 + Math.round(2 * seconds) / 2, measuredFrom: 1, seeds: [1] };
}

/**
 * The applications of a household: the name in the scenario, the owner, the activity's title, the
 * table, and the largest round-trip time that the activity tolerates, if it states one. If an
 * activity has several applications, `part` is the application's key; otherwise it is empty.
 * @param {Home} home
 * @returns {{name: string, who: string, title: string, part: string,
 *   app: Record<string, unknown>, tolerance: string | undefined}[]}
 */
export function applications(home) {
  const all = [];
  const taken = new Set();
  const add = (who, activity) => {
    const { title, apps, tolerances } = choices.activities[activity];
    const isOne = Object.keys(apps).length === 1;
    for (const [key, app] of Object.entries(apps)) {
      const wanted = slug(who ? `${who} ${key}` : key);
      let name = wanted;
      for (let number = 2; taken.has(name); number += 1) name = `${wanted}-${number}`;
      taken.add(name);
      const part = isOne ? "" : key;
      all.push({ name, who, title, part, app, tolerance: tolerances[key] });
    }
  };
  for (const { name, does } of home.people) for (const one of does) add(name, one);
  for (const { does, count } of home.things) for (let n = 0; n < count; n += 1) add("", does);
  return all;
}

/** @param {string} text */
function slug(text) {
  const plain = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "");
  return /^\d/.test(plain) ? `a-${plain}` : plain || "someone";
}

/**
 * The scenario of a household with one of its gateways.
 * @param {Home} home
 * @param {Shaping} gateway
 * @param {Span} span
 */
export function scenario(home, gateway, { seconds, measuredFrom }) {
  const apps = {};
  const tolerances = {};
  for (const { name, who, app, tolerance } of applications(home)) {
    // The page knows no devices: each person and each thing has one.
    apps[name] = { ...app, ...(who && { host: who }) };
    if (tolerance) tolerances[name] = tolerance;
  }
  return {
    title: `A home at ${home.tier} with ${choices.gateways[gateway.kind].title}`,
    duration: `${seconds} s`,
    seeds: SURE.seeds.length,
    path: path(home, gateway),
    apps,
    measure: { from: `${measuredFrom} s` },
    ...(Object.keys(tolerances).length > 0 && { report: { tolerances } }),
  };
}

/** The scenario's path. The line is a modem with a queue at each end, and the gateway may shape. */
function path(home, gateway) {
  const { overhead, queue } = choices.lines[home.line];
  const [down, up] = ratesOf(home.tier);
  const mbit = { down, up };
  const made = { rtt: `${home.rtt} ms` };
  const modem = { overhead };
  for (const way of /** @type {const} */ (["down", "up"])) {
    const managed = choices.gateways[gateway.kind][way];
    const isOwn = shapes(gateway, way);
    const own = { rate: `${gateway[way]} %`, qdisc: managed?.qdisc, shaper: "htb", overhead };
    made[way] = isOwn ? own : { rate: choices.unshaped };
    modem[way] = {
      rate: `${mbit[way]} Mbit/s`,
      qdisc: managed && !isOwn ? managed.qdisc : fifo(queue[way], mbit[way]),
    };
  }
  return { ...made, modem };
}

/**
 * The unmanaged queue of a line, which `aqmlab.households.line` computes in the same way.
 * @param {string} stated the number of packets or the milliseconds that the queue holds
 * @param {number} mbit the rate in Mbit/s */
function fifo(stated, mbit) {
  const size = Number.parseFloat(stated);
  if (stated.endsWith("packets")) return `pfifo limit=${size}`;
  const bits = Math.round(mbit * 1e6);
  return `bfifo limit=${Math.max(Math.floor((bits * size) / 8000), choices.leastQueueBytes)}B`;
}

/**
 * The TOML text of a scenario.
 * @param {Record<string, unknown>} table
 */
export function toml(table) {
  return `${tables(table, []).join("\n").trim()}\n`;
}

function tables(table, path) {
  const isTable = (value) => typeof value === "object" && value !== null;
  const isSmall = (value) =>
    isTable(value) && path.length > 0 && !Object.values(value).some(isTable);
  const members = Object.entries(table);
  const plain = members.filter(([, value]) => !isTable(value) || isSmall(value));
  const lines = plain.map(([key, value]) => `${bare(key)} = ${written(value)}`);
  if (path.length > 0 && lines.length > 0) lines.unshift(`[${path.map(bare).join(".")}]`);
  if (lines.length > 0) lines.push("");
  for (const [key, value] of members) {
    if (isTable(value) && !isSmall(value)) lines.push(...tables(value, [...path, key]));
  }
  return lines;
}

function bare(key) {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key);
}

function written(value) {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value !== "object" || value === null) return String(value);
  return `{ ${Object.entries(value)
    .map(([key, one]) => `${bare(key)} = ${written(one)}`)
    .join(", ")} }`;
}
