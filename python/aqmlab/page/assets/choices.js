// The activities, lines, tiers and gateways on offer, which the builder wrote into the page.

/**
 * @typedef {{title: string, apps: Record<string, Record<string, string | number | boolean>>,
 *   tolerances: Record<string, string>}} Activity
 * @typedef {{down: string, up: string}} Queues
 * @typedef {{title: string, overhead: unknown, queue: Queues, device: object,
 *   fastest: string | null, limit: string}} Line `fastest` is the fastest tier that the line carries
 *   (`null` without a bound), and `limit` a sentence on it.
 * @typedef {{at: "gateway" | "line", qdisc: unknown, settings: {qdisc: string, params: object}}} Managed
 * @typedef {{title: string, up: Managed | null, down: Managed | null}} Gateway
 * @typedef {{name: string, does: string[]}} Person
 * @typedef {{does: string, count: number}} Thing
 * @typedef {{
 *   title: string, people: Person[], things: Thing[], line: string, tier: string, rtt: number,
 * }} Household
 * @typedef {{
 *   activities: Record<string, Activity>,
 *   things: string[],
 *   pastimes: string[],
 *   lines: Record<string, Line>,
 *   tiers: Record<string, {title: string, tiers: string[]}>,
 *   firstTiers: string,
 *   gateways: Record<string, Gateway>,
 *   better: string,
 *   shares: number[],
 *   unshaped: string,
 *   leastQueueBytes: number,
 *   people: Person[],
 *   households: Record<string, Household>,
 *   noticedMs: number,
 *   verdicts: string[],
 * }} Choices
 */

/** @type {Choices} */
export const choices = JSON.parse(document.getElementById("choices")?.textContent ?? "{}");

/**
 * Whether `table` has its own member `key`: a link may contain "constructor".
 * @param {object} table
 * @param {string} key */
export function has(table, key) {
  return Object.prototype.hasOwnProperty.call(table, key);
}
