// The state of the page: a home; the jobs that it needs; and the views of their answers.

import { conclusion, count } from "./answer.js";
import { choices } from "./choices.js";
import { byId, notify } from "./dom.js";
import { fragment, readFragment } from "./home.js";
import { QUICK_S, WHOLE_S, applications, scenario, toml } from "./scenario.js";
import { Simulator } from "./simulator.js";
import { showAnswer } from "./view_answer.js";
import { showApps } from "./view_apps.js";
import { showCheck } from "./view_check.js";
import { showDo } from "./view_do.js";
import { showHome } from "./view_home.js";
import { showLine } from "./view_line.js";
import { showQueue } from "./view_queue.js";

/** @typedef {import("./home.js").Home} Home */

const SEED = 1;
const TABLES = ["flows", "windows", "rtt", "queue_series"];
const SIDES = /** @type {const} */ (["today", "better"]);

const simulator = new Simulator(() => refresh());
/** @type {Home} */
let home;
/** The scenario that the visitor wrote, in TOML. */
let own = "";
let isPlanned = false;
/** What the views of both gateways show. */
const drawn = { today: /** @type {unknown} */ (null), better: /** @type {unknown} */ (null), home: /** @type {unknown} */ (null) };

/**
 * The job of one side at a tier.
 * @param {Home} at
 * @param {"today" | "better"} side
 * @param {number} seconds
 */
function job(at, side, seconds) {
  return jobOf({ json: JSON.stringify(scenario(at, at[side], seconds)) }, seconds > QUICK_S);
}

/** The job of a scenario in JSON or TOML. @param {{json: string} | {toml: string}} text */
function jobOf(text, isLong) {
  const request = JSON.stringify({ do: "trial", scenario: text, seed: SEED, tables: TABLES });
  return { key: request, request, isLong };
}

/** The jobs of the page, the most urgent first. */
function jobs() {
  const shown = [QUICK_S, WHOLE_S].flatMap((seconds) => SIDES.map((side) => job(home, side, seconds)));
  const [quick, whole] = [shown.slice(0, 2), shown.slice(2)];
  const isKnown = whole.every(({ key }) => simulator.answer(key));
  const here = choices.tiers.indexOf(home.tier);
  const distance = (tier) => Math.abs(choices.tiers.indexOf(tier) - here);
  const others = choices.tiers.filter((tier) => tier !== home.tier);
  others.sort((one, other) => distance(one) - distance(other));
  const rest = others.flatMap((tier) => SIDES.map((side) => job({ ...home, tier }, side, WHOLE_S)));
  return [...(isKnown ? [] : quick), ...whole, ...(own ? [jobOf({ toml: own }, true)] : []), ...rest];
}

/** The best known answer of a side: of the whole minute, or of its beginning. */
function best(at, side) {
  const known = (seconds) => simulator.answer(job(at, side, seconds).key);
  return known(WHOLE_S) ?? known(QUICK_S);
}

/** Takes a changed home. @param {Home} changed */
function change(changed) {
  home = changed;
  history.replaceState(null, "", `#${fragment(home)}`);
  showHome(home, change);
  showLine(home, change);
  plan();
}

/** Hands the jobs to the simulator, once for all changes of one moment. */
function plan() {
  if (isPlanned) return;
  isPlanned = true;
  queueMicrotask(() => {
    isPlanned = false;
    simulator.want(home.people.length + home.things.length > 0 && applications(home).length > 0 ? jobs() : []);
    refresh();
  });
}

/** Shows what is known. */
function refresh() {
  const apps = applications(home);
  const labels = new Map(apps.map(({ name, who, title }) => [name, who ? `${who}’s ${title.replace(/^an? /, "")}` : title]));
  const label = (name) => labels.get(name) ?? name;
  const counted = (tier, side) => {
    const answer = best({ ...home, tier }, side);
    return answer && !answer.error ? count(tier, answer, label) : null;
  };
  const ladder = {
    today: choices.tiers.map((tier) => counted(tier, "today")),
    better: choices.tiers.map((tier) => counted(tier, "better")),
  };
  const isEmpty = apps.length === 0;
  const empty = { kind: "open", headline: "Nobody is at home. Add somebody, or a thing.", sentences: [] };
  showAnswer(isEmpty ? empty : conclusion(ladder, home.tier, home), ladder, home, change);
  const [today, better] = SIDES.map((side) => best(home, side));
  const isWhole = SIDES.every((side) => simulator.answer(job(home, side, WHOLE_S).key));
  document.body.dataset.shown = isWhole ? "whole" : today && better ? "quick" : "nothing";
  document.body.classList.toggle("busy", !isEmpty && !(today && better));
  document.body.dataset.open = String(simulator.open);
  document.body.classList.toggle("empty", isEmpty);
  const wrong = [today, better].find((answer) => answer?.error)?.error;
  if (wrong) notify([`This home cannot be simulated: ${wrong.at}: ${wrong.problem}.`]);
  if (isEmpty || !today || !better || wrong) return;
  if (drawn.today !== today || drawn.better !== better || drawn.home !== home) {
    Object.assign(drawn, { today, better, home });
    const { title } = choices.gateways[home.better.kind];
    showApps(apps, today, better, title);
    showQueue(today, better, title, home.better.kind.startsWith("fq_"));
    showDo(home);
  }
  check();
}

function check() {
  const whole = (side) => simulator.answer(job(home, side, WHOLE_S).key);
  const ran = own ? simulator.answer(jobOf({ toml: own }, true).key) : undefined;
  if (ran?.error) notify([`The text cannot be run. ${ran.error.at}: ${ran.error.problem}.`]);
  showCheck({
    link: `${location.href.split("#")[0]}#${fragment(home)}`,
    texts: {
      today: toml(scenario(home, home.today, WHOLE_S)),
      better: toml(scenario(home, home.better, WHOLE_S)),
    },
    digests: {
      today: whole("today")?.digest ?? "…",
      better: whole("better")?.digest ?? "…",
      own: ran?.digest ?? "…",
    },
    ran: ran && !ran.error ? ran.verdicts : null,
    runText,
  });
}

function runText(text) {
  own = text;
  plan();
}

function open() {
  const { home: read, problems } = readFragment(location.hash.slice(1));
  notify(problems);
  change(read);
}

addEventListener("hashchange", () => {
  if (location.hash.slice(1) !== fragment(home)) open();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  drawn.home = null;
  refresh();
});
open();
simulator.start(2).catch((error) => {
  byId("headline").textContent = `The simulator could not be started: ${error.message}`;
});
