"""The page: a static file whose simulator runs as WebAssembly in the visitor's browser.

`make page` compiles `crates/wasm` to `simulator.wasm` in this folder. A wheel contains
`simulator.wasm`. Git does not, because its bytes depend on the compiler. `builder` joins the
simulator with the scripts, the styles and the choices, either in one file or as a folder for a
static host. `choices` collects the households, activities, lines, tiers and gateways that the page
offers.

| Assets | Hold |
|---|---|
| `index.html.j2`, `page.css` | the page's frame and its styles |
| `main.js` | the state of the page, and the jobs for the simulator |
| `home.js`, `scenario.js`, `choices.js` | a household, its link, its scenario and its TOML text |
| `simulator.js`, `worker.js` | trials in web workers |
| `answer.js` | the conclusion from the results |
| `view_*.js` | one part of the page each |
| `dom.js`, `words.js`, `charts.js` | elements, numbers as people read them, charts |
"""

from aqmlab.page.builder import one_file, write_folder

__all__ = ["one_file", "write_folder"]
