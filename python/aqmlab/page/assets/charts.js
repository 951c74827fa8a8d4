// Charts of a number over time, one line for each gateway.

import { el } from "./dom.js";

/** @typedef {{x: number[], y: (number | null)[]}} Series */

const HEIGHT = 180;

/** The colour in a variable of the style sheet. @param {string} name */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/**
 * Draws a chart with both gateways in `place`.
 * @param {Element} place
 * @param {string} title
 * @param {Series} today
 * @param {Series} better
 * @param {(value: number) => string} spelled */
export function chart(place, title, today, better, spelled) {
  const uPlot = /** @type {any} */ (globalThis).uPlot;
  const holder = el("div", {
    class: "chart",
    role: "img",
    "aria-label": described(title, today, better, spelled),
  });
  place.append(el("figure", {}, el("figcaption", {}, title), holder));
  const axis = {
    stroke: colour("--quiet"),
    grid: { stroke: colour("--rule"), width: 1 },
    ticks: { show: false },
    font: "12px system-ui",
  };
  const line = (label, name, dash) => ({
    label,
    stroke: colour(name),
    width: 2,
    dash,
    points: { show: false },
  });
  const data = uPlot.join([
    [today.x, today.y],
    [better.x, better.y],
  ]);
  const options = {
    width: Math.max(200, holder.clientWidth),
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: false }, y: { range: (_, __, most) => [0, most > 0 ? most * 1.05 : 1] } },
    axes: [
      { ...axis, values: (_, ticks) => ticks.map((tick) => `${tick} s`), space: 60 },
      {
        ...axis,
        values: (_, ticks) => ticks.map((tick) => (tick === 0 ? "0" : spelled(tick))),
        size: 78,
        space: 34,
      },
    ],
    series: [
      {},
      { ...line("today", "--today", [5, 4]), spanGaps: true },
      { ...line("better", "--accent", []), spanGaps: true },
    ],
  };
  const made = new uPlot(options, data, holder);
  const watcher = new ResizeObserver(() => {
    const width = Math.max(200, holder.clientWidth);
    if (width !== made.width) made.setSize({ width, height: HEIGHT });
  });
  watcher.observe(holder);
}

function described(title, today, better, spelled) {
  const most = (series) => Math.max(0, ...series.y.filter((value) => value !== null));
  return `${title}. Today at most ${spelled(most(today))}, with the better router at most ${spelled(most(better))}.`;
}

/**
 * The rows of a table whose columns have the wanted values, as a series.
 * @param {Record<string, any[]>} table
 * @param {Record<string, string>} wanted
 * @param {string} column
 * @returns {Series} */
export function series(table, wanted, column) {
  const x = [];
  const y = [];
  for (let row = 0; row < table.t_s.length; row += 1) {
    if (Object.entries(wanted).every(([key, value]) => table[key][row] === value)) {
      x.push(table.t_s[row]);
      y.push(table[column][row]);
    }
  }
  return { x, y };
}
