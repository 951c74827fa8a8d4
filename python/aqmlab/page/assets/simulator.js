// Runs trials in web workers. Displayed trials come first, and outdated jobs are dropped.

import { ask } from "./ask.js";

/**
 * @typedef {{key: string, request: string, isLong: boolean}} Job
 * @typedef {{worker: Worker, job: Job | null, isReady: boolean, timer: number}} Seat
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
   * Compiles the module and starts the workers.
   * @param {number} workers
   */
  async start(workers) {
    this.source = workerSource();
    this.module = await WebAssembly.compile(await moduleBytes());
    this.exported = (await WebAssembly.instantiate(this.module, {})).exports;
    for (let number = 0; number < workers; number += 1) this.seats.push(this.seat());
    this.next();
  }

  /**
   * Sets the jobs that are wanted, the most urgent first. Other jobs are dropped.
   * @param {Job[]} jobs
   */
  want(jobs) {
    const wanted = new Set(jobs.map((job) => job.key));
    for (const [place, { worker, job, timer }] of this.seats.entries()) {
      if (job === null || !job.isLong || wanted.has(job.key)) continue;
      worker.terminate();
      clearTimeout(timer);
      this.seats[place] = this.seat();
    }
    const running = new Set(this.seats.map((seat) => seat.job?.key));
    this.waiting = jobs.filter(({ key }) => !this.answers.has(key) && !running.has(key));
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
   * The immediate answer to a quick request; `null` before the start.
   * @param {object} request
   * @returns {any} */
  ask(request) {
    return this.exported ? JSON.parse(ask(this.exported, JSON.stringify(request))) : null;
  }

  /** Whether the simulator answers requests. */
  get isStarted() {
    return this.exported !== undefined;
  }

  /** The number of wanted jobs without an answer. */
  get open() {
    return this.waiting.length + this.seats.filter((seat) => seat.job !== null).length;
  }

  seat() {
    const worker = new Worker(/** @type {any} */ (this.source));
    /** @type {Seat} */
    const seat = { worker, job: null, isReady: false, timer: 0 };
    worker.onmessage = ({ data }) => {
      if (data.ready) seat.isReady = true;
      else this.take(seat, JSON.parse(data.answer));
      this.next();
    };
    worker.onerror = (event) => {
      const problem = `the worker stopped: ${event.message}`;
      this.take(seat, { error: { at: "simulator", problem } });
    };
    worker.postMessage({ module: this.module });
    return seat;
  }

  /** Ends a job that takes too long. */
  stop(seat) {
    const place = this.seats.indexOf(seat);
    seat.worker.terminate();
    const problem = "the simulation took longer than five minutes; make it shorter";
    this.take(seat, { error: { at: "duration", problem } });
    this.seats[place] = this.seat();
  }

  take(seat, answer) {
    const { job } = seat;
    clearTimeout(seat.timer);
    seat.job = null;
    if (job === null) return;
    this.answers.set(job.key, answer);
    const oldest = this.answers.keys().next().value;
    if (this.answers.size > MOST_KEPT && oldest !== undefined) this.answers.delete(oldest);
    this.onAnswer(job.key);
  }

  next() {
    for (const seat of this.seats) {
      if (seat.job !== null || !seat.isReady) continue;
      const job = this.waiting.shift();
      if (job === undefined) return;
      seat.job = job;
      seat.timer = setTimeout(() => this.stop(seat), MOST_MS);
      seat.worker.postMessage({ id: job.key, request: job.request });
    }
  }
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
