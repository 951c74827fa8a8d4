"""The modules of the page are joined into one script."""

from __future__ import annotations

from importlib import resources
from typing import Any

import pytest
from aqmlab import _core
from aqmlab.page.scripts import joined


def test_a_module_stands_before_its_importers_and_once() -> None:
    modules = {
        "main": 'import { a } from "./one.js";\nimport { b } from "./two.js";\nb(a);\n',
        "two": 'import { a } from "./one.js";\nexport function b() { return a; }\n',
        "one": "export const a = 1;\nconst own = 2;\n",
    }
    text = joined(modules, "main")
    assert text.count("const a = 1;") == 1
    assert text.index("module_one =") < text.index("module_two =") < text.index("module_main =")
    assert "const { a } = module_one;" in text
    assert "return { a };" in text


@pytest.mark.parametrize(
    ("modules", "told"),
    [
        ({"main": 'import * as a from "./one.js";\n'}, "in a form that cannot be joined"),
        ({"main": "export default 1;\n"}, "in a form that cannot be joined"),
        (
            {"main": 'import { a } from "./b.js";\n', "b": 'import { c } from "./main.js";\n'},
            "main.js imports itself",
        ),
    ],
)
def test_a_module_that_cannot_be_joined_is_refused(modules: dict[str, str], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        joined(modules, "main")


def test_numbers_have_the_digits_that_verdicts_show(tabs: Any, file_address: str) -> None:
    words = (resources.files("aqmlab.page") / "assets" / "words.js").read_text("utf-8")
    script = f"([times, rates]) => {{{joined({'words': words}, 'words')}\n"
    script += "return [times.map(module_words.time), rates.map(module_words.rate)]; }"
    times = [1.0, 1.04, 1.5, 9.96, 12.4, 12.5, 99.6, 486.2, 999.4, 1000.0, 1245.0, 2000.0, 75_000.0]
    rates = [0.1, 0.104, 0.5, 2.0, 2.34, 4.0, 9.96, 12.4, 12.5, 940.3]
    told = tabs(file_address).page.evaluate(script, [times, rates])
    assert told[0] == [_core.quantity(ms, "ms") for ms in times]
    assert told[1] == [_core.quantity(mbit, "Mbit/s") for mbit in rates]
