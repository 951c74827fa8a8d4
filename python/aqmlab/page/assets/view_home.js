// The part of the page in which a household is built.

import { choices } from "./choices.js";
import { byId, el, refill } from "./dom.js";
import { MOST_COUNT, MOST_PEOPLE, household, onOffer, unusedName } from "./home.js";
import { capital, listed } from "./words.js";

/**
 * @param {import("./home.js").Home} home
 * @param {(home: import("./home.js").Home) => void} change
 */
export function showHome(home, change) {
  refill(byId("home"), presets(home, change), people(home, change), things(home, change));
}

function presets(home, change) {
  const choose = ({ target }) => {
    if (target.value) change(onOffer({ ...home, ...pick(household(target.value, home.tiers)) }));
    else change({ ...home, people: [], things: [] });
  };
  const options = Object.entries(choices.households).map(([key, one]) =>
    el("option", { value: key }, one.title),
  );
  const matching = Object.entries(choices.households).find(([, one]) => same(one, home));
  const select = el(
    "select",
    { id: "preset", "data-key": "preset", change: choose },
    el("option", { value: "" }, "Your own"),
    options,
  );
  select.value = matching ? matching[0] : "";
  return el("p", { class: "field" }, el("label", { for: "preset" }, "Start from"), select);
}

function pick({ people: all, things: owned, line, tier, rtt }) {
  return { people: all, things: owned, line, tier, rtt };
}

function same(one, home) {
  return JSON.stringify([one.people, one.things]) === JSON.stringify([home.people, home.things]);
}

function people(home, change) {
  const cards = home.people.map((person, place) => card(home, person, place, change));
  const add = (person) => {
    opened.clear();
    opened.add(home.people.length);
    const name = unusedName(person.name, home.people);
    change({ ...home, people: [...home.people, { name, does: [...person.does] }] });
  };
  const isFull = home.people.length >= MOST_PEOPLE;
  const buttons = choices.people.map((person) =>
    el(
      "button",
      {
        type: "button",
        class: "add",
        disabled: isFull,
        "data-key": `add-${person.name}`,
        click: () => add(person),
      },
      `+ ${person.name}`,
    ),
  );
  return el(
    "div",
    {},
    cards.length > 0
      ? el("ul", { class: "people" }, cards)
      : el("p", { class: "aside" }, "Nobody is at home yet. Add a person:"),
    el("div", { class: "adders", role: "group", "aria-label": "Add a person" }, buttons),
  );
}

function card(home, person, place, change) {
  const replace = (changed) =>
    change({ ...home, people: home.people.map((one, at) => (at === place ? changed : one)) });
  const remove = () => {
    opened.clear();
    change({ ...home, people: home.people.filter((_, at) => at !== place) });
  };
  const others = home.people.filter((_, at) => at !== place);
  const rename = ({ target }) => replace({ ...person, name: unusedName(target.value, others) });
  const offered = [...new Set([...choices.pastimes, ...choices.things, ...person.does])];
  const chips = offered.map((key) => {
    const isOn = person.does.includes(key);
    const toggle = () =>
      replace({
        ...person,
        does: isOn ? person.does.filter((one) => one !== key) : [...person.does, key],
      });
    const box = el("input", {
      type: "checkbox",
      checked: isOn,
      "data-key": `person-${place}-${key}`,
      change: toggle,
    });
    return el("label", { class: "chip" }, box, el("span", {}, bare(key)));
  });
  const name = el("input", {
    class: "name",
    value: person.name,
    maxlength: 24,
    "aria-label": `Name of person ${place + 1}`,
    "data-key": `name-${place}`,
    change: rename,
  });
  const close = el(
    "button",
    {
      type: "button",
      class: "quiet",
      "aria-label": `Remove ${person.name}`,
      "data-key": `remove-${place}`,
      click: remove,
    },
    "×",
  );
  const list = el(
    "div",
    { class: "chips", role: "group", "aria-label": `What ${person.name} does` },
    chips,
  );
  const does = el(
    "p",
    {},
    capital(listed(person.does.map((key) => choices.activities[key].title))) || "Nothing yet",
  );
  const more = el(
    "details",
    {
      open: opened.has(place),
      toggle: () => (more.open ? opened.add(place) : opened.delete(place)),
    },
    el(
      "summary",
      { "data-key": `change-${place}`, "aria-label": `Change what ${person.name} does` },
      "Change",
    ),
    list,
  );
  return el("li", { class: "person" }, el("div", { class: "who" }, name, close), does, more);
}

/** The indices of the people whose activities are being edited. @type {Set<number>} */
const opened = new Set();

/** The title of an activity without its article. */
function bare(key) {
  return choices.activities[key].title.replace(/^an? /, "");
}

function things(home, change) {
  const counts = Object.fromEntries(home.things.map(({ does, count }) => [does, count]));
  const offered = [...new Set([...choices.things, ...home.things.map(({ does }) => does)])];
  const rows = offered.map((key) => {
    const count = counts[key] ?? 0;
    const { title } = choices.activities[key];
    const set = (wanted) => {
      const kept = home.things.filter((one) => one.does !== key || wanted > 0);
      const known = kept.map((one) => (one.does === key ? { ...one, count: wanted } : one));
      change({ ...home, things: count === 0 ? [...known, { does: key, count: wanted }] : known });
    };
    const button = (text, label, wanted) =>
      el(
        "button",
        {
          type: "button",
          "aria-label": `${label} ${title}`,
          "data-key": `${key}-${text}`,
          disabled: wanted < 0 || wanted > MOST_COUNT,
          click: () => set(wanted),
        },
        text,
      );
    const number = el(
      "output",
      { class: "count", "aria-label": `${title}: ${count}` },
      String(count),
    );
    return el(
      "li",
      { class: count > 0 ? "thing on" : "thing" },
      el("span", {}, title),
      el(
        "span",
        { class: "stepper" },
        button("−", "Less:", count - 1),
        number,
        button("+", "More:", count + 1),
      ),
    );
  });
  return el("div", {}, el("h3", {}, home.people.length > 0 ? "Meanwhile" : "What runs at home"), el("ul", { class: "things" }, rows));
}
