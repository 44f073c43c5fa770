"""What a request to the model looks like after the plugin has had its turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import pytest_asyncio
from astrbot.api.message_components import Plain, Reply
from astrbot.api.provider import LLMResponse, ProviderRequest
from astrbot.core.agent.message import TextPart
from astrbot.core.star.filter.command import CommandFilter
from astrbot.core.star.filter.command_group import CommandGroupFilter

from astrbot_plugin_scoped_memory.llm_memory import GIVEN_UP
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Vector
from astrbot_plugin_scoped_memory.llm_memory.models.soul import SoulRequest
from astrbot_plugin_scoped_memory.llm_memory.soul.store import SoulStore
from astrbot_plugin_scoped_memory.llm_memory.text.hit_line import CLOSE, OPEN
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.plugin import Desk, FakeEvent
from astrbot_plugin_scoped_memory.tests.support.turn_plugin import TurnPlugin

pytestmark = [pytest.mark.unit, pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="module")]

PEANUTS, BROTHER = "奶奶对花生过敏", "小刚在华为做硬件工程师"
QUESTION = "奶奶对什么过敏，花生能吃吗"
SYSTEM = "你是一个友好的助手。"
MANNER = "\n# 学到的说话习惯\n- 说话温和一点。\n"
ADMIN = person(9, "站长", admin=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def family(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    """An engine that knows of the peanuts in the group 777; 猫娘 has learned a manner."""
    async with running(tmp_path_factory.mktemp("family")) as rig:
        await rig.remember(PEANUTS, group(777))
        wish = SoulRequest("propose", wish="说话温和一点。")
        made: Any = await rig.engine.service.souls.ask(wish, "猫娘", ADMIN)
        apply = SoulRequest("apply", made.proposed.proposal)
        await rig.engine.service.souls.ask(apply, "猫娘", ADMIN)
        yield rig


def asking(prompt: str | None = QUESTION) -> ProviderRequest:
    """A request as AstrBot makes it, with a part of somebody else's."""
    other = TextPart(text="别的插件")
    return ProviderRequest(prompt=prompt, system_prompt=SYSTEM, extra_user_content_parts=[other])


async def asked(
    plugin: TurnPlugin, event: FakeEvent | None = None, request: ProviderRequest | None = None
) -> ProviderRequest:
    """One turn."""
    made = request or asking()
    await plugin.mind.before_request(event or FakeEvent.in_group(777, QUESTION), made)
    await plugin.settled()
    return made


def injected(request: ProviderRequest) -> list[str]:
    """What was put behind the person's words, apart from the other plugin's part."""
    texts = [part.text for part in request.extra_user_content_parts if isinstance(part, TextPart)]
    assert texts[0] == "别的插件"
    return texts[1:]


def attached(request: ProviderRequest) -> str:
    """Where the memory stands: in ``a part`` that nobody saves, in ``the prompt`` or nowhere."""
    prompt = request.prompt or ""
    if texts := injected(request):
        (text,) = texts
        saved = [p.model_dump_for_context() for p in request.extra_user_content_parts]
        assert ["_no_save" in one for one in saved] == [False, True]
        assert prompt == QUESTION
        where = "a part"
    elif prompt != QUESTION:
        before, _, text = prompt.partition("\n\n")
        assert before == QUESTION
        where = "the prompt"
    else:
        return ""
    assert text.startswith(OPEN)
    assert text.endswith(CLOSE)
    assert text.count(PEANUTS) == 1
    assert "家人" not in text  # a scope's name is for the log
    return where


def handled(*filters: object) -> dict[str, Any]:
    """A handler with these filters answers the event."""
    return {"extras": {"activated_handlers": [SimpleNamespace(event_filters=[*filters])]}}


HERE: dict[str, Any] = {"unified_msg_origin": group(777).umo, "group": "777"}
CAT: dict[str, Any] = {"persona": "猫娘"}
INTO_PROMPT: dict[str, Any] = {"inject_into_prompt": True}
RUNNERS = ("dify", "deerflow")


@pytest.mark.parametrize(
    ("event", "plugin", "where", "manner"),
    [
        ({}, {}, "a part", False),
        (handled(object()), {}, "a part", False),
        # A command of any plugin, a group of commands: neither memory nor manner.
        (handled(CommandFilter("吃")), CAT, "", False),
        (handled(CommandGroupFilter("吃")), CAT, "", False),
        # Nothing asked, nothing relevant, nothing wanted.
        ({"message_str": ""}, {}, "", False),
        ({"message_str": "Explain quicksort in one line"}, {}, "", False),
        ({}, {"auto_inject_topk": 0}, "", False),
        # Other places, and origins that are none.
        *(({"unified_msg_origin": group(n).umo, "group": str(n)}, {}, "", False) for n in (888, 9)),
        *(({"unified_msg_origin": umo}, {}, "", False) for umo in ("", "x", "a:b", "a:Group: ")),
        # The manner of the persona in force ends the system prompt, whatever the runner is.
        ({}, CAT, "a part", True),
        ({}, {"persona": "犬娘"}, "a part", False),
        ({}, {"persona": None}, "a part", False),
        *(({}, {"runner": name, **CAT}, "", True) for name in RUNNERS),
        # A runner that reads the prompt alone has memories there if its owner wants that.
        *(({}, {"runner": name, **INTO_PROMPT}, "the prompt", False) for name in RUNNERS),
        ({}, {"runner": None, **INTO_PROMPT}, "a part", False),
    ],
)
async def test_what_a_request_is_given(
    family: Rig,
    monkeypatch: pytest.MonkeyPatch,
    event: dict[str, Any],
    plugin: dict[str, Any],
    where: str,
    manner: bool,
) -> None:
    monkeypatch.setattr(SoulStore, "read", pytest.fail)  # no turn waits for a soul to be read
    told = FakeEvent(**{"message_str": QUESTION, **HERE, **event})
    request = await asked(TurnPlugin(family, **plugin), told)
    assert attached(request) == where
    assert request.system_prompt == SYSTEM + MANNER * manner
    assert request.contexts == []


async def test_an_event_gets_its_memories_once_and_its_manner_in_each_request(family: Rig) -> None:
    plugin, event, request = TurnPlugin(family, **CAT), FakeEvent.in_group(777, QUESTION), asking()
    await asyncio.gather(*(asked(plugin, event, request) for _ in range(3)))
    assert (attached(request), request.system_prompt) == ("a part", SYSTEM + MANNER)
    # AstrBot may ask again in the same turn, with a request of its own; third-party runners
    # get one without a system prompt.
    again, bare = await asked(plugin, event), asking()
    assert (attached(again), again.system_prompt) == ("", SYSTEM + MANNER)
    bare.system_prompt = cast("Any", None)
    assert (await asked(plugin, event, bare)).system_prompt == MANNER
    assert attached(await asked(plugin)) == "a part"


async def talked(plugin: TurnPlugin) -> None:
    """A whole turn in the group."""
    event = FakeEvent.in_group(777, "我昨天碰到小刚了")
    await plugin.mind.before_request(event, asking(event.message_str))
    await plugin.finished(event, LLMResponse("assistant", completion_text="好的"))


async def is_told(plugin: TurnPlugin, **more: Any) -> bool:
    """Whether who asks 那他呢？ is told of the brother."""
    event = FakeEvent.in_group(777, "那他呢？", **more)
    request = await asked(plugin, event, asking("那他呢？"))
    return BROTHER in "".join([*injected(request), request.prompt or ""])


@pytest.mark.asyncio(loop_scope="function")
async def test_a_bare_question_asks_for_what_its_speaker_spoke_of_before(tmp_path: Path) -> None:
    async with running(tmp_path, words_alone=True) as rig:
        await rig.remember(BROTHER, group(777))
        await rig.until_indexed()
        plugin = TurnPlugin(rig)
        assert not await is_told(plugin)
        for words in ({"message_str": "小刚到家了"}, {"chain": [Plain("小刚到家了")]}):
            quoted = Reply(id="1", **words)  # whoever wrote it
            assert await is_told(plugin, parts=[quoted, Plain("那他呢？")])
        await talked(plugin)
        assert await is_told(plugin)
        assert not await is_told(plugin, sender="10002")
        plugin.histories[""] = "c2"  # /new
        assert not await is_told(plugin)
        await talked(plugin)
        await Desk(rig, plugin=plugin)("forget m-0000000000", sender="10001", admin=False)
        assert not await is_told(plugin)


@pytest.mark.asyncio(loop_scope="function")
async def test_a_third_partys_runner_is_told_by_the_talk_before_too(tmp_path: Path) -> None:
    async with running(tmp_path, words_alone=True) as rig:
        await rig.remember(BROTHER, group(777))
        plugin = TurnPlugin(rig, runner="dify", inject_into_prompt=True)
        await talked(plugin)
        assert await is_told(plugin)


class HangingEmbedder(FakeEmbedder):
    """Writes well, and never answers a query."""

    async def embed_query(self, text: str) -> Vector:
        return await asyncio.Future()


@pytest.mark.asyncio(loop_scope="function")
async def test_past_the_deadline_a_recall_is_empty_says_so_and_is_explained(tmp_path: Path) -> None:
    async with running(tmp_path, embedder=HangingEmbedder()) as rig:
        await rig.remember(PEANUTS, group(777))
        await rig.until_indexed()
        plugin = TurnPlugin(rig, recall_deadline_ms=500)
        assert injected(await asked(plugin)) == []
        (explained,) = await rig.engine.service.explain(conversation_id=group(777))
        assert (explained.query, explained.trace.notes) == (QUESTION, [GIVEN_UP])
