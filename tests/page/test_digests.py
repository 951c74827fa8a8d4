"""The simulator in the browser gives the golden digests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aqmlab

GOLDEN = Path(__file__).parents[1] / "golden"
DIGESTS: dict[str, str] = json.loads((GOLDEN / "digests.json").read_text("utf-8"))

RUN = """async (spec) => {
  const text = document.getElementById("simulator").textContent;
  const packed = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const bytes = await new Response(unpacked).arrayBuffer();
  const { instance } = await WebAssembly.instantiate(bytes, {});
  const { memory, request_buffer, answer, answer_address } = instance.exports;
  const asked = JSON.stringify({ do: "run", spec, tables: ["summary"] });
  const request = new TextEncoder().encode(asked);
  const address = request_buffer(request.length);
  new Uint8Array(memory.buffer, address, request.length).set(request);
  const length = answer();
  const told = new Uint8Array(memory.buffer, answer_address(), length);
  return JSON.parse(new TextDecoder().decode(told)).digest;
}"""


def test_each_golden_trial_has_its_digest_in_the_browser(tabs: Any, file_address: str) -> None:
    page = tabs(file_address).open().page
    specs = {name: json.loads((GOLDEN / f"{name}.json").read_text("utf-8")) for name in DIGESTS}
    assert {name: page.evaluate(RUN, spec) for name, spec in specs.items()} == DIGESTS


def test_the_scenario_of_the_page_has_its_digest_on_the_command_line(
    tabs: Any, file_address: str, tmp_path: Path
) -> None:
    tab = tabs(file_address).open()
    tab.page.get_by_text("Edit as TOML").click()
    told = tab.page.locator("#check-view pre").text_content()
    assert 'aqmlab query home "SELECT seed, digest FROM trials"' in (told or "")
    for side, name in (("today", "today’s router"), ("better", "the better router")):
        tab.page.get_by_role("group", name="Scenario of").get_by_label(name).check()
        file = tmp_path / f"{side}.toml"
        file.write_text(tab.page.locator("#toml").input_value(), "utf-8")
        results = aqmlab.run(str(file), out=str(tmp_path / side))
        assert results.manifest.digests[0] == tab.text("#digest")
