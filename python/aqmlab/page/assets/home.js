// The household, its line and its gateways, and their form in a link.

import { choices, has } from "./choices.js";

/**
 * @typedef {{kind: string, down: number, up: number}} Shaping The gateway, and the shares of the
 *   line's rates, in per cent, to which it shapes, if it shapes.
 * @typedef {{
 *   people: {name: string, does: string[]}[],
 *   things: {does: string, count: number}[],
 *   line: string, tiers: string, tier: string, own: string | null, rtt: number,
 *   today: Shaping, better: Shaping, toml: string | null,
 * }} Home `own` is the speed that the visitor entered, and `toml` the scenario. */

export const MOST_PEOPLE = 12;
export const MOST_COUNT = 9;
/** The least and the greatest rate of a speed that the visitor enters, in Mbit/s. The simulation of
    a faster line would take minutes in a browser. */
export const SPEEDS = [0.1, 1000];
/** The least and the greatest share of the line's rate to which a gateway shapes, in per cent. */
export const SHARES = [50, 100];
/** The largest number of characters of a scenario's text in a link. */
export const MOST_TOML = 12_000;
/** Each character of a text takes up to nine characters of the link. */
const MOST_LINK = 4000 + 9 * MOST_TOML;

/** @returns {Home} */
export function firstHome() {
  return household(Object.keys(choices.households)[0]);
}

/**
 * A household of the list, at the tier that is nearest to its own.
 * @param {string} key
 * @param {string} [tiers] the list of tiers
 * @returns {Home}
 */
export function household(key, tiers = choices.firstTiers) {
  const { people, things, line, tier, rtt } = structuredClone(choices.households[key]);
  const today = { kind: Object.keys(choices.gateways)[0], down: 95, up: 95 };
  const better = { ...today, kind: choices.better };
  const near = nearestTier(tier, offered(tiers, line));
  return { people, things, line, tiers, tier: near, own: null, rtt, today, better, toml: null };
}

/** The tiers to choose from and the visitor's own speed, from slow to fast. @param {Home} home */
export function tiersOf({ tiers, own, line }) {
  const list = offered(tiers, line);
  if (own === null || list.includes(own)) return list;
  return [...list, own].sort((one, other) => {
    const [[down, up], [down2, up2]] = [ratesOf(one), ratesOf(other)];
    return down - down2 || up - up2;
  });
}

/**
 * The tiers of a list that a line can carry, or the line's fastest tier if it carries none of them.
 * @param {string} tiers
 * @param {string} line */
export function offered(tiers, line) {
  const list = choices.tiers[tiers].tiers.filter((tier) => carries(line, tier));
  return list.length > 0 ? list : [choices.lines[line].fastest];
}

/**
 * Whether a line can carry both rates of a tier.
 * @param {string} line
 * @param {string} tier */
export function carries(line, tier) {
  const { fastest } = choices.lines[line];
  if (fastest === null) return true;
  const [[down, up], [mostDown, mostUp]] = [ratesOf(tier), ratesOf(fastest)];
  return down <= mostDown && up <= mostUp;
}

/**
 * The home with another line or list of tiers, at the tier on offer that is nearest to the home's. A
 * speed that the visitor entered is dropped if the line cannot carry it.
 * @param {Home} home
 * @returns {Home} */
export function onOffer(home) {
  const own = home.own !== null && carries(home.line, home.own) ? home.own : null;
  const tier = home.tier === own ? own : nearestTier(home.tier, offered(home.tiers, home.line));
  return { ...home, own, tier };
}

/** The rates of a tier down and up, in Mbit/s. @param {string} tier */
export function ratesOf(tier) {
  return tier.replace(" Mbit/s", "").split("/").map(Number);
}

/**
 * The tier with these rates in Mbit/s, or `null` if a rate is out of bounds.
 * @param {number} down
 * @param {number} up */
export function ownTier(down, up) {
  const rates = [down, up].map((rate) => Math.round(rate * 100) / 100);
  const isSound = rates.every((rate) => rate >= SPEEDS[0] && rate <= SPEEDS[1]);
  return isSound ? `${rates.join("/")} Mbit/s` : null;
}

/**
 * The tier of a list whose downlink is nearest to the downlink of `tier`.
 * @param {string} tier
 * @param {string[]} list */
function nearestTier(tier, list) {
  const distance = (one) => Math.abs(Math.log(Number.parseFloat(one) / Number.parseFloat(tier)));
  return list.reduce((best, one) => (distance(one) < distance(best) ? one : best));
}

/**
 * Whether the gateway shapes in a direction.
 * @param {Shaping} gateway
 * @param {"down" | "up"} way
 */
export function shapes({ kind }, way) {
  return choices.gateways[kind][way]?.at === "gateway";
}

/**
 * The part after "#" of a link to a home.
 * @param {Home} home
 */
export function fragment(home) {
  const link = new URLSearchParams();
  for (const { name, does } of home.people) link.append("person", [name, ...does].join("~"));
  for (const { does, count } of home.things) link.append("thing", `${does}~${count}`);
  if (home.people.length + home.things.length === 0) link.set("empty", "1");
  link.set("line", home.line);
  link.set("tiers", home.tiers);
  link.set("tier", home.tier.replace(" Mbit/s", ""));
  if (home.own !== null) link.set("own", home.own.replace(" Mbit/s", ""));
  link.set("rtt", String(home.rtt));
  for (const side of /** @type {const} */ (["today", "better"])) {
    const { kind, down, up } = home[side];
    const isShaped = shapes(home[side], "down") || shapes(home[side], "up");
    link.set(side, isShaped ? `${kind}~${down}~${up}` : kind);
  }
  if (home.toml !== null && home.toml.length <= MOST_TOML) link.set("toml", home.toml);
  return link.toString();
}

/**
 * Reads a link. Unknown parts are omitted and named in `problems`.
 * @param {string} text
 * @returns {{home: Home, problems: string[]}} */
export function readFragment(text) {
  const home = firstHome();
  const problems = [];
  if (text.length > MOST_LINK) {
    problems.push("The link is too long to be one of this page. A household of the list is shown.");
    return { home, problems };
  }
  const link = new URLSearchParams(text);
  const wrong = (what, found) =>
    problems.push(`The link has an unknown ${what}: “${shown(found)}”.`);
  readPeople(link, home, wrong);
  const listed = /** @type {const} */ ([
    ["line", choices.lines],
    ["tiers", choices.tiers],
  ]);
  for (const [key, known] of listed) {
    const value = link.get(key);
    if (value !== null && has(known, value)) home[key] = value;
    else if (value !== null) wrong(key, value);
  }
  readOwn(link.get("own"), home, wrong);
  readTier(link.get("tier"), home, wrong);
  const rtt = link.get("rtt");
  if (rtt !== null && /^\d{1,3}$/.test(rtt) && +rtt >= 1 && +rtt <= 300) home.rtt = +rtt;
  else if (rtt !== null) wrong("distance", rtt);
  readGateways(link, home, wrong);
  // A text area has no carriage returns.
  const toml = link.get("toml")?.replace(/\r\n?/g, "\n") ?? null;
  if (toml === null || toml.length <= MOST_TOML) home.toml = toml;
  else wrong("scenario", toml);
  for (const key of new Set(link.keys())) if (!PARTS.includes(key)) wrong("part", key);
  if (problems.length > 0) problems.push("It was left out; everything else is as the link says.");
  return { home, problems };
}

const PARTS = [
  ...["person", "thing", "empty", "line", "tiers", "tier", "own", "rtt", "today", "better"],
  "toml",
];

function readPeople(link, home, wrong) {
  const empty = link.get("empty");
  if (empty === "1") Object.assign(home, { people: [], things: [] });
  else if (empty !== null) wrong("part", `empty=${empty}`);
  if (!link.has("person") && !link.has("thing")) return;
  const people = [];
  for (const text of link.getAll("person")) {
    const [name, ...does] = text.split("~");
    const known = does.filter((one) => has(choices.activities, one));
    does.filter((one) => !has(choices.activities, one)).forEach((one) => wrong("activity", one));
    if (people.length >= MOST_PEOPLE) wrong(`person beyond number ${MOST_PEOPLE}`, name);
    else people.push({ name: unusedName(name, people), does: [...new Set(known)] });
  }
  const things = [];
  for (const text of link.getAll("thing")) {
    const [does, count, ...rest] = text.split("~");
    const isCount = /^[1-9]$/.test(count ?? "") && rest.length === 0;
    if (!has(choices.activities, does) || !isCount) wrong("thing", text);
    else if (!things.some((one) => one.does === does)) things.push({ does, count: +count });
  }
  if (people.some((one) => one.does.length > 0) || things.length > 0)
    Object.assign(home, { people, things });
  else wrong("household in which nobody does anything", "");
}

function readOwn(text, home, wrong) {
  if (text === null) return;
  const rates = /^(\d{1,4}(?:\.\d{1,2})?)\/(\d{1,4}(?:\.\d{1,2})?)$/.exec(text);
  const own = rates ? ownTier(+rates[1], +rates[2]) : null;
  const isCarried = own !== null && carries(home.line, own);
  if (!isCarried) wrong("speed", text);
  home.own = isCarried ? own : null;
}

function readTier(text, home, wrong) {
  home.tier = nearestTier(home.tier, offered(home.tiers, home.line));
  if (text === null) return;
  const tier = `${text} Mbit/s`;
  if (tiersOf(home).includes(tier)) home.tier = tier;
  else wrong("tier", text);
}

function readGateways(link, home, wrong) {
  for (const side of ["today", "better"]) {
    const text = link.get(side);
    if (text === null) continue;
    const [kind, down = "95", up = "95", ...rest] = text.split("~");
    const isShare = (share) => /^\d{2,3}$/.test(share) && +share >= SHARES[0] && +share <= SHARES[1];
    const isKnown = has(choices.gateways, kind) && isShare(down) && isShare(up);
    if (isKnown && rest.length === 0) home[side] = { kind, down: +down, up: +up };
    else wrong("gateway", text);
  }
}

/**
 * A name on one line, for headings and for a scenario's file.
 * @param {string} text
 */
export function cleanName(text) {
  const kept = text
    .replace(/[^\p{L}\p{N} .'-]/gu, "")
    .replace(/\s+/g, " ")
    .trim();
  return [...kept].slice(0, 24).join("") || "Someone";
}

/**
 * A name on one line that no other person has. It gets a number if somebody has the plain name.
 * @param {string} text
 * @param {{name: string}[]} others */
export function unusedName(text, others) {
  const wanted = cleanName(text);
  const isTaken = (name) => others.some((one) => one.name === name);
  let name = wanted;
  for (let number = 2; isTaken(name); number += 1)
    name = `${[...wanted].slice(0, 21).join("").trim()} ${number}`;
  return name;
}

/** @param {string} text */
function shown(text) {
  const plain = text.replace(/[\p{C}]/gu, "");
  return plain.length > 40 ? `${plain.slice(0, 40)}…` : plain;
}
