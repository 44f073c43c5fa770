"""What a request to the model looks like after the plugin has had its turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from astrbot.api.event import MessageChain
from astrbot.api.message_components import Plain, Reply
from astrbot.api.provider import LLMResponse, ProviderRequest
from astrbot.core.agent.message import TextPart
from astrbot.core.star.filter.command import CommandFilter
from astrbot.core.star.filter.command_group import CommandGroupFilter

from astrbot_plugin_scoped_memory.core.commands.commands import Commands
from astrbot_plugin_scoped_memory.core.replies.notice_text import notice_text
from astrbot_plugin_scoped_memory.core.services.injection_service import CLOSE, OPEN
from astrbot_plugin_scoped_memory.llm_memory import ConversationId, Notice, NoticeCode
from astrbot_plugin_scoped_memory.llm_memory.models.resolution import Resolution
from astrbot_plugin_scoped_memory.llm_memory.models.soul_requests import (
    ApplySoul,
    ProposeSoul,
    SoulChanged,
    SoulProposed,
)
from astrbot_plugin_scoped_memory.llm_memory.scopes.scope_book import ScopeBook
from astrbot_plugin_scoped_memory.llm_memory.soul.soul_files import SoulFiles
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent
from astrbot_plugin_scoped_memory.tests.support.turn_plugin import TurnPlugin

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

PEANUTS = "奶奶对花生过敏"
QUESTION = "奶奶对什么过敏，花生能吃吗"
SYSTEM = "你是一个友好的助手。"


@pytest.fixture
async def family(tmp_path: Path) -> AsyncIterator[Rig]:
    """An engine that knows of the peanuts in the group 777."""
    async with running(tmp_path) as rig:
        await rig.remember(PEANUTS, group(777))
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


def untouched(request: ProviderRequest) -> bool:
    """True if nothing was injected anywhere."""
    return injected(request) == [] and request.prompt == QUESTION


async def test_a_memory_comes_as_one_temporary_part_behind_the_persons_words(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as rig:
        stored = await rig.remember(PEANUTS, group(777))
        request = await asked(TurnPlugin(rig))
    (text,) = injected(request)
    assert text.startswith(OPEN)
    assert text.endswith(CLOSE)
    assert PEANUTS in text
    assert stored.memory.pointer in text
    part = request.extra_user_content_parts[-1]
    assert part.model_dump_for_context()["_no_save"] is True
    assert "_no_save" not in request.extra_user_content_parts[0].model_dump_for_context()
    assert request.prompt == QUESTION
    assert request.system_prompt == SYSTEM
    assert request.contexts == []


async def test_the_log_names_the_scope_of_the_conversation_and_the_request_does_not(
    family: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        request = await asked(TurnPlugin(family))
    assert [r for r in caplog.messages if "GroupMessage:777" in r and "（域：家人）" in r]
    assert PEANUTS in "".join(injected(request))
    assert "家人" not in "".join(injected(request))
    assert (request.prompt, request.system_prompt) == (QUESTION, SYSTEM)


async def test_a_turn_resolves_its_scope_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolved: list[ConversationId] = []
    resolve = ScopeBook.resolve

    def counting(book: ScopeBook, conversation_id: ConversationId) -> Resolution:
        resolved.append(conversation_id)
        return resolve(book, conversation_id)

    async with running(tmp_path) as rig:
        await rig.remember(PEANUTS, group(777))
        monkeypatch.setattr(ScopeBook, "resolve", counting)
        plugin = TurnPlugin(rig)
        assert PEANUTS in "".join(injected(await asked(plugin)))
        await plugin.settled()
        assert [one.umo for one in resolved] == [group(777).umo]


async def test_astrbot_sends_the_part_after_the_persons_own_text(family: Rig) -> None:
    request = await asked(TurnPlugin(family))
    message = await request.assemble_context()
    texts = [part["text"] for part in message["content"]]
    assert texts[0] == QUESTION
    assert PEANUTS in texts[-1]
    assert PEANUTS not in "".join(texts[:-1])


async def test_an_event_gets_its_memories_once_whatever_asks_again(family: Rig) -> None:
    plugin, event = TurnPlugin(family), FakeEvent.in_group(777, QUESTION)
    request = await asked(plugin, event)
    await asked(plugin, event, request)
    assert len(injected(request)) == 1
    assert untouched(await asked(plugin, event))
    assert len(injected(await asked(plugin))) == 1


async def test_two_hooks_at_once_inject_once(family: Rig) -> None:
    plugin, event, request = TurnPlugin(family), FakeEvent.in_group(777, QUESTION), asking()
    await asyncio.gather(*(asked(plugin, event, request) for _ in range(3)))
    assert len(injected(request)) == 1


@pytest.mark.parametrize("kind", [CommandFilter, CommandGroupFilter])
async def test_a_command_of_any_plugin_gets_nothing(family: Rig, kind: Any) -> None:
    event = FakeEvent.in_group(777, QUESTION)
    event.set_extra("activated_handlers", [SimpleNamespace(event_filters=[kind("吃")])])
    assert untouched(await asked(TurnPlugin(family), event))


async def test_a_handler_that_is_no_command_keeps_nothing_away(family: Rig) -> None:
    event = FakeEvent.in_group(777, QUESTION)
    event.set_extra("activated_handlers", [SimpleNamespace(event_filters=[object()])])
    assert len(injected(await asked(TurnPlugin(family), event))) == 1


async def test_nothing_relevant_or_nothing_wanted_means_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        assert untouched(await asked(TurnPlugin(rig)))
        await rig.remember(PEANUTS, group(777))
        about = FakeEvent.in_group(777, "Explain quicksort in one line")
        assert untouched(await asked(TurnPlugin(rig), about))
        assert untouched(await asked(TurnPlugin(rig, auto_inject_topk=0)))


async def test_another_scope_gets_nothing(family: Rig) -> None:
    for number in (888, 999):
        event = FakeEvent.in_group(number, QUESTION)
        assert untouched(await asked(TurnPlugin(family), event))


@pytest.mark.parametrize("umo", ["", "x", "a:b", "a:GroupMessage: "])
async def test_a_malformed_origin_gets_nothing_and_stops_no_turn(family: Rig, umo: str) -> None:
    await family.remember("大家都知道花生会引起过敏", group(999))
    assert PEANUTS not in "".join(
        injected(await asked(TurnPlugin(family), FakeEvent(umo, QUESTION)))
    )


async def test_a_message_without_words_looks_for_nothing(family: Rig) -> None:
    plugin = TurnPlugin(family)
    # The prompt may be AstrBot's own words about somebody who only said @.
    assert injected(await asked(plugin, FakeEvent.in_group(777))) == []
    silent = await asked(plugin, FakeEvent.in_group(777), asking(None))
    assert injected(silent) == []
    assert silent.prompt is None


@pytest.mark.parametrize("runner", ["dify", "coze", "dashscope"])
async def test_a_third_party_runner_gets_nothing_unless_its_owner_wants_it_in_the_prompt(
    family: Rig, runner: str
) -> None:
    assert untouched(await asked(TurnPlugin(family, runner=runner)))
    request = await asked(TurnPlugin(family, runner=runner, inject_into_prompt=True))
    assert injected(request) == []
    assert request.system_prompt == SYSTEM
    assert request.prompt is not None
    assert request.prompt.startswith(f"{QUESTION}\n\n{OPEN}")
    assert request.prompt.endswith(CLOSE)
    assert request.prompt.count(PEANUTS) == 1


@pytest.mark.parametrize("runner", ["local", None])
async def test_the_local_runner_never_gets_memories_in_its_prompt(
    family: Rig, runner: str | None
) -> None:
    request = await asked(TurnPlugin(family, runner=runner, inject_into_prompt=True))
    assert len(injected(request)) == 1
    assert request.prompt == QUESTION


BROTHER = "小刚在华为做硬件工程师"


@pytest.fixture
async def talking(tmp_path: Path) -> AsyncIterator[Rig]:
    """An engine that knows of the brother by his name alone."""
    async with running(tmp_path, words_alone=True) as rig:
        await rig.remember(BROTHER, group(777))
        await rig.until_indexed()
        yield rig


async def talked(plugin: TurnPlugin, text: str, reply: str = "好的", **more: Any) -> None:
    """A whole turn in the group, by whom ``more`` says."""
    event = FakeEvent.in_group(777, text, **more)
    await plugin.mind.before_request(event, asking(text))
    await plugin.finished(event, LLMResponse("assistant", completion_text=reply))


async def bare(plugin: TurnPlugin, **more: Any) -> str:
    """What is injected when somebody asks 那他呢？"""
    return "".join(injected(await asked(plugin, FakeEvent.in_group(777, "那他呢？", **more))))


async def test_a_bare_question_asks_for_what_its_own_speaker_spoke_of(talking: Rig) -> None:
    plugin = TurnPlugin(talking)
    assert await bare(plugin) == ""
    await talked(plugin, "我昨天碰到小刚了")
    assert BROTHER in await bare(plugin)
    assert await bare(plugin, sender="10002") == ""


async def test_what_is_replied_to_is_asked_for_whoever_wrote_it(talking: Rig) -> None:
    plugin = TurnPlugin(talking)
    for reply in (
        Reply(id="1", message_str="小刚到家了"),
        Reply(id="1", chain=[Plain("小刚到家了")]),
    ):
        assert BROTHER in await bare(plugin, parts=[reply, Plain("那他呢？")])


async def test_a_new_history_a_forget_and_a_pause_end_the_talk(talking: Rig) -> None:
    plugin = TurnPlugin(talking)
    await talked(plugin, "我昨天碰到小刚了")
    plugin.histories[""] = "c2"  # /new
    assert await bare(plugin) == ""
    await talked(plugin, "我昨天碰到小刚了")
    command: Any = Commands(cast("Any", plugin))
    await command.forget(group(777), person(10001), "m-0000000000")
    assert await bare(plugin) == ""
    here, admin = group(777), person(10001, admin=True)
    await talking.engine.service.pause(conversation_id=here, actor=admin)
    await talked(plugin, "我昨天碰到小刚了")
    await talking.engine.service.resume(conversation_id=here, actor=admin)
    assert await bare(plugin) == ""


async def test_a_turn_under_a_third_party_runner_has_its_talk_too(talking: Rig) -> None:
    plugin = TurnPlugin(talking, runner="dify", inject_into_prompt=True)
    await talked(plugin, "我昨天碰到小刚了")
    request = await asked(plugin, FakeEvent.in_group(777, "那他呢？"), asking("那他呢？"))
    assert BROTHER in (request.prompt or "")


MANNER = "\n# 学到的说话习惯\n- 说话温和一点。\n"


async def learned(rig: Rig, persona: str, wish: str = "说话温和一点。") -> None:
    """An admin's wish is in force for a persona."""
    admin = person(9, "站长", admin=True)
    souls = rig.engine.service.souls
    made = await souls.ask(ProposeSoul(wish), persona, admin)
    assert isinstance(made, SoulProposed), made
    done = await souls.ask(ApplySoul(made.proposal.number), persona, admin)
    assert isinstance(done, SoulChanged), done


@pytest.mark.parametrize("runner", ["local", "dify", "coze", "dashscope", "deerflow"])
async def test_what_a_persona_has_learned_ends_the_system_prompt_of_each_request(
    family: Rig, runner: str
) -> None:
    await learned(family, "猫娘")
    plugin, event = TurnPlugin(family, persona="猫娘", runner=runner), FakeEvent.in_group(777, "在")
    request = await asked(plugin, event)
    assert request.system_prompt == SYSTEM + MANNER
    await asked(plugin, event, request)
    assert request.system_prompt == SYSTEM + MANNER
    # AstrBot may ask again in the same turn, with a request of its own.
    assert (await asked(plugin, event)).system_prompt == SYSTEM + MANNER
    bare = ProviderRequest(prompt="在")  # as third-party runners get it
    bare.system_prompt = cast("Any", None)
    assert (await asked(plugin, event, bare)).system_prompt == MANNER


@pytest.mark.parametrize("persona", ["犬娘", "", None])
async def test_another_persona_none_and_an_unknown_one_have_nothing_of_it(
    family: Rig, persona: str | None
) -> None:
    await learned(family, "猫娘")
    request = await asked(TurnPlugin(family, persona=persona))
    assert request.system_prompt == SYSTEM
    assert PEANUTS in "".join(injected(request)) or persona is None


async def test_a_command_of_another_plugin_speaks_in_its_own_manner(family: Rig) -> None:
    await learned(family, "")
    event = FakeEvent.in_group(777, QUESTION)
    event.set_extra("activated_handlers", [SimpleNamespace(event_filters=[CommandFilter("译")])])
    assert (await asked(TurnPlugin(family), event)).system_prompt == SYSTEM


async def test_a_turn_waits_for_no_soul_and_reads_none_from_the_disk(
    family: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    await learned(family, "")
    monkeypatch.setattr(SoulFiles, "read", pytest.fail)
    monkeypatch.setattr(SoulFiles, "page", pytest.fail)
    assert (await asked(TurnPlugin(family))).system_prompt == SYSTEM + MANNER


async def test_an_admin_is_told_once_in_a_private_chat_what_waits_for_him(family: Rig) -> None:
    asked_for = await family.engine.service.souls.ask(
        ProposeSoul("说话温和一点。"), "猫娘", person(9, "站长", admin=True)
    )
    assert isinstance(asked_for, SoulProposed)
    await family.engine.loop.sleep.run_once("command", patient=False)  # the index is being built
    plugin, sent, reaches = TurnPlugin(family), list[str](), [False, True, True]

    async def send_message(_: str, chain: MessageChain) -> bool:
        sent.append(chain.get_plain_text())
        return reaches.pop(0)

    plugin.astrbot.send_message = send_message
    for event in (
        FakeEvent.in_private(5),
        FakeEvent.in_group(777, admin=True),
        *(FakeEvent.in_private(9, admin=True) for _ in range(3)),
    ):
        await plugin.mind.sent(event)
        await plugin.settled()
    params = {"role": "猫娘", "number": str(asked_for.proposal.number)}
    words = notice_text(plugin.texts, Notice(NoticeCode.SOUL_WAITS, params=params))
    told = plugin.texts.say("status.warning", text=words)
    assert sent == [told, told]  # the first one did not arrive
