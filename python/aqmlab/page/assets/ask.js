// Requests to the WebAssembly module: a JSON text goes in through a buffer, and one comes out.

/**
 * Asks an instance of the module.
 * @param {any} exported
 * @param {string} text
 * @returns {string}
 */
export function ask(exported, text) {
  const request = new TextEncoder().encode(text);
  const address = exported.request_buffer(request.length);
  new Uint8Array(exported.memory.buffer, address, request.length).set(request);
  const length = exported.answer();
  const answer = new Uint8Array(exported.memory.buffer, exported.answer_address(), length);
  return new TextDecoder().decode(answer);
}
