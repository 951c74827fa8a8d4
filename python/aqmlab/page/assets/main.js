// The state of the page: a home, the simulation jobs for it, and the views of the answers.

import { evidence, isWhole } from "./answer.js";
import { choices } from "./choices.js";
import { byId, notify } from "./dom.js";
import { fragment, ratesOf, readFragment, shapes, tiersOf } from "./home.js";
import { SURE, WHOLE, applications, quick, scenario, toml } from "./scenario.js";
import { Simulator } from "./simulator.js";
import { showAnswer } from "./view_answer.js";
import { showApps } from "./view_apps.js";
import { showCheck } from "./view_check.js";
import { showDo } from "./view_do.js";
import { showHome } from "./view_home.js";
import { showLine } from "./view_line.js";
import { showQueue } from "./view_queue.js";

/** @typedef {import("./home.js").Home} Home */

const TABLES = ["flows", "windows", "rtt", "queue_series"];
const EMPTY = "Nobody is at home. Add somebody, or a thing.";
const IDLE = "Nobody does anything yet. Choose what somebody does.";
const REFUSED = "This home cannot be simulated.";
const ESTIMATE = "First estimate. The whole minute is still being simulated.";
const SIDES = /** @type {const} */ (["today", "better"]);
const SHOWN_AT_HOME = /** @type {const} */ (["people", "things", "tiers"]);

const simulator = new Simulator(() => refresh());
/** @type {Home} */
let home;
/** The visitor's scenario that runs. The text may have been edited since. @type {string | null} */
let own = null;
let isPlanned = false;
/** The last fragment of the address that the page read or wrote. */
let handled = "";
/** The last conclusion, with the home and the runs from which it was drawn. */
let concluded = {
  home: /** @type {unknown} */ (null),
  runs: /** @type {unknown[]} */ ([]),
  advice: /** @type {import("./answer.js").Advice | undefined} */ (undefined),
};
/** The data from which the views were last drawn. */
const drawn = {
  today: /** @type {unknown} */ (null),
  better: /** @type {unknown} */ (null),
  home: /** @type {unknown} */ (null),
  settings: /** @type {unknown} */ (null),
  ran: /** @type {unknown} */ (null),
  people: /** @type {Home | null} */ (null),
};
/** The parts of the page that are drawn after the answer. @type {Map<string, () => void>} */
const waiting = new Map();

/**
 * The job of one side at a tier.
 * @param {Home} at
 * @param {"today" | "better"} side
 * @param {import("./scenario.js").Span} span
 */
function job(at, side, span) {
  return jobOf({ json: JSON.stringify(scenario(at, at[side], span)) }, span);
}

/**
 * The job of a scenario in JSON or TOML.
 * @param {{json: string} | {toml: string}} text
 * @param {import("./scenario.js").Span} span
 */
function jobOf(text, { seconds, seeds }) {
  const request = JSON.stringify({ do: "trial", scenario: text, seeds, tables: TABLES });
  return { key: request, request, isLong: seconds === WHOLE.seconds };
}

/** The jobs of the page, the most urgent first. */
function jobs() {
  const [first, whole] = [quick(home), WHOLE].map((span) =>
    SIDES.map((side) => job(home, side, span)),
  );
  const isKnown = whole.every(({ key }) => simulator.answer(key));
  const tiers = tiersOf(home);
  const distance = (tier) => Math.abs(tiers.indexOf(tier) - tiers.indexOf(home.tier));
  const others = tiers.filter((tier) => tier !== home.tier);
  others.sort((one, other) => distance(one) - distance(other));
  const of = (tier, span) => SIDES.map((side) => job({ ...home, tier }, side, span));
  const rest = [
    ...others.flatMap((tier) => of(tier, WHOLE)),
    ...[home.tier, ...others].flatMap((tier) => of(tier, SURE)),
  ];
  return [
    ...(isKnown ? [] : first),
    ...whole,
    ...(own === null ? [] : [jobOf({ toml: own }, SURE)]),
    ...rest,
  ];
}

/** The best known answer of a side: for several evenings, one evening, or the start of an evening. */
function best(at, side) {
  return evening(at, side) ?? simulator.answer(job(at, side, quick(at)).key);
}

/** The answer of a side for several evenings or for one evening. */
function evening(at, side) {
  const known = (span) => simulator.answer(job(at, side, span).key);
  return known(SURE) ?? known(WHOLE);
}

/** Replaces the home. @param {Home} changed */
function change(changed) {
  home = changed;
  later("link", writeLink);
  showPeople();
  showLine(home, change);
  plan();
}

/** Shows the people, things and tiers of the home, if they have changed. */
function showPeople() {
  const isSame = SHOWN_AT_HOME.every((member) => drawn.people?.[member] === home[member]);
  if (isSame) return;
  const shown = home;
  drawn.people = shown;
  showHome(shown, (changed) => {
    const members = Object.entries(changed).filter(([name, value]) => value !== shown[name]);
    change({ ...home, ...Object.fromEntries(members) });
  });
}

/** Draws a part of the page after the browser has shown the answer. Only the last call counts. */
function later(part, draw) {
  if (waiting.size === 0) requestAnimationFrame(() => setTimeout(drawWaiting));
  waiting.set(part, draw);
  document.body.dataset.drawn = "false";
}

function drawWaiting() {
  if (simulator.isUrgent) {
    setTimeout(drawWaiting, 20);
    return;
  }
  const parts = [...waiting.values()];
  waiting.clear();
  for (const draw of parts) draw();
  document.body.dataset.drawn = "true";
}

/** Writes the home to the address, unless the visitor has just opened another link. */
function writeLink() {
  if (location.hash !== handled) return;
  history.replaceState(null, "", `#${fragment(home)}`);
  handled = location.hash;
}

/** Passes the jobs to the simulator, once for all simultaneous changes. */
function plan() {
  if (isPlanned) return;
  isPlanned = true;
  queueMicrotask(() => {
    isPlanned = false;
    simulator.want(
      home.people.length + home.things.length > 0 && applications(home).length > 0 ? jobs() : [],
    );
    refresh();
  });
}

/** Shows the known results. */
function refresh() {
  const apps = applications(home);
  const isEmpty = apps.length === 0;
  const ran = (side) => tiersOf(home).map((tier) => judged(tier, side));
  const ladder = { today: ran("today"), better: ran("better") };
  const advice = advised(ladder, apps);
  const counts = advice?.conclusion.gateways.map(({ tiers }) => tiers) ?? [[], []];
  const isMinute = SIDES.every((side) => simulator.answer(job(home, side, WHOLE).key));
  const sentences = advice && !isEmpty && isMinute && isWhole(ladder) ? advice.sentences : [];
  const [today, better] = SIDES.map((side) => best(home, side));
  const wrong = [today, better].find((answer) => answer?.error)?.error;
  const nothing = home.people.length > 0 ? IDLE : EMPTY;
  const text = isEmpty ? nothing : wrong ? REFUSED : "Simulating your home…";
  const open = { kind: "open", text };
  showAnswer((!isEmpty && advice?.headline) || open, sentences, counts, home, change);
  const kind = advice?.headline?.kind;
  if (simulator.isStarted && (drawn.settings !== home || drawn.kind !== kind)) {
    Object.assign(drawn, { settings: home, kind });
    later("do", () => showDo(home, gatewaySettings(), kind));
  }
  document.body.dataset.shown = isMinute ? "whole" : today && better ? "quick" : "nothing";
  const isEstimate = !isEmpty && advice?.headline && !isMinute;
  byId("estimate").textContent = isEstimate ? ESTIMATE : "";
  document.body.classList.toggle("busy", !isEmpty && !(today && better));
  document.body.dataset.open = String(simulator.open);
  document.body.classList.toggle("empty", isEmpty);
  if (wrong) notify([`${REFUSED} ${wrong.at}: ${wrong.problem}.`]);
  if (isEmpty || !today || !better || wrong) return;
  if (drawn.today !== today || drawn.better !== better || drawn.home !== home) {
    Object.assign(drawn, { today, better, home });
    const { title } = choices.gateways[home.better.kind];
    showApps(apps, today, better, title);
    later("queue", () => showQueue(today, better, title, isFair()));
  }
  later("check", check);
}

/**
 * The answer at a tier; `null` before the tier has been run. At the home's own tier, the answer may
 * cover just the start of an evening. At other tiers, it covers at least one evening.
 */
function judged(tier, side) {
  const answer = tier === home.tier ? best(home, side) : evening({ ...home, tier }, side);
  return answer && !answer.error ? answer : null;
}

/**
 * The advice that follows from the ladder. The WebAssembly module computes it only after a change.
 * @param {import("./answer.js").Ladder} ladder
 * @param {ReturnType<typeof applications>} apps
 * @returns {import("./answer.js").Advice | undefined}
 */
function advised(ladder, apps) {
  const runs = SIDES.flatMap((side) => ladder[side]);
  const isSame = concluded.home === home && runs.every((run, at) => run === concluded.runs[at]);
  if (!isSame || concluded.advice === undefined) {
    const request = { do: "advice", evidence: evidence(ladder, home, apps) };
    concluded = { home, runs, advice: simulator.ask(request)?.advice };
  }
  return concluded.advice;
}

/** Whether the better gateway runs FQ-CoDel or FQ-PIE, with a queue for each flow, in some direction. */
function isFair() {
  const { up, down } = choices.gateways[home.better.kind];
  return [up, down].some((managed) => managed?.settings.qdisc.startsWith("fq_"));
}

/** The input for the settings of the better gateway. */
function gatewaySettings() {
  const { device } = choices.lines[home.line];
  const rates = ratesOf(home.tier).map((mbit) => Math.round(1e6 * mbit));
  const shaper = (way, at) => {
    const managed = choices.gateways[home.better.kind][way];
    const bps = Math.floor((rates[at] * home.better[way]) / 100);
    return shapes(home.better, way) && managed ? { bps, ...managed.settings } : null;
  };
  const gateway = { ...device, down: shaper("down", 0), up: shaper("up", 1) };
  return gateway.down || gateway.up ? simulator.ask({ do: "settings", gateway })?.settings : null;
}

function check() {
  const whole = (side) => simulator.answer(job(home, side, WHOLE).key);
  const ran = own === null ? undefined : simulator.answer(jobOf({ toml: own }, SURE).key);
  const isNew = drawn.ran !== ran;
  drawn.ran = ran;
  if (ran && isNew)
    notify(ran.error ? [`The text cannot be run. ${ran.error.at}: ${ran.error.problem}.`] : []);
  showCheck({
    link: `${location.href.split("#")[0]}#${fragment(home)}`,
    texts: {
      today: toml(scenario(home, home.today, WHOLE)),
      better: toml(scenario(home, home.better, WHOLE)),
    },
    digests: {
      today: whole("today")?.digest ?? "…",
      better: whole("better")?.digest ?? "…",
      own: ran?.digest ?? "…",
    },
    ran: ran && !ran.error ? ran.verdicts : null,
    toml: home.toml,
    edit,
    run,
  });
}

/** Takes the visitor's scenario, or `null` to remove it. @param {string | null} text */
function edit(text) {
  home = { ...home, toml: text };
  writeLink();
  if (text === null) run();
  else check();
}

/** Runs the visitor's scenario, if there is one. */
function run() {
  own = home.toml;
  plan();
}

function open() {
  handled = location.hash;
  const { home: read, problems } = readFragment(handled.slice(1));
  notify(problems);
  own = read.toml;
  change(read);
}

addEventListener("hashchange", () => {
  if (location.hash !== handled) open();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  drawn.home = null;
  refresh();
});
open();
simulator.start(navigator.hardwareConcurrency || 1).catch((error) => {
  byId("headline").textContent = `The simulator could not be started: ${error.message}`;
});
