// Requests to the WebAssembly module. One buffer passes a JSON text in, and another buffer passes
// a JSON text out.

/**
 * Passes a request to an instance of the module; returns its answer.
 * @param {any} exported
 * @param {string} text
 * @returns {string} */
export function ask(exported, text) {
  const request = new TextEncoder().encode(text);
  const address = exported.request_buffer(request.length);
  new Uint8Array(exported.memory.buffer, address, request.length).set(request);
  const length = exported.answer();
  const answer = new Uint8Array(exported.memory.buffer, exported.answer_address(), length);
  return new TextDecoder().decode(answer);
}
