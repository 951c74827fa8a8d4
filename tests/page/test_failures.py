"""Failures of the browser or of the simulator: the page reports them and recovers if it can."""

from typing import Any

from .conftest import SMALL

NO_WORKER = """
const Real = Worker;
globalThis.Worker = class extends Real {
  postMessage() { super.postMessage({ module: "no module" }); }
};
"""
ONE_TRAP = """
const real = WebAssembly.instantiate;
let traps = 1;
WebAssembly.instantiate = async (module, imports) => {
  const { exports } = await real(module, imports);
  const answer = () => {
    if (traps-- > 0) throw new WebAssembly.RuntimeError("unreachable");
    return exports.answer();
  };
  return { exports: { ...exports, memory: exports.memory, answer } };
};
"""


def test_a_browser_that_starts_no_worker_gets_a_sentence(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address)
    tab.page.add_init_script(NO_WORKER)
    tab.page.goto(f"{file_address}#{SMALL}")
    tab.page.locator("#notices", has_text="the worker stopped").wait_for()
    assert tab.text("#headline") == "This home cannot be simulated."
    tab.page.locator("#tier").press("ArrowRight")
    tab.page.locator('body[data-open="0"]').wait_for()
    assert tab.text("#headline") == "This home cannot be simulated."


def test_an_instance_that_traps_is_replaced(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address)
    tab.page.add_init_script(ONE_TRAP)
    tab.open()
    assert tab.text("#headline").startswith("At 12/1 Mbit/s, ")
    (message,) = tab.messages
    assert "unreachable" in message
    tab.messages.clear()
