// Runs trials in the WebAssembly module, one after another. The worker gets a compiled module and
// then requests as JSON texts, and posts the answers as JSON texts.

import { ask } from "./ask.js";

/** @type {WebAssembly.Module} */
let compiled;
/** @type {any} */
let exported = null;

/** Makes a new instance, because an instance that has trapped must not be reused. */
function renew() {
  exported = new WebAssembly.Instance(compiled, {}).exports;
}

self.onmessage = ({ data }) => {
  if (data.module) {
    compiled = data.module;
    renew();
    self.postMessage({ ready: true });
    return;
  }
  try {
    self.postMessage({ id: data.id, answer: ask(exported, data.request) });
  } catch (error) {
    renew();
    const problem = `the simulation stopped: ${error instanceof Error ? error.message : error}`;
    self.postMessage({
      id: data.id,
      answer: JSON.stringify({ error: { at: "simulator", problem } }),
    });
  }
};
