// Runs trials in web workers. Short jobs come first: no long job runs while a short job waits or
// runs. So even a single core is free for the short job. Outdated jobs are dropped.

import { ask } from "./ask.js";

/**
 * @typedef {{key: string, request: string, isLong: boolean}} Job
 * @typedef {{worker: Worker | null, job: Job | null, isReady: boolean, problem: string,
 *   timer: number}} Seat The place of a worker, which starts when its first job is due. The first
 *   place has short jobs only. `problem` is empty unless the worker could not be started.
 * @typedef {{rtt_p50_ms: number | null, rtt_p95_ms: number | null,
 *   throughput_mean_mbit: number | null}} Medians over seeds, each of the worst direction
 * @typedef {{app: string, word: string, because: string, felt: string, medians: Medians}} Verdict
 * @typedef {Record<string, any[]>} Table
 * @typedef {{
 *   digest: string, packets: number, events: number,
 *   links: {name: string, rate_bps: number}[],
 *   verdicts: Verdict[], tables: Record<string, Table>,
 *   error?: {at: string, problem: string},
 * }} Answer
 */

const MOST_KEPT = 120;
/** The time limit of a trial, because a visitor's scenario may last for years. */
const MOST_MS = 300_000;

/** A place without a worker. @returns {Seat} */
function vacant() {
  return { worker: null, job: null, isReady: false, problem: "", timer: 0 };
}

export class Simulator {
  /** @param {(key: string) => void} onAnswer */
  constructor(onAnswer) {
    this.onAnswer = onAnswer;
    /** @type {Map<string, Answer>} */
    this.answers = new Map();
    /** @type {Job[]} */
    this.waiting = [];
    /** @type {Seat[]} */
    this.seats = [];
    this.source = "";
  }

  /**
   * Compiles the module and starts workers for the first jobs, which are short.
   * @param {number} cores
   */
  async start(cores) {
    this.source = workerSource();
    this.module = await WebAssembly.compile(await moduleBytes());
    await this.instantiate();
    const workers = 1 + Math.max(1, Math.min(cores, 3));
    for (let place = 0; place < workers; place += 1) {
      if (place < Math.min(cores, 2)) this.startAt(place);
      else this.seats.push(vacant());
    }
    this.next();
  }

  /** Makes the instance that answers quick requests. */
  async instantiate() {
    this.exported = (await WebAssembly.instantiate(this.module, {})).exports;
  }

  /**
   * Sets the wanted jobs, the most urgent first. Other jobs are dropped, except short jobs that run. A
   * long job is stopped if a short job waits, and starts again later.
   * @param {Job[]} jobs
   */
  want(jobs) {
    const wanted = new Set(jobs.map((job) => job.key));
    const running = () => new Set(this.seats.map((seat) => seat.job?.key));
    const isNew = (job) => !this.answers.has(job.key) && !running().has(job.key);
    const hasShort = jobs.some((job) => !job.isLong && isNew(job));
    for (const [place, { job }] of this.seats.entries())
      if (job?.isLong && (hasShort || !wanted.has(job.key))) this.stopAt(place);
    this.waiting = jobs.filter(isNew);
    this.next();
  }

  /**
   * The answer to a job, if it is known.
   * @param {string} key
   * @returns {Answer | undefined}
   */
  answer(key) {
    return this.answers.get(key);
  }

  /**
   * The immediate answer to a quick request; `null` before the start, and if the instance traps. An
   * instance that has trapped must not be reused, so a new one replaces it.
   * @param {object} request
   * @returns {any} */
  ask(request) {
    if (!this.exported) return null;
    try {
      return JSON.parse(ask(this.exported, JSON.stringify(request)));
    } catch (error) {
      console.error(error);
      this.exported = undefined;
      this.instantiate();
      return null;
    }
  }

  /** Whether the simulator answers requests. */
  get isStarted() {
    return this.exported !== undefined;
  }

  /** Whether a short job waits or runs. */
  get isUrgent() {
    const jobs = [this.waiting[0], ...this.seats.map((seat) => seat.job)];
    return jobs.some((job) => job?.isLong === false);
  }

  /** The number of wanted jobs without an answer. */
  get open() {
    return this.waiting.length + this.seats.filter((seat) => seat.job !== null).length;
  }

  /** Starts the worker of a place. @param {number} place */
  startAt(place) {
    const worker = new Worker(/** @type {any} */ (this.source));
    /** @type {Seat} */
    const seat = { ...vacant(), worker };
    worker.onmessage = ({ data }) => {
      if (data.ready) seat.isReady = true;
      else this.take(seat, JSON.parse(data.answer));
      this.next();
    };
    worker.onerror = (event) => {
      event.preventDefault(); // the error is an answer, so it need not be in the console
      const problem = `the worker stopped: ${event.message}`;
      if (seat.isReady) this.take(seat, failure(problem));
      else seat.problem = problem;
      this.next();
    };
    worker.postMessage({ module: this.module });
    this.seats[place] = seat;
  }

  /** Stops the worker of a place with its job. @param {number} place */
  stopAt(place) {
    const { worker, timer } = this.seats[place];
    worker?.terminate();
    clearTimeout(timer);
    this.seats[place] = vacant();
  }

  /** Stops the worker of a place whose job took too long, and answers the job with an error. */
  stop(seat) {
    const { job } = seat;
    this.stopAt(this.seats.indexOf(seat));
    const problem = "the simulation took longer than five minutes; make it shorter";
    this.answered(job, failure(problem, "duration"));
    this.next();
  }

  take(seat, answer) {
    const { job } = seat;
    clearTimeout(seat.timer);
    seat.job = null;
    if (job !== null) this.answered(job, answer);
  }

  answered(job, answer) {
    this.answers.set(job.key, answer);
    const oldest = this.answers.keys().next().value;
    if (this.answers.size > MOST_KEPT && oldest !== undefined) this.answers.delete(oldest);
    // The answers of short jobs are shown together.
    if (!this.isUrgent) this.onAnswer(job.key);
  }

  /** Gives waiting jobs to idle workers. If no worker could be started, the jobs get an error. */
  next() {
    const started = this.seats.filter(({ worker }) => worker !== null);
    if (started.length > 0 && started.every(({ problem }) => problem)) {
      const error = failure(started[0].problem);
      for (const job of this.waiting.splice(0)) this.answered(job, error);
      return;
    }
    for (const [place, seat] of this.seats.entries()) {
      if (seat.job !== null) continue;
      const [job] = this.waiting;
      if (job === undefined) return;
      if (job.isLong && (place === 0 || this.seats.some((other) => other.job?.isLong === false)))
        continue;
      if (seat.worker === null) {
        if (job.isLong || place === 0) this.startAt(place);
        continue;
      }
      if (!seat.isReady) continue;
      this.waiting.shift();
      seat.job = job;
      seat.timer = setTimeout(() => this.stop(seat), MOST_MS);
      seat.worker.postMessage({ id: job.key, request: job.request });
    }
  }
}

/** The answer to a job that could not be simulated. */
function failure(problem, at = "simulator") {
  return /** @type {any} */ ({ error: { at, problem } });
}

/** The address of the worker's script, which a page in one file contains. */
function workerSource() {
  const inside = document.getElementById("worker");
  const address = inside
    ? URL.createObjectURL(new Blob([inside.textContent ?? ""], { type: "text/javascript" }))
    : "worker.js";
  const trust = /** @type {any} */ (globalThis).trustedTypes;
  if (!trust) return address;
  return trust
    .createPolicy("aqmlab-worker", { createScriptURL: () => address })
    .createScriptURL("");
}

/** The bytes of the WebAssembly module, which a page in one file contains. */
async function moduleBytes() {
  const inside = document.getElementById("simulator");
  if (inside === null) {
    const found = await fetch("simulator.wasm");
    if (!found.ok) throw new Error(`simulator.wasm could not be loaded: ${found.status}`);
    return found.arrayBuffer();
  }
  const text = atob(inside.textContent ?? "");
  const packed = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) packed[at] = text.charCodeAt(at);
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(unpacked).arrayBuffer();
}
