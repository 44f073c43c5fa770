"""The MCP inspector is set up where npm can bring it, and nothing fails where it cannot."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import checkout
import inspector
import pytest

from astrbot_plugin_scoped_memory.tests.house.test_environment import executable
from astrbot_plugin_scoped_memory.tests.support.agents import agent_tools

BRINGS = """
echo "$@" >>"{calls}"
mkdir -p node_modules/node/bin node_modules/@modelcontextprotocol/inspector/clients/launcher/build
printf '#!/bin/sh\\nexit {status}\\n' >node_modules/node/bin/node
chmod +x node_modules/node/bin/node
"""


def npm(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """The only npm on the PATH."""
    executable(folder / "tools" / "npm", text)
    monkeypatch.setenv("PATH", f"{folder / 'tools'}:{os.defpath}")


def test_it_is_installed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, calls = tmp_path / "node", tmp_path / "calls"
    npm(tmp_path, monkeypatch, BRINGS.format(calls=calls, status=0))
    assert inspector.command(folder) is None
    assert inspector.prepare(folder) == ""
    assert inspector.prepare(folder) == ""
    assert len(calls.read_text("utf-8").splitlines()) == 1
    found = inspector.command(folder)
    assert found is not None
    assert Path(found[0]).is_file()


def test_other_releases_are_fetched_when_they_are_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, calls = tmp_path / "node", tmp_path / "calls"
    npm(tmp_path, monkeypatch, BRINGS.format(calls=calls, status=0))
    inspector.prepare(folder)
    (folder / "left over").touch()
    monkeypatch.setitem(inspector.PACKAGE, "dependencies", {inspector.INSPECTOR: "3", "node": "24"})
    assert inspector.command(folder) is None
    assert inspector.prepare(folder) == ""
    assert not (folder / "left over").exists()
    assert len(calls.read_text("utf-8").splitlines()) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo no network >&2; exit 1", "no network"),
        ("exit 1", "no word"),
        ("true", "FileNotFoundError"),  # as if it had run no install script
        (BRINGS.format(calls=os.devnull, status=1), "no word"),  # a Node that does not run here
    ],
)
def test_a_failing_npm_is_told_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    npm(tmp_path, monkeypatch, text)
    assert inspector.prepare(tmp_path / "node") == f"npm could not install it: {said}"
    assert inspector.command(tmp_path / "node") is None


def test_a_machine_without_npm_is_set_up_all_the_same(tmp_path: Path) -> None:
    script = tmp_path / "scripts" / "inspector.py"
    script.parent.mkdir()
    script.write_bytes((checkout.ROOT / "scripts" / "inspector.py").read_bytes())
    done = subprocess.run(
        [sys.executable, script], env={"PATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1
    assert "there is no npm on the PATH" in done.stdout


def test_the_inspector_says_its_version() -> None:
    program = agent_tools.inspector()
    if program is None:
        pytest.skip("npm has not brought the MCP inspector: make env-node")
    done = subprocess.run([*program, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("2.")


def test_the_agents_python_has_the_engine_and_no_bot() -> None:
    python = agent_tools.agent_python()
    if python is None:
        pytest.skip(".venv-agent is not what the checkout is now: make env-agent")
    code = "from importlib.util import find_spec as f; import llm_memory, sys; "
    code += "print(llm_memory.__file__, *(n for n in ('astrbot', 'torch', 'chromadb') if f(n)))"
    done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=True)
    installed, *unwanted = done.stdout.split()
    assert not unwanted
    assert Path(installed).is_relative_to(agent_tools.AGENT)
    help_ = [python.with_name("scoped-memory"), "--help"]
    assert subprocess.run(help_, capture_output=True, check=True).stdout
