"""JSON for standard output in any encoding."""

from __future__ import annotations

import json
import re
import sys


def escaped_json(text: str) -> str:
    """Escapes the control characters that JSON leaves unescaped, and lone surrogates.

    If the encoding of standard output is not a UTF, all characters outside ASCII are escaped too.
    """
    printable = _CONTROLS.sub(lambda found: json_escape(found[0]), text)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    if encoding.lower().replace("-", "").startswith("utf"):
        return printable
    return "".join(char if char.isascii() else json_escape(char) for char in printable)


_CONTROLS = re.compile("[\x7f-\x9f\ud800-\udfff]")


def json_escape(char: str) -> str:
    """The ASCII escape of a control character, or of a character outside ASCII, in JSON."""
    return json.dumps(char)[1:-1] if char != "\x7f" else "\\u007f"
