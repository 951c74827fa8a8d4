// Sharing and checking: the link, the scenario as TOML, the command, and the digest.

import { byId, el, refill } from "./dom.js";
import { MOST_TOML } from "./home.js";
import { badge } from "./view_answer.js";

/** The gateway whose scenario is shown until the visitor edits it. */
let side = "today";
/** @type {Record<string, any>} */
let parts = {};

/**
 * @param {{link: string, toml: string | null, texts: Record<string, string>,
 *   digests: Record<string, string>, ran: import("./simulator.js").Verdict[] | null,
 *   edit: (text: string | null) => void, run: () => void}} given `toml` is the edited text.
 */
export function showCheck(given) {
  if (!parts.text) build();
  parts.given = given;
  parts.link.value = given.link;
  const { toml } = given;
  const text = toml ?? given.texts[side];
  if (parts.text.value !== text) parts.text.value = text;
  parts.digest.textContent = given.digests[toml === null ? side : "own"] ?? "…";
  parts.told.textContent = toml === null || toml.length <= MOST_TOML ? "" : TOO_LONG;
  const rows = (toml !== null && given.ran) || [];
  refill(
    parts.ran,
    rows.map(({ app, word, because }) =>
      el("li", {}, el("strong", {}, app), " ", badge(word), ` ${because}`),
    ),
  );
}

const ON_FILES =
  "This page is a file, so the link works only on this computer. To share it, send the file, too.";
const TOO_LONG = "The link leaves out the edited scenario, which is too long for a link. Save it.";

const COMMANDS = `aqmlab run home.toml --out home
aqmlab query home "SELECT seed, digest FROM trials"`;

function build() {
  const copy = async (text, told) => {
    try {
      await navigator.clipboard.writeText(text);
      told.textContent = "Copied.";
    } catch {
      told.textContent = "Select the text and copy it.";
    }
  };
  const choose = ({ target }) => {
    side = target.value;
    parts.given.edit(null);
  };
  const radio = (key, text) =>
    el(
      "label",
      { class: "chip" },
      el("input", {
        type: "radio",
        name: "toml-side",
        value: key,
        checked: key === side,
        change: choose,
      }),
      el("span", {}, text),
    );
  const write = ({ target }) => parts.given.edit(target.value);
  const copied = el("span", { role: "status", class: "told" });
  parts = {
    link: el("input", { id: "link", readonly: true, value: "" }),
    text: el("textarea", { id: "toml", rows: 18, spellcheck: "false", input: write }),
    digest: el("code", { id: "digest" }),
    told: el("p", { role: "status", class: "aside" }),
    ran: el("ul", { class: "ran", id: "ran" }),
    given: null,
  };
  const save = () => {
    const file = new Blob([parts.text.value], { type: "application/toml" });
    const address = URL.createObjectURL(file);
    el("a", { href: address, download: "home.toml" }).click();
    URL.revokeObjectURL(address);
  };
  refill(
    byId("check-view"),
    el(
      "p",
      {},
      "This link holds the whole household and an edited scenario. Browsers do not send the part after # to a server.",
    ),
    el(
      "p",
      { class: "field wide" },
      el("label", { for: "link" }, "Link"),
      parts.link,
      el("button", { type: "button", click: () => copy(parts.link.value, copied) }, "Copy the link"),
      copied,
    ),
    location.protocol === "file:" && el("p", { class: "aside", id: "on-files" }, ON_FILES),
    parts.told,
    el(
      "details",
      {},
      el("summary", {}, "Edit as TOML"),
      el(
        "p",
        {},
        "The command line runs the same simulation. Save this scenario, run it and list the digest of each seed:",
      ),
      el("pre", { tabindex: 0, "aria-label": "Commands" }, COMMANDS),
      el(
        "p",
        {},
        "The digest of its first seed is ",
        parts.digest,
        ". It is a hash of the time and identity of every packet, and equal on every machine. aqmlab run prints another digest, that of all seeds together.",
      ),
      el(
        "div",
        { class: "chips", role: "group", "aria-label": "Scenario of" },
        radio("today", "today’s router"),
        radio("better", "the better router"),
      ),
      el("label", { for: "toml" }, "Scenario"),
      parts.text,
      el(
        "div",
        { class: "buttons" },
        el("button", { type: "button", click: () => parts.given.run() }, "Run this text"),
        el("button", { type: "button", click: save }, "Save home.toml"),
        el("button", { type: "button", click: () => parts.given.edit(null) }, "Discard changes"),
      ),
      parts.ran,
    ),
  );
}
