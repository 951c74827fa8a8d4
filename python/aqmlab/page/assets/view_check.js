// Sharing and checking: the link, the scenario as TOML, the command, and the digest.

import { byId, el, refill } from "./dom.js";
import { badge } from "./view_answer.js";

/** The text that the visitor edits, and the side of its origin. */
const edited = { side: "today", text: "", isOwn: false };
/** @type {Record<string, any>} */
let parts = {};

/**
 * @param {{link: string, texts: Record<string, string>, digests: Record<string, string>,
 *   ran: import("./simulator.js").Verdict[] | null, runText: (text: string | null) => void}} given
 */
export function showCheck(given) {
  if (!parts.text) build();
  parts.given = given;
  parts.link.value = given.link;
  if (!edited.isOwn) {
    edited.text = given.texts[edited.side];
    parts.text.value = edited.text;
  }
  const digest = given.digests[edited.isOwn ? "own" : edited.side] ?? "…";
  parts.digest.textContent = digest;
  const rows = (edited.isOwn && given.ran) || [];
  refill(
    parts.ran,
    rows.map(({ app, verdict, because }) =>
      el("li", {}, el("strong", {}, app), " ", badge(verdict), ` ${because}`),
    ),
  );
}

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
    Object.assign(edited, { side: target.value, isOwn: false });
    showCheck(parts.given);
  };
  const discard = () => {
    choose({ target: { value: edited.side } });
    parts.given.runText(null);
  };
  const radio = (side, text) =>
    el(
      "label",
      { class: "chip" },
      el("input", {
        type: "radio",
        name: "toml-side",
        value: side,
        checked: side === "today",
        change: choose,
      }),
      el("span", {}, text),
    );
  const write = ({ target }) => Object.assign(edited, { text: target.value, isOwn: true });
  const told = el("span", { role: "status", class: "told" });
  parts = {
    link: el("input", { id: "link", readonly: true, value: "" }),
    text: el("textarea", { id: "toml", rows: 18, spellcheck: "false", input: write }),
    digest: el("code", { id: "digest" }),
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
      "This link holds the whole household. Nobody but its reader sees what stands behind the #.",
    ),
    el(
      "p",
      { class: "field wide" },
      el("label", { for: "link" }, "Link"),
      parts.link,
      el("button", { type: "button", click: () => copy(parts.link.value, told) }, "Copy the link"),
      told,
    ),
    el(
      "details",
      {},
      el("summary", {}, "Edit as TOML"),
      el(
        "p",
        {},
        "The simulation of the page is that of the command line. Save this scenario and run it:",
      ),
      el("pre", {}, "aqmlab run home.toml"),
      el(
        "p",
        {},
        "The digest of its first seed is ",
        parts.digest,
        ". It is a hash of the time and identity of every packet, and equal on every machine.",
      ),
      el(
        "div",
        { class: "chips", role: "group", "aria-label": "Scenario of" },
        radio("today", "today’s gateway"),
        radio("better", "the better gateway"),
      ),
      el("label", { for: "toml" }, "Scenario"),
      parts.text,
      el(
        "div",
        { class: "buttons" },
        el(
          "button",
          { type: "button", click: () => parts.given.runText(edited.text) },
          "Run this text",
        ),
        el("button", { type: "button", click: save }, "Save home.toml"),
        el("button", { type: "button", click: discard }, "Discard changes"),
      ),
      parts.ran,
    ),
  );
}
