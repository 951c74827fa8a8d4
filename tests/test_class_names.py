"""Each class of the Python package has a unique name."""

import ast
from collections import defaultdict
from pathlib import Path

import aqmlab


def test_no_two_classes_have_one_name() -> None:
    (package,) = map(Path, aqmlab.__path__)
    places = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path.relative_to(package).as_posix())
    assert len(places) > 200
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
