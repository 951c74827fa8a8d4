// Runs trials in the WebAssembly module, one after another. It gets a compiled module and then
// requests as JSON texts, and posts the answers as JSON texts.
"use strict";

let compiled = null;
let exported = null;

/** A new instance, because a module that has trapped is not used again. */
function start() {
  exported = new WebAssembly.Instance(compiled, {}).exports;
}

function ask(text) {
  const request = new TextEncoder().encode(text);
  const address = exported.request_buffer(request.length);
  new Uint8Array(exported.memory.buffer, address, request.length).set(request);
  const length = exported.answer();
  const answer = new Uint8Array(exported.memory.buffer, exported.answer_address(), length);
  return new TextDecoder().decode(answer);
}

self.onmessage = ({ data }) => {
  if (data.module) {
    compiled = data.module;
    start();
    self.postMessage({ ready: true });
    return;
  }
  try {
    self.postMessage({ id: data.id, answer: ask(data.request) });
  } catch (error) {
    start();
    const problem = "the simulation stopped: " + (error instanceof Error ? error.message : error);
    self.postMessage({ id: data.id, answer: JSON.stringify({ error: { at: "simulator", problem } }) });
  }
};
