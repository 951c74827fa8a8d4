// Formats numbers for people.

/**
 * Formats a number as verdicts show it: two digits, whole numbers from ten on, and halves exactly.
 * @param {number} value
 */
function digits(value) {
  if ((2 * value) % 2 === 1) return value.toFixed(1);
  return value >= 10 ? value.toFixed(0) : String(Number(value.toPrecision(2)));
}

/**
 * A time: "26 ms", "1.2 s".
 * @param {number} ms
 */
export function time(ms) {
  if (ms < 1) return "under 1 ms";
  return ms < 1000 ? `${digits(ms)} ms` : `${digits(ms / 1000)} s`;
}

/**
 * A rate: "80 kbit/s", "12 Mbit/s".
 * @param {number} mbit
 */
export function rate(mbit) {
  return mbit < 0.1 ? `${digits(mbit * 1000)} kbit/s` : `${digits(mbit)} Mbit/s`;
}

/**
 * Joins names into a list for a sentence.
 * @param {string[]} names
 */
export function listed(names) {
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;
}

/** @param {string} text */
export function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
