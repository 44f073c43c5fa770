"""benchmarks/without.py: each mechanism that it leaves out is one that recall really has."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import ContextLine, Turn, Voice
from astrbot_plugin_scoped_memory.llm_memory.recall.weights_file import shipped
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder
from astrbot_plugin_scoped_memory.tests.support import benchmarks
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running

WITHOUT = benchmarks.module("without")
HERE = group(777)
ANN = person(1002, "Ann", admin=True)
pytestmark = [pytest.mark.engine, pytest.mark.timeout(240)]


async def _ask(rig: Rig, query: str) -> list[str]:
    view = await rig.engine.service.view(conversation_id=HERE)
    before = ContextLine(Voice.ASKER, "I met Bob at the pool", rig.clock(), view)
    recall = await rig.engine.service.recall(
        query,
        conversation_id=HERE,
        limit=3,
        token_budget=600,
        actor=ANN,
        context=[before],
        in_talk=True,
    )
    return [hit.preview for hit in recall.hits]


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """Memories, a note, and a turn that waits to be read; the embedder has a probe."""
    model, probe = next(iter(shipped().probes.items()))
    note = tmp_path / "memory" / "scopes" / "家人" / "router.md"
    note.parent.mkdir(parents=True)
    note.write_text("# Router\n\nThe wifi password of the router is long.\n", "utf-8")
    embedder = FakeEmbedder(model, len(probe.vector))
    async with running(tmp_path, embedder=embedder, chat=ScriptedChat()) as rig:
        for text in ("妈妈的生日是五月三号", "奶奶对花生过敏", "The wifi password is blue"):
            await rig.remember(text, HERE)
        turn = Turn(ANN, "妈妈的生日我记在本子上了", "", (), rig.clock())
        await rig.engine.service.observe(turn, conversation_id=HERE)
        await rig.engine.loop.reflection.follow()
        await rig.until_indexed()
        yield rig


async def test_each_of_them_is_missed_by_a_recall_without_it(rig: Rig) -> None:
    unmissed = []
    for number, name in enumerate(WITHOUT.WITHOUT):
        with WITHOUT.without([name]) as missed:
            await rig.remember(f"第{number}号柜子里放着旧书", HERE)
            await rig.until_indexed()
            for query in ("妈妈的生日是哪天？", "昨天聊了什么？", "what is the wifi password?"):
                await _ask(rig, query)
        if not missed[name]:
            unmissed.append(name)
    assert unmissed == []
    assert (await _ask(rig, "妈妈的生日是哪天？"))[0] == "妈妈的生日是五月三号"


async def test_what_is_left_out_is_gone_and_comes_back(rig: Rig) -> None:
    both = "妈妈的生日是哪天，奶奶对什么过敏？"
    whole = await _ask(rig, both)
    with WITHOUT.without(["lexical", "dense", "parts"]) as missed:
        await _ask(rig, both)
    assert set(missed) == {"lexical", "dense", "parts"}
    assert await _ask(rig, both) == whole


def test_what_recall_has_not_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"nothing is called 'luck': around, .*, within"):
        WITHOUT.without(["luck"]).__enter__()
    monkeypatch.setattr(WITHOUT, "WITHOUT", {"luck": ("recall.luck:guess", lambda real: real)})
    with pytest.raises(ValueError, match=r"luck: the engine has no recall.luck:guess"):
        WITHOUT.without(["luck"]).__enter__()


def test_a_cast_is_asked_without_each_in_one_run(tmp_path: Path) -> None:
    cast, out = tmp_path / "cast.json", tmp_path / "out.json"
    said = {"at": "2026-03-02T09:00", "who": "Ida", "where": "home"}
    ladder = "The ladder is locked in the garage"
    cast.write_text(
        json.dumps({
            "language": "en",
            "timezone": "Europe/Berlin",
            "people": [{"name": "Ida", "id": 7, "admin": True}],
            "places": {"home": {"kind": "private", "id": 7}},
            "talk": [
                {**said, "said": ladder, "learned": [{"judgment": ladder}]},
                {**said, "at": "2026-03-03T10:00", "said": "haha", "small_talk": True},
            ],
            "questions": [
                {"who": "Ida", "where": "home", "original": "Where is the ladder?",
                 "paraphrase": "Where is the ladder locked?", "must": ["garage"]},
            ],
        }),
        "utf-8",
    )  # fmt: skip
    names = ("lexical", "near", "newer")
    command = ["--cast", str(cast), "--json", str(out)]
    benchmarks.play("worth.py", *command, *(f"--without={name}" for name in names))
    found = json.loads(out.read_text("utf-8"))["cast"]
    assert set(found) == {"-", *names}
    assert (found["-"]["original"], found["-"]["small_talk_silent"]) == (1, 1)
    assert found["near"]["missed"] > found["near"]["differs"] == 0  # there is no embedder
    assert found["newer"]["missed"] > 0
    benchmarks.play("everyday.py", *command, "--without", "near", "--without", "covered")
    found = json.loads(out.read_text("utf-8"))
    assert set(found["without"]) == {"near", "covered"}
    assert min(found["without"].values()) > 0
