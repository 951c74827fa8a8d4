"""Builds the documentation site: `make docs`.

Each warning of Sphinx fails the build. The build also fails if a link of the site leads nowhere, or
if a page requests another host.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tools.documentation import check, stage

OUT = stage.ROOT / "target" / "docs"


def main() -> int:
    """Builds the site below `target/docs` and prints the path of its first page."""
    begun = time.monotonic()
    source, site = OUT / "source", OUT / "site"
    stage.write(source)
    sphinx = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet"]
    folders = ["--jobs", "auto", "-c", str(Path(__file__).parent), str(source), str(site)]
    status = subprocess.run([*sphinx, *folders], check=False).returncode
    if status != 0:
        return status
    found = list(check.problems(site))
    print(*found, sep="\n", end="\n" * bool(found), file=sys.stderr)
    if not found:
        print(site / "index.html")
        print(f"{time.monotonic() - begun:.0f} s", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
