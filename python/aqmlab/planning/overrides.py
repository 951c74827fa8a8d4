"""Changes of a scenario on the command line: `--set`, `--vary` and `--seeds`."""

from __future__ import annotations

from typing import Any

from aqmlab.base.errors import BadValueError, ScenarioError, nearest, shown, suggestion
from aqmlab.scenario import merge
from aqmlab.scenario import seeds as seed_numbers
from aqmlab.scenario.merge import Layer
from aqmlab.scenario.normalise import spelled
from aqmlab.scenario.notation import parse_text


def assignment(text: str, option: str) -> tuple[str, str]:
    """Splits an argument of `option`, such as "path.rtt=20 ms", into address and value."""
    address, equals, value = text.partition("=")
    if not equals or not address.strip():
        raise ScenarioError(
            option, f"`{shown(text)}` assigns nothing", f'write {option} "path.rtt=20 ms"'
        )
    return spelled(address.strip()), value.strip()


def split_values(text: str) -> list[Any]:
    """Splits the values of a `--vary` at commas outside brackets and quotes.

    >>> split_values('pfifo,{kind = "pie", limit = 9},20 ms')
    ['pfifo', {'kind': 'pie', 'limit': 9}, '20 ms']
    """
    parts, depth, quote, escaped = [""], 0, "", False
    for char in text:
        if escaped:
            escaped = False
        elif quote:
            escaped = quote == '"' and char == "\\"
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        depth += (not quote) * ((char in "[{(") - (char in "]})"))
        if char == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += char
    return [parse_text(part) for part in parts if part.strip()]


def with_vary(layer: Layer, vary: list[tuple[str, str]]) -> Layer:
    """Adds the loops of `--vary` to `layer`: in place of its own, or innermost if new."""
    loops = dict(layer.data.get("vary") or {})
    for number, (address, text) in enumerate(vary):
        place = f"--vary {shown(address)}"
        if any(address == other for other, _ in vary[:number]):
            raise ScenarioError("--vary", f"`{shown(address)}` is given twice", "give it once")
        merge.split_address(address, "--vary")
        values = split_values(text)
        if not values:
            raise ScenarioError(place, "no value is given", f'write --vary "{address}=A,B"')
        if address not in loops:
            loops = merge.uncovered(loops, [address])
        loops[address] = values
    origins: dict[merge.Keys, merge.Origin] = {
        ("vary", address): merge.Origin("--vary", address) for address, _ in vary
    }
    return merge.merge(layer, Layer({"vary": loops}, origins, layer.source))


def checked_seeds(seeds: Any) -> int | str:
    """The canonical spelling of `--seeds`; raises `ScenarioError` if the value is invalid."""
    try:
        return seed_numbers.spelled(seeds)
    except BadValueError as problem:
        raise problem.at("--seeds") from None


def refuse_unknown_app(layer: Layer, address: str, place: str) -> None:
    """Raises `ScenarioError` for an unknown name, rather than for a new one without a kind."""
    keys = address.split(".")
    apps = layer.data.get("apps")
    if keys[0] == "apps" and len(keys) > 2 and isinstance(apps, dict) and keys[1] not in apps:
        hint = suggestion(keys[1], apps)
        if place in ("--set", "--vary") and nearest(keys[1], apps) is None:
            hint += f"; only a scenario's file can add an application: [apps.{shown(keys[1])}]"
        problem = f"unknown application `{shown(keys[1])}`"
        raise ScenarioError(f"{place}: {address}", problem, hint)
