"""The modules of the page are joined into one script."""

from __future__ import annotations

import pytest
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
