// The settings of the better gateway, ready to paste.

import { choices } from "./choices.js";
import { byId, el, refill } from "./dom.js";
import { shapes } from "./home.js";
import { rateOf } from "./scenario.js";

const SYSTEMS = [
  {
    key: "uci",
    name: "OpenWrt",
    about: "In a terminal of the router. They install SQM and switch it on.",
  },
  {
    key: "tc",
    name: "Linux",
    about: "As root, on the gateway. Name its own interface to the line.",
  },
  {
    key: "dnctl",
    name: "FreeBSD or OPNsense",
    about: "As root, on the gateway. Name its own interface to the line.",
  },
];

/** The system whose settings are shown. */
let system = "uci";

/**
 * The rates to enter in a router's menu.
 * @param {import("./home.js").Home} home
 */
function menuRates(home) {
  const names = { down: "download", up: "upload" };
  return Object.entries(names)
    .map(([way, name], at) => {
      if (!shapes(home.better, way)) return "";
      const mbit = (Number.parseFloat(rateOf(home.tier, at)) * home.better[way]) / 100;
      return `${Number(mbit.toPrecision(3))} Mbit/s for the ${name}`;
    })
    .filter(Boolean)
    .join(" and ");
}

/**
 * @param {import("./home.js").Home} home
 * @param {Record<string, string> | null | undefined} settings by system
 */
export function showDo(home, settings) {
  const { title } = choices.gateways[home.better.kind];
  if (!settings) {
    refill(
      byId("do-view"),
      el(
        "p",
        {},
        `There is nothing to set in a router for ${title}: it is a property of the line’s own devices. Ask your provider, or choose a gateway that shapes.`,
      ),
    );
    return;
  }
  const choose = ({ target }) => {
    system = target.value;
    showDo(home, settings);
  };
  const radio = ({ key, name }) =>
    el(
      "label",
      { class: "chip" },
      el("input", {
        type: "radio",
        name: "system",
        value: key,
        checked: key === system,
        "data-key": `system-${key}`,
        change: choose,
      }),
      el("span", {}, name),
    );
  const about = SYSTEMS.find(({ key }) => key === system)?.about;
  const told = el("span", { role: "status" });
  const copy = () =>
    navigator.clipboard.writeText(settings[system]).then(
      () => {
        told.textContent = "Copied.";
      },
      () => {
        told.textContent = "Select the text and copy it.";
      },
    );
  refill(
    byId("do-view"),
    el(
      "p",
      {},
      `In your router’s menu, look for “SQM”, “smart queues” or “QoS”. Enter ${menuRates(home)}. If your router has no such menu, it needs one that has. Where it runs one of these systems, these commands give you ${title} at ${home.tier}:`,
    ),
    el(
      "div",
      { class: "chips", role: "group", "aria-label": "System of the router" },
      SYSTEMS.map(radio),
    ),
    el("p", { class: "aside" }, about),
    el("pre", { tabindex: 0, "aria-label": "Commands" }, settings[system]),
    el(
      "div",
      { class: "buttons" },
      el(
        "button",
        { type: "button", "data-key": "copy-settings", click: copy },
        "Copy the commands",
      ),
      told,
    ),
  );
}
