"""The steps of the guide "add a study" are executed as written."""

import re
import textwrap
from pathlib import Path

from aqmlab.cli import status_of

GUIDE = Path(__file__).parents[2] / "docs/howto/add-a-study.md"


def test_the_study_that_the_guide_writes_is_drawn_and_judged(tmp_path, capsys):
    text = GUIDE.read_text(encoding="utf-8")
    blocks = re.findall(r"^   ```(?:ini|toml|python)\n(.*?)^   ```", text, re.M | re.S)
    study = tmp_path / "calls"
    study.mkdir()
    names = ("study.toml", "home.toml", "figures.py", "claims.py")
    for name, block in zip(names, blocks, strict=True):
        (study / name).write_text(textwrap.dedent(block), encoding="utf-8")
    asked = [str(study), "--out", str(tmp_path / "out")]
    assert status_of(["reproduce", *asked]) == 0
    assert (tmp_path / "out" / "figures" / "calls-1.png").is_file()
    assert status_of(["claims", *asked, "--seeds", "3"]) == 0
    assert "calls: 1 claim: 1 holds" in capsys.readouterr().err
