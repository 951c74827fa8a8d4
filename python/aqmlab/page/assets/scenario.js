// From a household to a scenario, as a value and as a TOML text that `aqmlab run` accepts.

import { choices } from "./choices.js";

/** @typedef {import("./home.js").Home} Home */
/** @typedef {import("./home.js").Shaping} Shaping */

/** Transfers start here, so that the calm before them is seen. Verdicts count from here on. */
export const LOADED_FROM_S = 5;
/** The rate of a gateway that does not shape: that of its fastest port. */
const UNSHAPED = "10 Gbit/s";
export const QUICK_S = 20;
export const WHOLE_S = 60;

/**
 * The applications of a household: the name in the scenario, the owner, and what it is.
 * @param {Home} home
 * @returns {{name: string, who: string, title: string, app: Record<string, unknown>}[]}
 */
export function applications(home) {
  const all = [];
  const taken = new Set();
  const add = (who, activity) => {
    const { title, apps } = choices.activities[activity];
    for (const [key, app] of Object.entries(apps)) {
      const wanted = slug(who ? `${who} ${key}` : key);
      let name = wanted;
      for (let number = 2; taken.has(name); number += 1) name = `${wanted}-${number}`;
      taken.add(name);
      all.push({ name, who, title, app });
    }
  };
  for (const { name, does } of home.people) for (const one of does) add(name, one);
  for (const { does, count } of home.things) for (let n = 0; n < count; n += 1) add("", does);
  return all;
}

/** @param {string} text */
function slug(text) {
  const plain = text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");
  return /^\d/.test(plain) ? `a-${plain}` : plain || "someone";
}

/**
 * The scenario of a household with one of its gateways.
 * @param {Home} home
 * @param {Shaping} gateway
 * @param {number} seconds
 */
export function scenario(home, gateway, seconds) {
  const apps = {};
  for (const { name, app } of applications(home)) {
    apps[name] = app.kind === "bulk" ? { ...app, start: `${LOADED_FROM_S} s` } : { ...app };
  }
  return {
    title: `A home with ${choices.gateways[gateway.kind].title} at ${home.tier}`,
    duration: `${seconds} s`,
    path: path(home, gateway),
    apps,
    measure: { from: `${LOADED_FROM_S} s` },
  };
}

/** The line is a modem with a queue at each end; the gateway before it shapes, or does nothing. */
function path(home, gateway) {
  const { overhead, queues } = choices.lines[home.line];
  const { down, up } = queues[home.tier];
  const modem = { rate: home.tier, overhead, down: { qdisc: down }, up: { qdisc: up } };
  const rtt = `${home.rtt} ms`;
  if (gateway.kind === "fifo") return { rate: UNSHAPED, rtt, modem };
  const shares = gateway.down === gateway.up ? gateway.up : `${gateway.down}/${gateway.up}`;
  const { qdisc } = choices.gateways[gateway.kind];
  return { rate: `${shares} %`, rtt, qdisc, shaper: "htb", overhead, modem };
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
  const isSmall = (value) => isTable(value) && path.length > 0 && !Object.values(value).some(isTable);
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
  return `{ ${Object.entries(value).map(([key, one]) => `${bare(key)} = ${written(one)}`).join(", ")} }`;
}
