// The settings of the better gateway, ready to paste.

import { choices } from "./choices.js";
import { byId, el, refill } from "./dom.js";

/** STAND-IN for the settings of `crates/advice`. @param {import("./home.js").Home} home */
export function showDo(home) {
  const { kind, down, up } = home.better;
  const text =
    kind === "fifo"
      ? "This gateway manages no queue, so there is nothing to set."
      : `Shape the router to ${down} % of the line’s rate down and ${up} % up, with ${choices.gateways[kind].title} before it. In most routers the setting is called SQM or “smart queue”.`;
  refill(byId("do-view"), el("p", {}, text));
}
