// Makes elements from values. Text is set as text, never parsed, because links and inputs may be
// hostile.

/**
 * @typedef {Record<string, unknown>} Attributes
 * @typedef {Node | string | null | undefined | false} Child
 */

/**
 * Makes an element. A function as an attribute becomes a listener. `false` and `null` are omitted.
 * @param {string} tag
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {any} */
export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/**
 * Makes an SVG element.
 * @param {string} tag
 * @param {Attributes} attributes
 * @param {...Child} children */
export function svg(tag, attributes, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (["value", "checked", "disabled", "open", "selected"].includes(name))
      made[name] = value;
    else if (value !== false && value !== null && value !== undefined) {
      made.setAttribute(name, value === true ? "" : String(value));
    }
  }
  made.append(...children.flat().filter((child) => child || child === ""));
  return made;
}

/**
 * Replaces the children of an element. If a control in it has the focus, the new control with this
 * control's `data-key` gets the focus.
 * @param {Element} parent
 * @param {...(Child | Child[])} children
 */
export function refill(parent, ...children) {
  const active = document.activeElement;
  const key = active && parent.contains(active) ? active.getAttribute("data-key") : null;
  const kept = children.flat().filter(Boolean);
  parent.replaceChildren(.../** @type {(Node | string)[]} */ (kept));
  if (key === null) return;
  const again = [...parent.querySelectorAll("[data-key]")].find(
    (one) => one.getAttribute("data-key") === key,
  );
  if (again instanceof HTMLElement) again.focus({ preventScroll: true });
}

/** @param {string} id */
export function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/**
 * Shows messages to the visitor.
 * @param {string[]} texts
 */
export function notify(texts) {
  const close = () => refill(byId("notices"));
  const button = el("button", { type: "button", class: "quiet", click: close }, "Dismiss");
  const lines = texts.map((text) => el("p", {}, text));
  refill(byId("notices"), texts.length > 0 && el("div", { class: "notice" }, lines, button));
}
