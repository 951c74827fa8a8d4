// The steps to a better router, and its settings, ready to paste.

import { choices } from "./choices.js";
import { byId, el, refill } from "./dom.js";
import { ratesOf, shapes } from "./home.js";

const ON_RESTARTS =
  "Paste them into the gateway’s shell, as root. To undo them, restart the gateway: they do not outlive a restart.";
const SYSTEMS = [
  {
    key: "uci",
    name: "OpenWrt",
    about:
      "Paste them into a terminal of the router. To undo them: uci set sqm.wan.enabled='0'; uci commit sqm; service sqm restart",
  },
  { key: "tc", name: "Linux", about: ON_RESTARTS },
  { key: "dnctl", name: "FreeBSD or OPNsense", about: ON_RESTARTS },
];

/** The displayed state: the system whose commands are selected, and whether they are shown. */
const shown = { system: "uci", isOpen: false };

/**
 * The rates to enter in a router's menu.
 * @param {import("./home.js").Home} home
 */
function menuRates(home) {
  const names = { down: "download", up: "upload" };
  const rates = ratesOf(home.tier);
  return Object.entries(names)
    .map(([way, name], at) => {
      if (!shapes(home.better, way)) return "";
      const mbit = (rates[at] * home.better[way]) / 100;
      return `${name} ${Number(mbit.toPrecision(3))} Mbit/s`;
    })
    .filter(Boolean)
    .join(", ");
}

/**
 * The shares of the measured rates to enter in a router's menu.
 * @param {import("./home.js").Home} home
 */
function menuShares(home) {
  const names = { down: "download", up: "upload" };
  const ways = Object.keys(names).filter((way) => shapes(home.better, way));
  const shares = new Set(ways.map((way) => home.better[way]));
  if (ways.length > 1 && shares.size === 1) return `${home.better.down} % of both measured speeds`;
  return ways.map((way) => `${home.better[way]} % of the measured ${names[way]}`).join(" and ");
}

/**
 * @param {import("./home.js").Home} home
 * @param {Record<string, string> | null | undefined} settings by system
 * @param {string | undefined} kind of the headline: what is wrong at this speed */
export function showDo(home, settings, kind) {
  const { title } = choices.gateways[home.better.kind];
  if (kind === "fine") {
    refill(byId("do-view"), el("p", {}, `Nothing. What you have is enough at ${home.tier}.`));
  } else if (kind === "tier") {
    refill(byId("do-view"), el("p", {}, `A better router is not enough at ${home.tier}. ${ON_LINES}`));
  } else if (!settings) {
    refill(
      byId("do-view"),
      el(
        "p",
        {},
        `There is nothing to set in a router for ${title}: it is a property of the line’s own devices. Ask your provider, or choose a router that shapes.`,
      ),
    );
  } else {
    const more = kind === "both" && el("p", {}, `A better router helps some of you. ${ON_LINES}`);
    refill(byId("do-view"), more, steps(home), commands(home, settings, title));
  }
}

const ON_LINES = "“Slower and faster” above shows which speed is enough, with each router.";

/** The steps in words, for a router with a menu. */
function steps(home) {
  const { up, down } = choices.gateways[home.better.kind];
  const ways = [down, up].filter((managed) => managed?.at === "gateway");
  const { qdisc } = ways[0].settings;
  const discipline = qdisc === "fq_codel" ? "fq_codel or cake" : qdisc;
  const said = [
    "Run a speed test that shows the delay under load (“bufferbloat”), and note the speeds and the delay.",
    `In your router’s menu, look for “SQM”, “Smart Queues” or “QoS” and switch it on. If it asks for a discipline, choose ${discipline}. Enter ${menuRates(home)}. If the test measures less than ${home.tier}, enter ${menuShares(home)} instead.`,
    "There is no such menu? You need a router with SQM. Put it behind your provider’s box, and connect all devices to it.",
    `Run the test again. If the delay under load is still long, lower ${ways.length > 1 ? "both rates" : "the rate"} by 5 %.`,
  ];
  return el(
    "ol",
    {},
    said.map((text) => el("li", {}, text)),
  );
}

/** The commands for routers without a menu. */
function commands(home, settings, title) {
  const told = el("span", { role: "status" });
  const about = el("p", { class: "aside" });
  const devices = el("p");
  const text = el("pre", { tabindex: 0, "aria-label": "Commands" });
  const draw = () => {
    about.textContent = SYSTEMS.find(({ key }) => key === shown.system)?.about ?? "";
    devices.textContent = `They set up ${title} at ${home.tier}. ${onDevices(home)}`;
    text.textContent = settings[shown.system];
    told.textContent = "";
  };
  const choose = ({ target }) => {
    shown.system = target.value;
    draw();
  };
  const radio = ({ key, name }) =>
    el(
      "label",
      { class: "chip" },
      el("input", {
        type: "radio",
        name: "system",
        value: key,
        checked: key === shown.system,
        "data-key": `system-${key}`,
        change: choose,
      }),
      el("span", {}, name),
    );
  const copy = () =>
    navigator.clipboard.writeText(settings[shown.system]).then(
      () => {
        told.textContent = "Copied.";
      },
      () => {
        told.textContent = "Select the text and copy it.";
      },
    );
  const button = el(
    "button",
    { type: "button", "data-key": "copy-settings", click: copy },
    "Copy the commands",
  );
  const made = el(
    "details",
    { open: shown.isOpen, toggle: () => (shown.isOpen = made.open) },
    el("summary", { "data-key": "commands" }, "Commands for OpenWrt, Linux and FreeBSD"),
    devices,
    el(
      "div",
      { class: "chips", role: "group", "aria-label": "System of the router" },
      SYSTEMS.map(radio),
    ),
    about,
    text,
    el("div", { class: "buttons" }, button, told),
  );
  draw();
  return made;
}

/** @param {import("./home.js").Home} home */
function onDevices({ line }) {
  const { device, bsd_device: bsd } = choices.lines[line].device;
  const names = shown.system === "dnctl" ? bsd : device;
  return `They name the interface towards the line, such as ${names}. Yours may have another name: replace it in every line.`;
}
