"""A missing package is installed behind, once for each version, and nobody waits for it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.core.host import package_installer
from astrbot_plugin_scoped_memory.core.host.package_installer import (
    Installs,
    is_installed,
    missing_packages,
)

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


NAMES = ["first-that-nobody-has", "second-that-nobody-has"]


class Pip:
    """Installs on ``may``, except what it refuses."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[str] = []
        self.refused: set[str] = set()
        self.may = asyncio.Event()
        self.may.set()
        self.arrivals: list[frozenset[str]] = []
        self.there: set[str] = set()
        real = package_installer.is_installed
        monkeypatch.setattr(
            package_installer, "is_installed", lambda name: name in self.there or real(name)
        )

    async def install(self, wanted: str) -> None:
        self.asked.append(wanted)
        await self.may.wait()
        name = wanted.partition(">")[0]
        if name in self.refused:
            message = "no index"
            raise RuntimeError(message)
        self.there.add(name)

    async def arrived(self) -> None:
        self.arrivals.append(frozenset(self.there))


@pytest.fixture
async def pip(monkeypatch: pytest.MonkeyPatch) -> Pip:
    return Pip(monkeypatch)


@pytest.fixture
def wanted(tmp_path: Path) -> Path:
    path = tmp_path / "requirements.txt"
    path.write_text("".join(f"{name}>=1\n" for name in NAMES) + "pyyaml\n", encoding="utf-8")
    return path


def load(pip: Pip, wanted: Path, version: str = "1.0") -> Installs:
    """One load of the plugin."""
    made = Installs(wanted, wanted.parent / "state" / "marker.json", version, pip.install)
    made.begin(pip.arrived)
    return made


async def ended() -> None:
    """Until no installation is under way."""
    async with asyncio.timeout(30):
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))


async def test_each_is_installed_and_used_as_it_comes(pip: Pip, wanted: Path) -> None:
    pip.may.clear()
    plugin = load(pip, wanted)
    await asyncio.sleep(0)
    assert plugin.names() == frozenset(NAMES)
    assert pip.asked == [f"{NAMES[0]}>=1"]
    pip.may.set()
    await ended()
    assert pip.asked == [f"{name}>=1" for name in NAMES]
    assert pip.arrivals == [frozenset(NAMES[:1]), frozenset(NAMES)]
    assert not plugin.names()


async def test_one_that_fails_keeps_no_other_and_is_tried_once_for_each_version(
    pip: Pip, wanted: Path
) -> None:
    pip.refused = {NAMES[0]}
    assert load(pip, wanted).names()
    await ended()
    assert pip.arrivals == [frozenset(NAMES[1:])]
    pip.asked.clear()
    assert not load(pip, wanted).names()
    await ended()
    assert pip.asked == []
    assert load(pip, wanted, "1.1").names() == {NAMES[0]}
    await ended()
    assert pip.asked == [f"{NAMES[0]}>=1"]


async def test_a_reload_meanwhile_waits_for_the_same_installation_and_uses_what_came(
    pip: Pip, wanted: Path
) -> None:
    pip.may.clear()
    pip.refused = {NAMES[1]}
    load(pip, wanted)
    await asyncio.sleep(0)
    reloaded = load(pip, wanted)
    assert reloaded.names() == frozenset(NAMES)
    pip.may.set()
    await ended()
    assert pip.asked == [f"{name}>=1" for name in NAMES]
    assert pip.arrivals == [frozenset(NAMES[:1])] * 2
    assert not reloaded.names()


@pytest.mark.parametrize("content", ["", "x", "[]", "7", '{"version": 1}', "\xff"])
async def test_a_marker_that_makes_no_sense_is_no_marker(
    pip: Pip, wanted: Path, content: str
) -> None:
    marker = wanted.parent / "state" / "marker.json"
    marker.parent.mkdir()
    marker.write_text(content, encoding="latin-1")
    assert load(pip, wanted).names()
    await ended()
    assert json.loads(marker.read_text("utf-8")) == {"version": "1.0"}


@pytest.mark.parametrize("in_the_way", [True, False])
async def test_nothing_is_installed_that_could_not_be_remembered_or_is_not_missing(
    pip: Pip, wanted: Path, in_the_way: bool
) -> None:
    state = wanted.parent / "state"
    if in_the_way:
        state.write_text("in the way", encoding="utf-8")
    else:
        wanted.write_text("pyyaml\n", encoding="utf-8")
    assert not load(pip, wanted).names()
    assert pip.asked == []
    assert state.exists() is in_the_way


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("", []),
        ("# nothing\n\n-r other.txt\n", []),
        ("PyYAML>=6\nnumpy[extra]<3 ; python_version>'3'\n", []),
        ("no-such-thing==1  # why\n", ["no-such-thing"]),
        ("No.Such.Thing\n", ["no.such.thing"]),
        ("no-such-thing; python_version<'3'\n", []),
        ("no-such-thing; python_version>='3'  # why\n", ["no-such-thing"]),
    ],
)
def test_a_package_is_missing_if_its_module_cannot_be_found(
    tmp_path: Path, text: str, missing: list[str]
) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text(text, encoding="utf-8")
    assert list(missing_packages(path)) == missing


def test_a_package_is_looked_for_under_its_modules_name(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text("No-Such-Thing[x]>=1,<2; python_version>'3'\n", encoding="utf-8")
    assert missing_packages(path) == {"no-such-thing": "No-Such-Thing[x]<2,>=1"}
    assert is_installed("PyYAML")
    assert not is_installed("a-package-that-nobody-has")
