"""The agent that the package uses: the wheel's agent, or the agent that the source tree builds."""

from __future__ import annotations

from pathlib import Path

import pytest
from aqmlab.engines.kernel import MissingError, agent


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of a wheel's agent. No earlier call has cached an agent."""
    monkeypatch.setattr(agent, "PACKAGED", tmp_path / "aqmlab-agent")
    monkeypatch.setattr(agent, "_found", None)
    return agent.PACKAGED


def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "source_tree", lambda: None)


def test_a_wheel_uses_the_agent_that_it_contains(packaged, monkeypatch) -> None:
    installed(monkeypatch)
    packaged.write_bytes(b"agent")
    assert agent.find() == packaged
    assert agent.where() == str(packaged)
    assert agent.is_there()


def test_a_package_without_an_agent_says_how_to_get_one(packaged, monkeypatch) -> None:
    installed(monkeypatch)
    for asked in (agent.find, agent.where):
        with pytest.raises(MissingError, match="came without the agent") as refused:
            asked()
        assert "make dist" in (refused.value.hint or "")


def test_a_source_tree_uses_its_own_agent_even_beside_a_packaged_one(
    packaged, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(agent, "source_tree", lambda: tmp_path)
    monkeypatch.setattr(agent, "is_fresh", lambda root: True)
    packaged.write_bytes(b"an old agent")
    assert agent.find() == agent.built(tmp_path)
    assert agent.where() == str(agent.built(tmp_path))
