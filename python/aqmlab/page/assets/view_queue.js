// The queue before the line over time, in milliseconds that the line needs to drain it.

import { colour } from "./charts.js";
import { choices } from "./choices.js";
import { byId, el, refill } from "./dom.js";
import { legend } from "./view_apps.js";
import { capital, time } from "./words.js";

/** The largest one-way delay of speech with a good verdict. */
const NOTICED_MS = choices.noticedMs;
const SPEED = 4;

/** The displayed state, which other changes of the page leave as it is. */
const shown = { at: 0, isMoved: false, way: "", isPlaying: false, last: 0 };
/** The queueing delay of each sample, in milliseconds. @type {{today: number[], better: number[],
    step: number, most: number}} */
let waits = { today: [], better: [], step: 0.1, most: NOTICED_MS };
/** @type {Record<string, any>} */
let parts = {};

/**
 * @param {import("./simulator.js").Answer} today
 * @param {import("./simulator.js").Answer} better
 * @param {string} title of the better gateway
 * @param {boolean} isFair whether that gateway gives each flow its own queue */
export function showQueue(today, better, title, isFair) {
  const peak = (way) => Math.max(...waiting(today, way).y);
  const way = shown.way || (peak("down") > peak("up") ? "down" : "up");
  const [one, other] = [waiting(today, way), waiting(better, way)];
  const most = Math.max(NOTICED_MS * 1.2, ...one.y, ...other.y);
  waits = { today: one.y, better: other.y, step: one.step, most };
  if (!shown.isMoved) shown.at = Math.max(0, one.y.indexOf(Math.max(...one.y)));
  if (!parts.slider) build();
  parts.titles[1].textContent = capital(title);
  parts.aside.textContent = isFair
    ? "Each application has a queue of its own here: a word does not wait behind the backup."
    : "";
  parts.end.textContent = `${Math.round(waits.today.length * waits.step)} s`;
  parts.slider.max = String(Math.max(0, waits.today.length - 1));
  for (const radio of parts.radios) radio.checked = radio.value === way;
  parts.redraw = { today, better, title, isFair };
  draw();
}

/** The milliseconds that the links of a direction need to drain their backlog, by sample. */
function waiting({ tables, links }, way) {
  const { link, t_s: times, backlog_bytes: bytes } = tables.queue_series;
  const rates = Object.fromEntries(links.map(({ name, rate_bps: bps }) => [name, bps]));
  const sums = new Map();
  for (let row = 0; row < link.length; row += 1) {
    if (link[row] !== way && link[row] !== `modem-${way}`) continue;
    const ms = (8000 * bytes[row]) / rates[link[row]];
    sums.set(times[row], (sums.get(times[row]) ?? 0) + ms);
  }
  const x = [...sums.keys()];
  return { y: [...sums.values()], step: x.length > 1 ? x[1] - x[0] : 0.1 };
}

function build() {
  const tank = (name) => el("canvas", { class: "tank", role: "img", id: `tank-${name}` });
  const seek = ({ target }) => {
    Object.assign(shown, { at: +target.value, isMoved: true });
    draw();
  };
  const choose = ({ target }) => {
    shown.way = target.value;
    const { today, better, title, isFair } = parts.redraw;
    showQueue(today, better, title, isFair);
  };
  const radio = (way, text) => {
    const box = el("input", { type: "radio", name: "queue-way", value: way, change: choose });
    return [box, el("label", { class: "chip" }, box, el("span", {}, text))];
  };
  const ways = [radio("up", "to the internet"), radio("down", "to the home")];
  parts = {
    today: tank("today"),
    better: tank("better"),
    titles: [el("h3", {}, "Today"), el("h3", {}, "")],
    told: [el("p", { class: "wait" }), el("p", { class: "wait" })],
    aside: el("p", { class: "aside" }),
    scale: el("p", { class: "aside" }),
    end: el("span"),
    strip: el("canvas", { class: "strip", "aria-hidden": "true" }),
    slider: el("input", {
      type: "range",
      id: "moment",
      min: 0,
      max: 0,
      step: 1,
      value: "0",
      "aria-label": "Moment",
      input: seek,
    }),
    play: el("button", { type: "button", id: "play", click: toggle }, "Play"),
    clock: el("output", { class: "clock" }),
    radios: ways.map(([box]) => box),
  };
  const column = (name, place) =>
    el(
      "div",
      { class: `column ${name}` },
      parts.titles[place],
      parts[name],
      parts.told[place],
      name === "better" && parts.aside,
    );
  refill(
    byId("queue-view"),
    el(
      "p",
      {},
      "Packets wait here for the line. The fuller it is, the longer everything waits: a word in a call as much as a backup. A call also suffers if the wait changes suddenly, because words that come too late are left out.",
    ),
    el(
      "div",
      { class: "chips", role: "group", "aria-label": "Direction" },
      ways.map(([, label]) => label),
    ),
    el("div", { class: "tanks" }, column("today", 0), column("better", 1)),
    parts.scale,
    legend(),
    parts.strip,
    el("p", { class: "axis", "aria-hidden": "true" }, el("span", {}, "0 s"), parts.end),
    el("div", { class: "player" }, parts.play, parts.slider, parts.clock),
  );
  new ResizeObserver(draw).observe(byId("queue-view"));
}

function toggle() {
  Object.assign(shown, { isPlaying: !shown.isPlaying, isMoved: true });
  if (shown.isPlaying && shown.at >= waits.today.length - 1) shown.at = 0;
  parts.play.textContent = shown.isPlaying ? "Pause" : "Play";
  shown.last = performance.now();
  if (shown.isPlaying) requestAnimationFrame(advance);
}

function advance(now) {
  if (!shown.isPlaying) return;
  shown.at += ((now - shown.last) / 1000 / waits.step) * SPEED;
  shown.last = now;
  if (shown.at >= waits.today.length - 1) {
    shown.at = waits.today.length - 1;
    toggle();
  }
  draw();
  if (shown.isPlaying) requestAnimationFrame(advance);
}

function draw() {
  if (waits.today.length === 0) return;
  const place = Math.min(Math.round(shown.at), waits.today.length - 1);
  const now = { today: waits.today[place] ?? 0, better: waits.better[place] ?? 0 };
  drawTank(parts.today, now.today, "--today");
  drawTank(parts.better, now.better, "--accent");
  drawStrip(place);
  const full = time(waits.most);
  const row = time((waits.most * (BLOCK + GAP)) / depth(parts.today.clientHeight));
  parts.scale.textContent = `A full tank is ${full} of waiting, and a row of squares is ${row}. Below, the wait over time, from 0 to ${full}.`;
  parts.told[0].textContent = said(now.today);
  parts.told[1].textContent = said(now.better);
  parts.today.setAttribute("aria-label", `Today: ${said(now.today)}`);
  parts.better.setAttribute("aria-label", `Better router: ${said(now.better)}`);
  parts.slider.value = String(place);
  const seconds = (place * waits.step).toFixed(1);
  parts.slider.setAttribute(
    "aria-valuetext",
    `${seconds} s: today ${said(now.today)}, better ${said(now.better)}`,
  );
  parts.clock.textContent = `${seconds} s`;
}

function said(ms) {
  return ms < 1 ? "no wait" : `${time(ms)} of waiting`;
}

/** Clears a canvas and adapts it to the size of its element. */
function sheet(canvas) {
  const scale = globalThis.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  return { pen, width, height };
}

/** The size of a block of packets and the space between blocks, in pixels. */
const [BLOCK, GAP] = [9, 2];
/** The space of the mouth below a tank, and the space above the tank, in pixels. */
const [MOUTH, ABOVE] = [14, 10];

/** The height of a full tank in pixels. */
function depth(height) {
  return height - MOUTH - ABOVE;
}

/** Draws a queue as a tank: packets as blocks, and a mark at the noticeable delay. */
function drawTank(canvas, ms, name) {
  const { pen, width, height } = sheet(canvas);
  const [floor, side] = [height - MOUTH, 8];
  const level = (value) => floor - depth(height) * Math.min(1, value / waits.most);
  pen.fillStyle = colour(name);
  const top = level(ms);
  for (let y = floor - BLOCK; y >= top - BLOCK / 2 && ms >= 1; y -= BLOCK + GAP) {
    for (let x = side + 4; x + BLOCK <= width - side - 3; x += BLOCK + GAP)
      pen.fillRect(x, y, BLOCK, BLOCK);
  }
  pen.strokeStyle = colour("--quiet");
  pen.lineWidth = 2;
  const mouth = width / 2;
  pen.beginPath();
  pen.moveTo(side, 6);
  pen.lineTo(side, floor + 1);
  pen.lineTo(mouth - 9, floor + 1);
  pen.lineTo(mouth - 9, height);
  pen.moveTo(mouth + 9, height);
  pen.lineTo(mouth + 9, floor + 1);
  pen.lineTo(width - side, floor + 1);
  pen.lineTo(width - side, 6);
  pen.stroke();
  const y = level(NOTICED_MS);
  pen.setLineDash([4, 4]);
  pen.lineWidth = 1.5;
  pen.strokeStyle = colour("--ink");
  pen.beginPath();
  pen.moveTo(side, y);
  pen.lineTo(width - side, y);
  pen.stroke();
  pen.setLineDash([]);
  pen.font = "12px system-ui, sans-serif";
  const limit = time(NOTICED_MS);
  const text = width > 240 ? `a call suffers above ${limit}` : limit;
  const wide = pen.measureText(text).width;
  pen.fillStyle = colour("--paper");
  pen.fillRect(side + 6, y - 19, wide + 8, 15);
  pen.fillStyle = colour("--ink");
  pen.fillText(text, side + 10, y - 7);
}

/** Draws both delays over the whole time, and a mark at the displayed moment. */
function drawStrip(place) {
  const { pen, width, height } = sheet(parts.strip);
  const count = Math.max(1, waits.today.length - 1);
  for (const { values, name } of [
    { values: waits.today, name: "--today" },
    { values: waits.better, name: "--accent" },
  ]) {
    pen.fillStyle = colour(name);
    pen.globalAlpha = 0.55;
    pen.beginPath();
    pen.moveTo(0, height);
    values.forEach((ms, at) =>
      pen.lineTo((at / count) * width, height - (height - 4) * (ms / waits.most)),
    );
    pen.lineTo(width, height);
    pen.fill();
  }
  pen.globalAlpha = 1;
  pen.fillStyle = colour("--ink");
  pen.fillRect((place / count) * (width - 2), 0, 2, height);
}
